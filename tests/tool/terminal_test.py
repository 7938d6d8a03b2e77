#!/usr/bin/python3
"""What a person at a terminal sees: the screen of watch, progress, and why a key is where it is."""
import json
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request
from pathlib import Path

from case import LONG_SESSION, run_raw
from emulator import Terminal
from harness import children, process
from harness.owners import free_port

PARTITIONS = 16
SLOTS = 256
COLOURED = re.compile(r"\x1b\[(?:\d+;)*[34]\d(?:;\d+)*m")
ALTERNATE_OFF = "\x1b[?1049l"


class Screen(unittest.TestCase):
    """watch on a pseudo-terminal, beside two owners on the embedded broker."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_CORE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # some tests end the tool badly
        topics = unittest.TestLoader().getTestCaseNames(cls)
        row = process.embedded_broker(cls.folder, cls.addClassCleanup, "--partitions", PARTITIONS,
                                      *(part for topic in topics for part in ("--topic", topic)))
        cls.brokers = row["brokers"]

    def setUp(self):
        topic = self.id().rpartition(".")[2]
        self.settings = {"brokers": self.brokers, "topic": topic, "group": topic, "slots": SLOTS,
                         "partitions": PARTITIONS, "profile": "fast", **LONG_SESSION}

    def owner(self, name, port, **options):
        """Started, and ended with the test."""
        options = {**self.settings, "name": name, "endpoint": f"127.0.0.1:{port}", **options}
        with open(self.folder / f"{name}.err", "wb") as err:
            child = children.spawn([process.tool_path(), "run", *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child)
        return child

    def watch(self, *arguments, env=None, **options):
        """On a terminal of its own."""
        command = [process.tool_path(), "watch", *process.option_list(self.settings), *arguments]
        variables = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
                     **(env or {})}
        terminal = Terminal(command, process.environment(variables), **options)
        self.addCleanup(terminal.close)
        return terminal

    def assert_given_back(self, terminal):
        """As it was, and what it showed is gone."""
        self.assertEqual(terminal.settings(), terminal.before)
        self.assertIn(ALTERNATE_OFF, terminal.raw)
        self.assertEqual(terminal.raw.count("\x1b[?1049h"), terminal.raw.count(ALTERNATE_OFF))

    @staticmethod
    def names(lines):
        """The first word of each row of the table."""
        heading = next(i for i, line in enumerate(lines) if "ENDPOINT" in line)
        end = next((i for i, line in enumerate(lines) if re.match("last moves|no moves", line)),
                   len(lines) - 1)
        return [line.split()[0] for line in lines[heading + 1:end] if line]

    def test_a_session(self):
        """Sees, resizes, sorts, filters, sees a kill, and quits."""
        alpha = self.owner("alpha", 7001)
        self.owner("bravo", 7002)
        terminal = self.watch()
        lines = terminal.wait(lambda lines: "256 slots: 256 owned, 0 unowned" in lines[1]
                              and sorted(self.names(lines)) == ["alpha", "bravo"]
                              and all(re.search(r" 128 +8 ", line) for line in lines[5:7]),
                              "both owners, each with its share")
        self.assertIn("2 owners, fair share 128.0", lines[1])
        self.assertIn("ledger answered", lines[2])
        self.assertTrue(lines[23].startswith("q quit"), lines)

        terminal.resize(160, 50)
        lines = terminal.wait(lambda lines: lines[49].startswith("q quit"), "50 lines")
        self.assertIn("NEWEST EPOCH", lines[4])
        self.assertRegex(lines[5], r"#{4,8}")
        terminal.resize(50, 12)
        lines = terminal.wait(lambda lines: lines[11].startswith("q quit"), "12 lines")
        self.assertNotIn("EPOCH", lines[4])
        terminal.resize(80, 24)
        terminal.wait(lambda lines: lines[23].startswith("q quit"), "24 lines")

        terminal.press("SS")
        terminal.wait(lambda lines: "OWNER ^" in lines[4]
                      and self.names(lines) == ["alpha", "bravo"], "by name")
        terminal.press("r")
        terminal.wait(lambda lines: "OWNER v" in lines[4]
                      and self.names(lines) == ["bravo", "alpha"], "the other way around")
        terminal.press("/lpH")
        terminal.wait(lambda lines: self.names(lines) == ["alpha"]
                      and lines[23] == "filter: lpH", "what passes the filter")
        terminal.press("\r\r")
        terminal.wait(lambda lines: "[2 Partitions" in lines[3]
                      and len(self.names(lines)) == PARTITIONS // 2, "alpha's partitions")
        terminal.press("\x1b1")
        terminal.wait(lambda lines: len(self.names(lines)) == 2, "no filter any more")

        alpha.kill()
        terminal.wait(lambda lines: "256 owned" in lines[1] and "1 owner," in lines[1],
                      "bravo took over")
        terminal.press("3")
        terminal.wait(lambda lines: "[3 Moves" in lines[3]
                      and any(re.search(r"alpha +bravo +\d", line) for line in lines), "the moves")
        terminal.press("q")
        self.assertEqual(terminal.wait_exit(), 0)
        self.assert_given_back(terminal)

    def test_signals_give_the_terminal_back(self):
        """Those that ask for the end are a planned one; a crash is one, and yet gives it back."""
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0),
                             (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGABRT, -signal.SIGABRT),
                             (signal.SIGSEGV, -signal.SIGSEGV)):
            with self.subTest(signal=number.name):
                terminal = self.watch()
                terminal.wait(lambda lines: lines[23].startswith("q quit"), "the screen")
                self.assertNotEqual(terminal.settings(), terminal.before)
                terminal.child.send_signal(number)
                self.assertEqual(terminal.wait_exit(), code)
                self.assert_given_back(terminal)

    def test_a_failure_gives_the_terminal_back(self):
        """An owner with other slots comes first: the watcher refuses, and that can be read."""
        self.owner("other", 7003, slots=512)
        terminal = self.watch()
        self.assertEqual(terminal.wait_exit(40), 2)
        self.assert_given_back(terminal)
        self.assertIn("512", "\n".join(terminal.read()))

    def test_colours_are_as_asked(self):
        """Some on a terminal that has them; none with NO_COLOR."""
        self.owner("alpha", 7001)
        for env, coloured in (({}, True), ({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False)):
            with self.subTest(env=env):
                terminal = self.watch(env=env)
                terminal.wait(lambda lines: "256 owned" in lines[1], "an owner")
                terminal.press("q")
                self.assertEqual(terminal.wait_exit(), 0)
                self.assertEqual(bool(COLOURED.search(terminal.raw)), coloured)

    def test_lines_where_no_screen_can_be(self):
        """With --json, on a dumb terminal, without a keyboard, and on one that nobody knows."""
        self.owner("alpha", 7001)
        terminal = self.watch("--json", columns=400, on=("stdin", "stdout"),
                              stderr=subprocess.DEVNULL)
        lines = terminal.wait(lambda lines: lines[PARTITIONS - 1], "a line each")
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual({row["partition"] for row in rows}, set(range(PARTITIONS)))
        self.assertNotIn("\x1b", terminal.raw)
        for options in ({"env": {"TERM": "dumb"}}, {"on": ("stdout", "stderr")},
                        {"env": {"TERM": "no-such-terminal"}}):
            with self.subTest(options=options):
                terminal = self.watch(**options)
                lines = terminal.wait(
                    lambda lines: any(re.search(r"partition \d+ +16 slots +alpha", line)
                                      for line in lines), "lines")
                self.assertNotIn("\x1b[?1049h", terminal.raw)

    def test_requests_of_others(self):
        """--requests: what becomes of requests in a process that is asked, and in one that is not
        there."""
        self.owner("alpha", 7001, http="0", control=True)
        port = children.wait_until(
            lambda: re.search(r"http://127\.0\.0\.1:(\d+)/",
                              (self.folder / "alpha.err").read_text()), 20, "it listens")[1]
        nobody = free_port()
        terminal = self.watch("--requests", f"{port},127.0.0.1:{nobody}", columns=120)
        terminal.wait(lambda lines: "256 owned" in lines[1] and "4 Requests/s 2" in lines[3],
                      "an owner, and two that are asked")
        terminal.press("4")
        terminal.wait(lambda lines: re.match(
            rf"127\.0\.0\.1:{nobody} [ -]+ Connection refused", lines[5])
                      and re.match(r"alpha +0\.0 +0\.0 +- +0\.0 +0\.0 +-", lines[6]),
                      "who does not answer, and who counts none")

        def admit():
            with urllib.request.urlopen(urllib.request.Request(
                    f"http://127.0.0.1:{port}/v1/admit", b'{"slot":1}', method="POST",
                    headers={"Content-Type": "application/json"}), timeout=10) as answer:
                self.assertEqual(json.load(answer)["answer"], "serve")
        for _ in range(30):
            admit()
        terminal.wait(lambda lines: re.match(r"alpha +(1?\d\.\d|[1-9]\d*) +0\.0 +-", lines[6])
                      and not re.match(r"alpha +0\.0", lines[6]), "how many it serves a second")
        terminal.press("q")
        self.assertEqual(terminal.wait_exit(), 0)
        for more in (("--once",), ("--json",), ()):
            refused = run_raw("watch", "--requests", port, *more)
            self.assertEqual(refused.code, 2, more)
            self.assertIn("--requests is for the screen", refused.err)
        self.assertIn('" x" has no port', run_raw("watch", "--requests", "7480, x").err)

    def test_explain(self):
        """Hash, tag, slot, partition, owner, epoch and why; as JSON what /v1/route answers."""
        errors = self.folder / "alpha.err"
        self.owner("alpha", 7001, http="0", hash="crc16", hash_tags=True)
        port = children.wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/",
                                                     errors.read_text()), 20, "it listens")[1]
        options = {**self.settings, "hash": "crc16", "hash_tags": True, "explain": True}
        key = "{user1000}.cart"
        done = children.wait_until(
            lambda: (lambda ran: ran if ran.code == 0 else None)(
                process.run_tool("route", key, **options)), 30, "it is owned")
        explained = dict(re.findall(r"^(\w+) +(.*)$", done.out, re.MULTILINE))
        self.assertEqual(list(explained), ["key", "hash", "slot", "partition", "verdict", "owner",
                                           "epoch", "assigner", "why"])
        slot = 3443 % SLOTS  # what Redis answers to CLUSTER KEYSLOT {user1000}.cart, and so 2^14
        self.assertIn("crc16 of the tag user1000", explained["hash"])
        self.assertTrue(explained["slot"].startswith(f"{slot}, "), done)
        self.assertTrue(explained["partition"].startswith(f"{slot % PARTITIONS}, "), done)
        self.assertRegex(explained["owner"], r"^alpha at 127\.0\.0\.1:7001, id [0-9a-f]{16}$")
        self.assertRegex(done.out, r"\(rule 3\)")

        row, = process.run_tool("route", key, json=True, **options).rows()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/route?key=%7Buser1000%7D.cart",
                                    timeout=10) as answer:
            served = json.load(answer)
        self.assertEqual(list(row), list(served))
        for told in (row, served):
            told.pop("valid_for_ms")
        self.assertEqual({**served, "verdict": "remote"}, row)

        done = run_raw("route", "--explain", "--count", "key")
        self.assertEqual(done.code, 2, done)


class Progress(unittest.TestCase):
    """A broker that takes connections and never answers."""

    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        """Until the server is closed."""
        try:
            while True:
                self.taken.append(self.server.accept()[0])
        except OSError:
            for connection in self.taken:
                connection.close()

    def test_is_seen_on_a_terminal_and_gone_afterwards(self):
        for command in (["route", "key"], ["watch", "--once"], ["audit"],
                        ["run", "--endpoint", "h:1", "--log-level", "error"]):
            with self.subTest(command=command[0]):
                terminal = Terminal(
                    [process.tool_path(), *command, "--brokers", self.address, "--timeout", "3s",
                     *(["--log-level", "error"] if command[0] != "run" else [])],
                    process.environment({"TERM": "xterm"}), on=("stderr",),
                    stdout=subprocess.DEVNULL)
                self.addCleanup(terminal.close)
                terminal.wait(lambda lines: any(
                    re.search(rf"(connecting to|at) {self.address} \.\.\. [12] s", line)
                    for line in lines), "progress")
                self.assertEqual(terminal.wait_exit(), 3)
                shown = "\n".join(terminal.read())
                self.assertNotIn(f"{self.address} ...", shown)
                self.assertIn(f"neliroute {command[0]}: ", shown)

    def test_is_not_written_into_files(self):
        env = process.environment({"TERM": "xterm"})
        done = run_raw("route", "key", "--brokers", self.address, "--timeout", "2s", env=env)
        self.assertEqual(done.code, 3, done)
        self.assertNotIn("connecting to", done.err)
        self.assertNotIn("\x1b", done.err)


if __name__ == "__main__":
    unittest.main()
