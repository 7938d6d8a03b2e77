#!/usr/bin/python3
"""Two processes of the example share the keys out; one leaves as planned, the other serves all."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import case  # noqa: F401  (finds the harness)
from harness import children, process

EXAMPLE = Path(sys.argv.pop(1)).resolve()
KEYS = [f"key-{i}" for i in range(20)]


class OwnAndServe(unittest.TestCase):
    """examples/01_own_and_serve.cc."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.brokers = process.embedded_broker(self.folder, self.addCleanup)["brokers"]

    def start(self, port, variables):
        """One process of the example, asked by its stdin."""
        child = children.spawn([EXAMPLE, f"127.0.0.1:{port}", self.brokers], text=True, bufsize=1,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=process.environment(variables),
                               stderr=open(self.folder / f"{port}.log", "wb"))
        self.addCleanup(children.end, child)
        return child

    @staticmethod
    def ask(child, keys):
        """Its answers, by key."""
        answers = {}
        for key in keys:
            child.stdin.write(key + "\n")
            asked, _, answers[key] = child.stdout.readline().rstrip("\n").partition(": ")
            assert asked == key, (asked, key)
        return answers

    def all_served(self, first, second=None):
        """Whether every key is served by exactly one, and the other sends there."""
        here = self.ask(first, KEYS)
        there = self.ask(second, KEYS) if second else {key: "ask 127.0.0.1:7001" for key in KEYS}
        served = [key for key in KEYS if here[key].startswith("served here, epoch ")]
        shared = 0 < len(served) < len(KEYS) if second else len(served) == len(KEYS)
        return shared and all(
            (there[key] == "ask 127.0.0.1:7001") if key in served else
            (here[key] == "ask 127.0.0.1:7002" and there[key].startswith("served here"))
            for key in KEYS)

    def test_a_group_assigns(self):
        """As the environment says."""
        self.test_two_share_and_one_leaves({"NELIROUTE_ASSIGNMENT": "group"})

    def test_two_share_and_one_leaves(self, variables=None):
        """All keys are served, before and after; one of them assigns, and leaves or stays."""
        first, second = self.start(7001, variables), self.start(7002, variables)
        children.wait_until(lambda: self.all_served(first, second), 30, "both serve", poll=0.1)
        second.terminate()
        self.assertEqual(second.wait(15), 0, (self.folder / "7002.log").read_text()[-2000:])
        children.wait_until(lambda: self.all_served(first), 15, "one serves all", poll=0.1)
        first.stdin.close()  # nobody asks any more
        first.stdin = None
        self.assertEqual(first.wait(15), 0, (self.folder / "7001.log").read_text()[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
