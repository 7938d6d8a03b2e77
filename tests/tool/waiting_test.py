#!/usr/bin/python3
"""Whoever waits says for what, after a second, and that it is over."""
import subprocess
import unittest

import case
from harness import children, process


class Waiting(case.LaneCase):
    """Without a terminal, as under a supervisor and in a script."""

    def owner(self, name, **options):
        """A process of the lane, and what it says."""
        errors = self.folder / f"{self.topic}.{name}.err"
        options = {**self.lane, "name": name, "endpoint": f"{name}:7001", "assignment": "assigner",
                   **case.LONG_SESSION, **options}
        with open(errors, "wb") as err:
            child = children.spawn([process.tool_path(), "run", *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child)
        return child, errors

    def wait_said(self, errors, words):
        children.wait_until(lambda: words in errors.read_text(), 60,
                            lambda: f"{words}\n{errors.read_text()}")

    def test_more_members_than_partitions(self):
        few = {"partitions": 1, "logs": 1}
        first, errors = self.owner("alpha", **few)
        self.wait_said(errors, "leads 1 of 1 partitions")
        _, errors = self.owner("beta", **few)
        self.wait_said(errors, "each of the 1 partitions is led by another process")
        self.wait_said(errors, "stands by")
        children.end(first)
        self.wait_said(errors, "acquired 1; leads 1 of 1 partitions")

    def test_a_predecessor_that_was_killed(self):
        first, errors = self.owner("alpha", partitions=16)
        self.wait_said(errors, "leads 16 of 16 partitions")
        children.end(first, 0)
        _, errors = self.owner("beta", partitions=16)
        self.wait_said(errors, "leads nothing yet: ")
        self.wait_said(errors, "session and lease of who led them before")
        self.wait_said(errors, "acquired 16; leads 16 of 16 partitions")

    def test_what_an_operator_asks_after_a_start(self):
        """Who lives is known only after each member had the time to say so."""
        _, errors = self.owner("alpha", partitions=16)
        self.wait_said(errors, "leads 16 of 16 partitions")
        done = process.run_tool("cordon", "alpha", dry_run=True, **self.lane)
        self.assertEqual(done.code, 0, done)
        self.assertIn("neliroute: reading who lives ... 1 s\n", done.err)
        self.assertRegex(done.err, r"neliroute: reading who lives took \d+\.\d s\n")

    def test_a_lane_that_nobody_runs(self):
        done = process.run_tool("route", "key", "other", partitions=16, json=True, **self.lane)
        self.assertEqual(done.code, 1, done)
        self.assertEqual([row["verdict"] for row in done.rows()], ["unowned", "unowned"])
        self.assertIn(f"no process leads anything in lane 0 of topic {self.topic}", done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
