#!/usr/bin/python3
"""Broker, owners, route and watch as a newcomer runs them: on the embedded broker, no Java."""
import concurrent.futures
import fcntl
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from case import LONG_SESSION, PIPE_BYTES, full_pipe, run_raw
from harness import children, process
from harness.owners import free_port

PARTITIONS = range(16)


class Embedded(unittest.TestCase):
    """One broker for the class; each test has a topic, and so a group, of its own. Kafka's group
    assigns, but where a test says otherwise."""

    TOPICS = ("life", "signals", "refusals", "idle", "gone", "strange", "broadcast", "secret",
              "stalled", "raw", "watched", "assigned", "served", "implied")

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        topics = [part for topic in cls.TOPICS for part in ("--topic", topic)]
        row = process.embedded_broker(cls.folder, cls.addClassCleanup,
                                      "--partitions", len(PARTITIONS), *topics)
        assert [one["topic"] for one in row["topics"]] == list(cls.TOPICS), row
        cls.brokers = row["brokers"]

    def settings(self, topic):
        """What every command of a test has in common."""
        return {"brokers": self.brokers, "topic": topic, "group": topic, "slots": 256,
                "profile": "fast", "assignment": "group"}

    def start(self, topic, name, port, **options):
        """An owner; its files are called by its name."""
        options = {**self.settings(topic), "name": name, "endpoint": f"127.0.0.1:{port}",
                   "events": self.folder / f"{topic}.{name}.events", "json": True, **options}
        command = [process.tool_path(), "run", *process.option_list(options)]
        owner = process.Owner(f"{topic}.{name}", name, self.folder, command, process.environment())
        self.addCleanup(children.end, owner.child, 0)
        return owner

    def tool(self, subcommand, topic, *positional, **options):
        """Another command on the same topic."""
        return process.run_tool(subcommand, *positional, **{**self.settings(topic), **options})

    def wait_led(self, *owners, bound=30, partitions=PARTITIONS):
        """Until these lead every partition, each about as many as the others, and none drains."""
        def settled():
            for owner in owners:
                self.assertTrue(owner.running(), owner.error_tail())
                owner.refresh()
            counts = [len(owner.leading) for owner in owners]
            led = set().union(*(owner.leading for owner in owners))
            return (led == set(partitions) and sum(counts) == len(partitions)
                    and max(counts) - min(counts) <= 1)
        children.wait_until(settled, bound, lambda: "\n".join(
            f"{owner.key} leads {sorted(owner.leading)}\n{owner.error_tail()}" for owner in owners))

    def test_life(self):
        """Two owners; route and watch say what their logs say; one is killed; the other leaves."""
        alpha, beta = self.start("life", "alpha", 7001), self.start("life", "beta", 7002)
        self.wait_led(alpha, beta)
        self.check_joined(alpha)
        by_partition = {p: owner for owner in (alpha, beta) for p in owner.leading}
        self.check_route(by_partition)
        self.check_watch(by_partition)
        follower = self.follow("life")
        beta.kill()
        children.wait_until(lambda: (alpha.refresh(), len(alpha.leading))[1] == len(PARTITIONS), 30,
                            alpha.error_tail)
        children.wait_until(lambda: self.owners_seen(follower) == {"alpha"}, 10,
                            "watch saw the move")
        self.assertEqual({row["owner"] for row in self.tool("route", "life", "a", "b", "c",
                                                            json=True).rows()}, {"alpha"})
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.check_events(alpha)

    def check_joined(self, owner):
        """`run --json` begins with what it joined."""
        row = json.loads(owner.output.read_text().splitlines()[0])
        self.assertEqual((row["process"], row["endpoint"], row["slots"], row["partitions"],
                          row["group_protocol"], row["mode"]),
                         (owner.name, "127.0.0.1:7001", 256, len(PARTITIONS), "classic",
                          "non_exclusive"))
        self.assertGreater(row["lease_ms"], 3 * row["interval_ms"])

    def check_route(self, by_partition):
        """Every key goes to who leads its partition, and --count adds up."""
        keys = ["", "a", "ключ", *(f"key-{i}" for i in range(40))]
        done = self.tool("route", "life", *keys, json=True)
        self.assertEqual(done.code, 0, done)
        self.assertEqual([row["key"] for row in done.rows()], keys)
        for row in done.rows():
            self.assertEqual((row["verdict"], row["owner"]),
                             ("remote", by_partition[row["partition"]].name))
            self.assertGreater(row["valid_for_ms"], 0)
        counts = self.tool("route", "life", *keys, json=True, count=True).rows()
        self.assertEqual(sum(row["keys"] for row in counts), len(keys))
        text = self.tool("route", "life", "a")
        self.assertRegex(text.out, r"^a  slot \d+ +(alpha|beta)  127\.0\.0\.1:700[12]  epoch ")

    def check_watch(self, by_partition):
        """watch --once: a row a partition as JSON, a table of owners for people."""
        done = self.tool("watch", "life", once=True, json=True)
        self.assertEqual(done.code, 0, done)
        self.assertEqual({row["partition"]: row["owner"] for row in done.rows()},
                         {p: owner.name for p, owner in by_partition.items()})
        self.assertEqual({row["slots"] for row in done.rows()}, {16})
        table = self.tool("watch", "life", once=True).out
        self.assertRegex(table, r"(?m)^alpha +128 .* 8  127\.0\.0\.1:7001 ")

    def follow(self, topic):
        """A running watch; its rows so far by LineFile."""
        path = self.folder / f"{topic}.watch"
        options = process.option_list({**self.settings(topic), "json": True})
        with open(path, "wb") as out:
            child = children.spawn([process.tool_path(), "watch", *options], stdout=out)
        self.addCleanup(children.end, child)
        rows = process.LineFile(path)
        children.wait_until(lambda: (rows.read(), len(rows.rows))[1] >= len(PARTITIONS), 10,
                            "watch told of every partition")
        return rows

    @staticmethod
    def owners_seen(rows):
        """Who owns what, by the last row of each partition."""
        rows.read()
        return {row.get("owner") for row in {row["partition"]: row for row in rows.rows}.values()}

    def check_events(self, owner):
        """Its log ends with all stopped and released, and every line is whole."""
        owner.refresh()
        self.assertEqual(owner.leading, {})
        kinds = {row["event"] for row in owner.events.rows}
        self.assertEqual(kinds, {"acquired", "draining", "stopped", "released"}, kinds)
        for row in owner.events.rows:
            self.assertEqual("reason" in row, row["event"] == "stopped")
            self.assertEqual((row["process"], row["lane"], row["mode"], len(row["id"])),
                             (owner.name, 0, "non_exclusive", 16))
        self.assertEqual({row["reason"] for row in owner.events.rows
                          if row["event"] == "stopped"} - {"superseded"}, {"closed"})

    def test_assigner(self):
        """The default, no group: three owners of more partitions than the topic has; kill, leave,
        strangers."""
        many = range(128)
        assigner = {"assignment": None, **LONG_SESSION}
        alpha = self.start("assigned", "alpha", 7001, partitions=len(many), **assigner)
        self.wait_led(alpha, partitions=many)
        row = json.loads(alpha.output.read_text().splitlines()[0])
        self.assertEqual((row["assignment"], row["partitions"], row["logs"], row["session_ms"]),
                         ("assigner", len(many), 4, 2000))
        self.assertNotIn("group_protocol", row)
        others = [self.start("assigned", name, 7002, **assigner) for name in ("beta", "gamma")]
        self.wait_led(alpha, *others, partitions=many)
        names = {p: owner.name for owner in (alpha, *others) for p in owner.leading}
        seen = self.tool("watch", "assigned", once=True, json=True)
        self.assertEqual({row["partition"]: row["owner"] for row in seen.rows()}, names)
        for options, words in (
                ({}, "assignment is group here, but assigner in the running group"),
                ({"partitions": 64, **assigner}, "partitions is 64 here, but 128 in the running")):
            done = run_raw("run", *process.option_list(
                {**self.settings("assigned"), "endpoint": "x:1", **options}))
            self.assertEqual(done.code, 2, done)
            self.assertIn(words, done.err)
        alpha.kill()  # it assigned
        self.wait_led(*others, partitions=many)
        stays, leaver = others
        since = leaver.leave()
        self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
        self.wait_led(stays, partitions=many)
        self.check_no_gap(leaver, stays, since)
        heavy = self.start("assigned", "delta", 7003, weight=3, **assigner)

        def shares():
            for owner in (stays, heavy):
                owner.refresh()
            return [len(owner.leading) for owner in (stays, heavy)]
        children.wait_until(lambda: shares() == [32, 96], 20, lambda: f"by weight: {shares()}")

    def check_no_gap(self, leaver, successor, since):
        """What was handed over was led by the successor before the leaver stopped."""
        leaver.refresh()
        stopped = [row for row in leaver.events.rows
                   if row["event"] == "stopped" and row["boot"] >= since]
        self.assertEqual(len(stopped), 64)
        self.assertEqual({row["reason"] for row in stopped}, {"superseded"})
        led = {row["partition"]: row["boot"] for row in successor.events.rows
               if row["event"] == "acquired"}
        late = {row["partition"]: (led[row["partition"]], row["boot"]) for row in stopped
                if led[row["partition"]] > row["boot"]}
        self.assertEqual(late, {})

    def test_what_only_a_group_has_means_a_group(self):
        """And a line at start says so."""
        for name, options, flag in (
                ("alpha", {"hang_limit": "10s"}, "--hang-limit"),
                ("beta", {"group_protocol": "classic"}, "--group-protocol")):
            owner = self.start("implied", name, 7001, assignment=None, **options)
            self.wait_led_by_events(owner)
            joined = json.loads(owner.output.read_text().splitlines()[0])
            self.assertEqual(joined["assignment"], "group")
            self.assertEqual(owner.error_tail().count(
                f"{flag} is of --assignment group, so Kafka's group assigns here"), 1,
                owner.error_tail())
        done = run_raw("run", *process.option_list(
            {**self.settings("implied"), "endpoint": "x:1", "assignment": "assigner",
             "hang_limit": "10s"}))
        self.assertEqual(done.code, 2, done)
        self.assertIn("--hang-limit", done.err)

    def test_broadcast(self):
        """The paper's own variation: two owners, found by the claims beside; a kill; a leave."""
        options = {"variation": "broadcast", "roles": 5, "assignment": None}
        alpha = self.start("broadcast", "alpha", 7001, **options)
        beta = self.start("broadcast", "beta", 7002, **options)
        self.wait_led(alpha, beta)
        row = json.loads(alpha.output.read_text().splitlines()[0])
        self.assertEqual((row["variation"], row["roles"], row["groups"], row["hints"]),
                         ("broadcast", 5, 1, True))
        self.assertIn("--variation broadcast is of --assignment group", alpha.error_tail())
        self.assertGreater(row["lease_ms"], row["session_ms"])
        names = {p: owner.name for owner in (alpha, beta) for p in owner.leading}
        def seen():
            rows = self.tool("watch", "broadcast", once=True, json=True).rows()
            return {row["partition"]: row.get("owner") for row in rows}
        children.wait_until(lambda: seen() == names, 20, "hints say what the logs say")
        done = run_raw("run", *process.option_list({**self.settings("broadcast"),
                                                    "endpoint": "x:1"}))
        self.assertEqual(done.code, 2, done)
        self.assertIn("variation is claimed here, but broadcast in the running group", done.err)
        beta.kill()
        children.wait_until(lambda: (alpha.refresh(), len(alpha.leading))[1] == len(PARTITIONS), 30,
                            alpha.error_tail)
        children.wait_until(lambda: "leads 16 of 16 partitions, 5 of 5 roles" in alpha.error_tail(),
                            10, alpha.error_tail)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        alpha.refresh()
        self.assertEqual(alpha.leading, {})

    def test_broadcast_without_hints(self):
        """Nobody is found, and exclusive owners lead all the same."""
        lone = self.start("secret", "lone", 7001, variation="broadcast", mode="exclusive",
                          no_hints=True, profile="balanced")
        self.wait_led(lone)
        self.assertIn("the clocks of all writers must be right", lone.error_tail())
        done = self.tool("route", "secret", "key", json=True)
        self.assertEqual([row["verdict"] for row in done.rows()], ["unowned"], done)
        for options, words in (
                ({"lease": "2s"}, "2000 ms <= 2000 ms"),
                ({"lease": "2s", "mode": "exclusive"}, "2000 ms + 100 ms >= 2000 ms"),
                ({"clock_error": "1s"}, "say --local-clock-error")):
            done = run_raw("run", *process.option_list(
                {**self.settings("secret"), "endpoint": "x:1", "variation": "broadcast",
                 **options}))
            self.assertEqual(done.code, 2, done)
            self.assertIn(words, done.err)

    def test_signals(self):
        """A leave is bounded; a later signal stops at once; `--events -` holds only events."""
        lone = self.start("signals", "lone", 7001, drain_timeout="100ms")
        self.wait_led(lone)
        lone.leave()
        self.assertEqual(lone.wait_exit(5), 0, "it had 100 ms to hand over")
        hasty = self.start("signals", "hasty", 7002, events="-", json=None, drain_timeout="20s")
        rows = process.LineFile(hasty.output)
        children.wait_until(lambda: (rows.read(), len(rows.rows))[1] >= len(PARTITIONS), 30,
                            hasty.error_tail)
        self.assertEqual({row["event"] for row in rows.rows}, {"acquired"})
        other = self.start("signals", "other", 7003)
        self.wait_led_by_events(other)
        other.kill()  # the group still waits for it, so the leave below takes time
        began = children.boot_now()
        # Two different ones, as the kernel makes one of two that are the same. GNU timeout sends
        # two, to the child and to its group.
        for number in (signal.SIGTERM, signal.SIGINT):
            hasty.child.send_signal(number)
        children.wait_until(lambda: "counts as the same" in hasty.error_tail(), 5, hasty.error_tail)
        self.assertEqual(hasty.error_tail().count("a second signal, 1 s later"), 1)
        self.assertTrue(hasty.running(), "two signals that ask once")
        def ended():
            hasty.child.send_signal(signal.SIGINT)
            return not hasty.running()
        children.wait_until(ended, 10, hasty.error_tail)
        self.assertGreaterEqual(children.boot_now() - began, 1)
        self.assertEqual(hasty.wait_exit(), 130, hasty.error_tail())

    def wait_led_by_events(self, owner):
        """Until it leads something."""
        children.wait_until(lambda: (owner.refresh(), owner.leading)[1], 30, owner.error_tail)

    def test_refusals(self):
        """Whoever does not fit is told the field, both values and what to do."""
        alpha = self.start("refusals", "alpha", 7001)
        self.wait_led(alpha)
        cases = []
        for options, words in (({"slots": 512}, ("slots", "512", "256")),
                               ({"hash": "crc16"}, ("hash", "crc16", "xxh3")),
                               ({"hash-tags": True}, ("hash", "xxh3+tags")),
                               ({"mode": "exclusive"}, ("mode", "exclusive")),
                               ({"assignment": None}, ("start with --assignment group",)),
                               ({"partitions": 32}, ("32", "16")),
                               ({"slots": 250}, ("250", "16", "multiple"))):
            cases.append((["run", "--endpoint", "x:1"], options, words))
            if not {"mode", "assignment"} & options.keys():
                cases += [(["route", "key"], options, words), (["watch", "--once"], options, words)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:  # each waits for the broker, mostly
            for done, words in pool.map(self.run_case, cases):
                self.assertEqual(done.code, 2, done)
                for word in words:
                    self.assertIn(word, done.err, done)
                said = [re.sub(r"^.*?(error|neliroute [a-z]+:) ", "", line)
                        for line in done.err.splitlines()]
                self.assertEqual(len(said), len(set(said)), "it is told once")
                self.assertLessEqual(done.err.count("in the running group"), 1, done)
        self.assertTrue(alpha.running())
        alpha.refresh()
        self.assertEqual(len(alpha.events.rows), len(PARTITIONS), "a refused one moved something")

    def run_case(self, case):
        """One of them, in a thread."""
        command, options, words = case
        settings = {**self.settings("refusals"), **options}
        return run_raw(*command, *process.option_list(settings)), words

    def test_nobody_owns_anything(self):
        """An idle but answering ledger: the answer is no, exit 1."""
        done = self.tool("route", "idle", "key", json=True)
        self.assertEqual(done.code, 1, done)
        self.assertEqual([row["verdict"] for row in done.rows()], ["unowned"])
        done = self.tool("watch", "idle", once=True)
        self.assertEqual(done.code, 1, done)
        self.assertIn("unowned: 16 partitions", done.out)

    def test_broker_killed(self):
        """An owner that may not serve on leads nothing once its lease is over, and leaves."""
        out = self.folder / "second.out"
        with open(out, "wb") as file:
            broker = children.spawn([process.tool_path(), "broker", "--json", "--port", "0",
                                     "--topic", "gone", "--partitions", len(PARTITIONS)],
                                    stdout=file)
        self.addCleanup(children.end, broker)
        row = json.loads(children.wait_until(lambda: out.read_text().partition("\n")[0], 10,
                                             "the broker listens"))
        owner = self.start("gone", "alpha", 7001, brokers=row["brokers"], serve_stale="0s")
        self.wait_led(owner)
        broker.kill()
        broker.wait()
        children.wait_until(lambda: (owner.refresh(), not owner.leading)[1], 30, owner.error_tail)
        self.assertTrue(owner.running())
        self.assertEqual({row["reason"] for row in owner.events.rows if row["event"] == "stopped"},
                         {"lapsed"})
        owner.leave()
        self.assertEqual(owner.wait_exit(20), 0, owner.error_tail())

    def run_into(self, topic, output):
        """An owner whose events go to this pipe."""
        errors = self.folder / f"{topic}.err"
        with open(errors, "wb") as file:
            child = children.spawn(
                [process.tool_path(), "run", "--endpoint", "h:1", "--events", "-",
                 *process.option_list(self.settings(topic))], stdout=output, stderr=file)
        self.addCleanup(children.end, child, 0)
        return child, errors

    def test_reader_that_stalls(self):
        """It stops neither an owner nor its leave; what it missed is counted, the rest whole."""
        reader, output = full_pipe()
        child, errors = self.run_into("stalled", output)
        children.wait_until(lambda: "leads 16 of 16" in errors.read_text(), 30, errors.read_text)
        self.assertIn("its reader has stalled", errors.read_text())
        self.assertFalse(fcntl.fcntl(output, fcntl.F_GETFL) & os.O_NONBLOCK)
        self.assertEqual(os.read(reader, PIPE_BYTES), b"\n" * PIPE_BYTES)  # on, for a moment
        children.wait_until(lambda: fcntl.ioctl(reader, 0x541B, b"\0" * 4) != b"\0" * 4, 10,
                            "what was kept comes")  # FIONREAD
        os.close(output)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(20), 0, errors.read_text())
        with os.fdopen(reader, "rb") as rest:
            got = [json.loads(line) for line in rest.read().splitlines()]
        lost = sum(int(word) for word in re.findall(r"(\d+) lines were lost", errors.read_text()))
        self.assertGreater(lost, 0)
        first = [row["event"] for row in got[:len(PARTITIONS)]]
        self.assertEqual(first, ["acquired"] * len(first))
        self.assertGreaterEqual(len(got) + lost, 3 * len(PARTITIONS))  # stopped and released, too

    def test_names_that_are_not_text(self):
        """A terminal obeys no name; JSON stays JSON."""
        odd = b"bad\xff\x1b[2J"  # an endpoint of this kind is refused
        child = children.subprocess.Popen(
            [str(process.tool_path()), "run", b"--name=" + odd, "--endpoint=h:1", "--json",
             *process.option_list({**self.settings("raw"), "events": self.folder / "raw.events"})],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(children.end, child)
        base64 = "YmFk/xtbMko="
        joined = json.loads(child.stdout.readline().decode())
        self.assertEqual((joined["process_base64"], joined["endpoint"]), (base64, "h:1"))
        children.wait_until(lambda: self.tool("route", "raw", "a").code == 0, 30, "it owns a")
        for command, more in (("route", ("a",)), ("watch", ())):
            options = {"once": True} if command == "watch" else {}
            row = self.tool(command, "raw", *more, json=True, **options).rows()[0]
            self.assertEqual((row["owner_base64"], row["endpoint"]), (base64, "h:1"))
            text = self.tool(command, "raw", *more, **options)
            self.assertRegex(text.out, r"bad\\xff\\x1b\[2J .*\bh:1 ")
            self.assertNotIn("\x1b", text.out + text.err)
        counts = self.tool("route", "raw", "a", "b", count=True, json=True).rows()
        self.assertEqual(counts, [{"owner_base64": base64, "endpoint": "h:1", "keys": 2}])
        self.assertNotIn("\x1b", self.tool("route", "raw", "a", count=True).out)
        self.assertEqual({json.loads(line)["process_base64"] for line in
                          (self.folder / "raw.events").read_text().splitlines()}, {base64})

    def test_watch_is_ended_as_planned(self):
        """SIGTERM and SIGINT: exit 0; and what it cannot write is not lost silently: exit 3."""
        for number in (signal.SIGTERM, signal.SIGINT):
            child = children.spawn([process.tool_path(), "watch", "--json",
                                    *process.option_list(self.settings("watched"))],
                                   stdout=subprocess.PIPE)
            self.addCleanup(children.end, child)
            self.assertEqual(json.loads(child.stdout.readline())["verdict"], "unowned")
            child.send_signal(number)
            self.assertEqual(child.wait(10), 0)
        for arguments in (("watch",), ("watch", "--once"), ("route", "key"),
                          ("route", "key", "--count")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [str(process.tool_path()), *arguments,
                     *process.option_list(self.settings("watched"))], stdout=full,
                    stderr=subprocess.PIPE, timeout=30, check=False)
            self.assertEqual(done.returncode, 3, done)
            self.assertEqual(done.stderr.count(b"No space left on device"), 1, done)

    def test_port_taken(self):
        """A second broker on the same port: exit 2, the port and what to do."""
        port = self.brokers.rpartition(":")[2]
        done = run_raw("broker", "--port", port, limit=10)
        self.assertEqual(done.code, 2, done)
        self.assertIn(port, done.err)

    def watch_without_reader(self, topic, name, **options):
        """A watch that was read once, and then had more to write."""
        owner = self.start(topic, name, 7001)
        self.wait_led(owner)
        command = [str(process.tool_path()), "watch",
                   *process.option_list({**self.settings(topic), "json": True, **options})]
        child = children.spawn(command, stdout=subprocess.PIPE)
        self.addCleanup(children.end, child)
        self.assertEqual(json.loads(child.stdout.readline())["owner"], owner.name)
        child.stdout.close()
        child.stdout = None
        owner.leave()  # so that there is something to write
        owner.wait_exit()
        return child

    def test_reader_that_goes_away(self):
        """`watch | head -1` ends when nobody reads any more."""
        child = self.watch_without_reader("strange", "odd name, \"quoted\" and ключ")
        children.wait_until(lambda: child.poll() is not None, 15, "watch ends")

    def test_a_watch_that_others_ask_outlives_its_reader(self):
        """With --http (or --xds-dir) it serves on, whoever reads its lines."""
        at = f"127.0.0.1:{free_port()}"
        child = self.watch_without_reader("served", "alpha", http=at)

        def verdict():
            with urllib.request.urlopen(f"http://{at}/v1/route?key=k", timeout=5) as answer:
                return json.load(answer)["verdict"]
        children.wait_until(lambda: verdict() == "unowned", 15, "it reads on")
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(10), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
