#!/usr/bin/python3
"""What watch, route and the admin port show of members where one of them assigns."""
import json
import re
import unittest
import urllib.request

import case
from emulator import Terminal
from harness import children, process

PARTITIONS = 16
SLOTS = 256
NOBODYS = process.checker.Epoch(-1, -1)


class Assigned(case.LaneCase):
    """What they show while members come, go and die."""

    def setUp(self):
        super().setUp()
        self.settings = {**self.lane, "slots": SLOTS}

    def member(self, name, **options):
        """A process of the lane, and the address of its admin port."""
        options = {**self.settings, "name": name, "endpoint": f"{name}:7001", "http": "0",
                   "assignment": "assigner", "partitions": PARTITIONS, **case.LONG_SESSION,
                   **options}
        return self.spawn("run", name, options)

    def tool(self, subcommand, *positional, **options):
        return process.run_tool(subcommand, *positional, **{**self.settings, **options})

    @staticmethod
    def ask(url, path):
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            return json.load(answer)

    def shares(self, url):
        """{name: (partitions, designated)} of the members, once nothing is on the way."""
        told = self.ask(url, "v1/assignment")
        if told.get("moves", True):
            return {}
        return {one["name"]: (one["partitions"], one["designated"]) for one in told["members"]}

    def states(self, url):
        """{name: state} of the members."""
        return {one["name"]: one["state"] for one in self.ask(url, "v1/assignment")["members"]}

    def test_once_counts_members_that_own_nothing(self):
        """They say that they live once an interval, and nothing else tells of them."""
        slow = {"session": "6s", "interval": "1500ms", "lease": "13s"}
        _, url = self.member("alpha", **slow)
        self.member("beta", weight=0, **slow)
        self.member("gamma", weight=0, **slow)
        children.wait_until(lambda: len(self.states(url)) == 3, 40, "all are heard")
        for _ in range(3):
            done = self.tool("watch", once=True)
            self.assertIn("; 3 members\n", done.out, done)

    def test_members_weights_and_the_assigner(self):
        """By a member's port, a watcher's port, watch --once, route --explain and the screen."""
        alpha, url = self.member("alpha")
        children.wait_until(lambda: self.shares(url) == {"alpha": (16, 16)}, 30, "alpha owns all")
        self.member("beta", weight=3)
        by_weight = {"alpha": (4, 4), "beta": (12, 12)}
        children.wait_until(lambda: self.shares(url) == by_weight, 30,
                            lambda: f"by weight: {self.ask(url, 'v1/assignment')}")
        _, watcher = self.spawn("watch", "watcher", {**self.settings, "http": "0", "json": True})
        children.wait_until(lambda: self.shares(watcher) == by_weight, 30,
                            "a watcher sees the same")
        told, seen = (self.ask(one, "v1/assignment") for one in (url, watcher))
        self.assertEqual((told["source"], told["assigner"]["name"]), ("assigner", "alpha"))
        self.assertTrue(seen["assigner"]["assigning"])
        for part in ("assigner", "members", "moves"):
            self.assertEqual(told[part], seen[part])
        self.assertAlmostEqual(told["assigner"]["since"], told["at"], delta=120)

        done = self.tool("watch", once=True)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.out.splitlines()[-2:],
                         ["assigned by alpha; 2 members",
                          "operators' overrides: see `neliroute overrides`"])
        self.assertRegex(done.out, r"(?m)^beta .* weight 3 ")
        done = self.tool("route", "user:1000", explain=True)
        self.assertRegex(done.out, r"(?m)^assigner +alpha$")
        row, = self.tool("route", "user:1000", explain=True, json=True).rows()
        self.assertEqual(row["assigner"], "alpha")
        self.assertNotIn("designee", row)

        terminal = Terminal([process.tool_path(), "watch", *process.option_list(self.settings)],
                            process.environment({"TERM": "xterm-256color", "LANG": "C.UTF-8",
                                                 "LC_ALL": "C.UTF-8"}))
        self.addCleanup(terminal.close)
        lines = terminal.wait(lambda lines: "assigned by alpha" in lines[2]
                              and any("weight 3" in line for line in lines[5:7]), "on the screen")
        self.assertTrue(any(re.match(r"alpha .* assigns ", line) for line in lines[5:7]), lines)
        alpha.kill()
        terminal.wait(lambda lines: "assigned by beta" in lines[2]
                      and any(re.match(r"alpha .*silent", line) for line in lines[5:7])
                      and ": 0 unowned, 0 unknown" in lines[1],
                      "beta took over, and alpha is silent")
        children.wait_until(lambda: self.shares(watcher).get("beta") == (16, 16), 30,
                            "beta owns all")
        # Each watcher judges by what it has read itself.
        children.wait_until(
            lambda: self.states(watcher) == {"alpha": "silent", "beta": "living"}, 30,
            lambda: f"the other watcher, too: {self.ask(watcher, 'v1/assignment')}")

    def test_nobody_may_be_given_anything(self):
        """All that lives has weight 0: route says why nobody owns the key."""
        _, url = self.member("gamma", weight=0)
        children.wait_until(lambda: self.ask(url, "v1/assignment").get("assigner"), 30,
                            "it assigns")
        def unowned():
            done = self.tool("route", "user:1000", explain=True)
            return done if done.code == 1 else None
        done = children.wait_until(unowned, 30, "nobody owns it")
        self.assertIn("no living member may be given anything", " ".join(done.out.split()))

    def test_each_slot_is_a_partition(self):
        """M = S: two owners, a kill, and every key goes to who owns its own partition."""
        slots = 1024
        self.settings["slots"] = slots
        alpha, _ = self.member("alpha", partitions=slots)  # it assigns
        _, url = self.member("beta", partitions=slots)
        half = slots // 2
        halves = {"alpha": (half, half), "beta": (half, half)}
        children.wait_until(lambda: self.shares(url) == halves, 60,
                            lambda: f"halves: {self.ask(url, 'v1/assignment')}")
        keys = [f"user:{i}" for i in range(200)]
        owners = {row["partition"]: row["owner"]
                  for row in self.tool("watch", once=True, json=True).rows()}
        self.assertEqual(len(owners), slots)
        for row in self.tool("route", *keys, json=True).rows():
            self.assertEqual(row["partition"], row["slot"], row)
            self.assertEqual((row["verdict"], row["owner"]),
                             ("remote", owners[row["partition"]]), row)
        alpha.kill()
        children.wait_until(lambda: self.shares(url).get("beta") == (slots, slots), 60,
                            lambda: f"beta owns all: {self.ask(url, 'v1/assignment')}")
        rows = self.tool("route", *keys, json=True).rows()
        self.assertEqual({(row["verdict"], row["owner"]) for row in rows}, {("remote", "beta")})
        self.assertEqual({row["slot"] for row in rows},
                         {row["partition"] for row in rows})

    def owners_by(self, source, turn, **more):
        """Two that lead four partitions, whoever assigns."""
        pair = []
        for name in (f"{source}-{turn}a", f"{source}-{turn}b"):
            options = {**self.settings, "group": self.topic, "name": name, "assignment": source,
                       "endpoint": f"{name}:7001", "events": self.folder / f"{name}.events", **more}
            command = [process.tool_path(), "run", *process.option_list(options)]
            pair.append(process.Owner(name, name, self.folder, command, process.environment()))
            self.addCleanup(children.end, pair[-1].child, 0)

        def settled():
            for owner in pair:
                self.assertTrue(owner.running(), owner.error_tail())
                owner.refresh()
            return [len(owner.leading) for owner in pair] == [2, 2]
        children.wait_until(settled, 60, lambda: "\n".join(one.error_tail() for one in pair))
        return pair

    def test_from_a_group_to_an_assigner_and_back(self):
        """On the same topic, by stopping all and starting again: all is led under greater epochs.
        M is 4 each time: the topic's number with a group, and given with the assigner."""
        highest = {}
        turns = (("group", {}), ("assigner", {"partitions": 4, **case.LONG_SESSION}),
                 ("group", {}))
        for turn, (source, more) in enumerate(turns):
            pair = self.owners_by(source, turn, **more)
            seen = {row["partition"]: row["owner"]
                    for row in self.tool("watch", once=True, json=True).rows()}
            self.assertEqual(seen, {p: owner.name for owner in pair for p in owner.leading})
            self.assertEqual(set(seen), {0, 1, 2, 3})
            for owner in pair:
                owner.leave()
            for owner in pair:
                self.assertEqual(owner.wait_exit(), 0, owner.error_tail())
            acquired = [(row["partition"], process.checker.Epoch(**row["epoch"]))
                        for owner in pair for row in owner.events.rows
                        if row["event"] == "acquired"]
            for partition, epoch in acquired:
                before = highest.get(partition, NOBODYS)
                self.assertLess(before, epoch, f"{source}, partition {partition}")
            for partition, epoch in sorted(acquired, key=lambda one: (one[1].inc, one[1].offset)):
                highest[partition] = epoch
        self.assertEqual(len(highest), 4)

    def test_a_ledger_by_its_address(self):
        """Every command takes one; a place that is said twice, or another store, is refused."""
        place = {"ledger": f"kafka://{self.brokers}/{self.topic}", "profile": "fast"}
        self.settings = {**place, "slots": SLOTS}
        _, url = self.member("alpha")
        children.wait_until(lambda: self.ask(url, "v1/slots")["ready"], 30, "it is ready")
        routed = self.tool("route", "user:1000", json=True)
        self.assertEqual(routed.rows()[0]["owner"], "alpha")
        self.settings = place
        for command, words in (("cordon", ["alpha"]), ("overrides", []), ("audit", [])):
            dry = {"dry_run": True} if words else {}
            done = process.run_tool(command, *words, **place, **dry)
            self.assertEqual(done.code, 0, done)
        for wrong, words in (
                ({"topic": self.topic}, "give either the one or the others"),
                ({"ledger": "consul://h:8500/x"}, "expected kafka://HOST:PORT,.../TOPIC"),
                ({"ledger": "memory:x"}, "--ledger memory:x is for the Routers of one program")):
            for command in (["route", "k"], ["pin", "1", "alpha"], ["run"]):
                endpoint = {"endpoint": "h:1"} if command == ["run"] else {}
                done = process.run_tool(*command, **{**place, **endpoint, **wrong})
                self.assertEqual(done.code, 2, done)
                self.assertIn(words, done.err)
                self.assertIn("--ledger", done.err)

    def test_with_a_group(self):
        """Nothing is said of an assigner."""
        _, url = self.member("delta", assignment="group", partitions=None, session=None,
                             lease=None)
        children.wait_until(lambda: self.ask(url, "v1/slots")["ready"], 30, "it is ready")
        self.assertEqual(self.ask(url, "v1/assignment")["source"], "group")
        done = self.tool("watch", once=True)
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("assign", done.out)
        done = self.tool("route", "user:1000", explain=True)
        self.assertNotIn("assign", done.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
