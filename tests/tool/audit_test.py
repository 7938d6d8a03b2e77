#!/usr/bin/python3
"""`neliroute audit` on the embedded broker, which stamps no time: only the order of records tells.
What broker time adds is shown on real Kafka (tests/kafka/audit_test.py)."""
import re
import tempfile
import unittest
from pathlib import Path

from case import LONG_SESSION, run_raw
from harness import children, process

PARTITIONS = range(8)


class Audit(unittest.TestCase):
    """One broker for the class; each test has a topic of its own."""

    TOPICS = ("clean", "hasty", "empty")

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        topics = [part for topic in cls.TOPICS for part in ("--topic", topic)]
        row = process.embedded_broker(cls.folder, cls.addClassCleanup,
                                      "--partitions", len(PARTITIONS), *topics)
        cls.brokers = row["brokers"]

    def settings(self, topic):
        """What every command of a test has in common."""
        return {"brokers": self.brokers, "topic": topic, "group": topic, "slots": 64,
                "partitions": len(PARTITIONS), "profile": "fast", **LONG_SESSION}

    def start(self, topic, name, **options):
        """An owner."""
        options = {**self.settings(topic), "name": name, "endpoint": f"{name}:1",
                   "events": self.folder / f"{topic}.{name}.events", **options}
        command = [process.tool_path(), "run", *process.option_list(options)]
        owner = process.Owner(f"{topic}.{name}", name, self.folder, command, process.environment())
        self.addCleanup(children.end, owner.child, 0)
        return owner

    def wait_led(self, *owners):
        """Until these lead every partition, each some, and none of it drains."""
        def settled():
            for owner in owners:
                self.assertTrue(owner.running(), owner.error_tail())
                owner.refresh()
            counts = [len(owner.leading) for owner in owners]
            return min(counts) > 0 and sum(counts) == len(PARTITIONS)
        children.wait_until(settled, 30, lambda: "\n".join(o.error_tail() for o in owners))

    def audit(self, topic, **options):
        """The command, to its end."""
        return process.run_tool("audit", **{**self.settings(topic), **options})

    def test_clean(self):
        """Two owners, a planned move, a leave: nothing to find, and every ownership was seen."""
        alpha = self.start("clean", "alpha")
        self.wait_led(alpha)
        beta = self.start("clean", "beta")
        self.wait_led(alpha, beta)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.wait_led(beta)
        done = self.audit("clean", json=True)
        self.assertEqual(done.code, 0, done)
        *logs, totals = done.rows()
        self.assertEqual([row["log"] for row in logs], [0, 1, 2, 3], done)
        for row in logs:
            self.assertEqual((row["low"], row["start"], row["cut_short"]), (0, 0, False), done)
            self.assertGreater(row["end"], 5)
        self.assertEqual((totals["processes"], totals["findings"], totals["broker_time"]),
                         (2, 0, False), done)
        acquired = {(owner.name, row["partition"], row["epoch"]["offset"])
                    for owner in (alpha, beta) for row in owner.events.rows
                    if row["event"] == "acquired"}
        # Who was superseded before its first renewal did not say that it led.
        self.assertLessEqual(totals["ownerships"], len(acquired))
        self.assertGreaterEqual(totals["ownerships"], len(PARTITIONS) + len(PARTITIONS) // 2)
        text = self.audit("clean")
        self.assertEqual(text.code, 0, text)
        self.assertRegex(text.out, r"(?m)^log 0: offsets 0 to \d+, 20\d\d-.*Z to .*Z$")
        self.assertRegex(text.out, r"(?m)^\d.* records of 2 processes, .*; 0 findings, ")
        self.assertIn("LogAppendTime", text.out)
        late = self.audit("clean", json=True, since="1ms")
        self.assertLess(late.rows()[-1]["records"], totals["records"], late)
        other = self.audit("clean", json=True, lane=1)
        self.assertEqual((other.code, other.rows()[-1]["records"]), (0, 0), other)
        self.assertGreaterEqual(other.rows()[-1]["other_lanes"], totals["records"])

    def test_leave_in_haste(self):
        """Who may not wait for a successor leaves a gap, and the offsets show it."""
        # One log, so that who stays is seen alive in the gap wherever its partitions are; and a
        # group, as an assigner names the successors so soon that there may be no gap.
        stayer = self.start("hasty", "stayer", interval="10ms", logs=1, lease="6s",
                            assignment="group")
        leaver = self.start("hasty", "leaver", drain_timeout="1ms", logs=1, lease="6s",
                            assignment="group")
        self.wait_led(stayer, leaver)
        lost = set(leaver.leading)
        leaver.leave()
        self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
        self.wait_led(stayer)
        done = self.audit("hasty", json=True, lease="6s")
        self.assertEqual(done.code, 1, done)
        found = [row for row in done.rows() if "finding" in row]
        self.assertEqual({row["finding"] for row in found}, {"gap"}, done)
        for row in found:
            self.assertLessEqual(set(map(int, re.findall(r"\d+", row["partitions"]))), lost)
            release, alive, claim = row["evidence"]
            self.assertEqual([(one["owner"], one["says"]) for one in (release, alive, claim)],
                             [("leaver", "releases"), ("stayer", "leads"), ("stayer", "claims")])
            self.assertLess(release["offset"], alive["offset"])
            self.assertLess(alive["offset"], claim["offset"])
        text = self.audit("hasty", lease="6s")
        self.assertEqual(text.code, 1, text)
        self.assertRegex(text.out, r"(?m)^finding gap  log \d  partitions [\d,-]+")

    def test_empty(self):
        """Nothing was ever written: nothing to find."""
        done = self.audit("empty", json=True)
        self.assertEqual(done.code, 0, done)
        self.assertEqual([row["records"] for row in done.rows()], [0])

    def test_refusals(self):
        """2 for what cannot be meant, 3 where nobody answers; each says what to do."""
        for since, words in (("soon", "10m"), ("2999-01-01T00:00:00Z", "still to come"),
                             ("10", "10m"), ("2026-02-30T00:00:00Z", "10m")):
            done = run_raw("audit", "--brokers", self.brokers, "--since", since)
            self.assertEqual(done.code, 2, done)
            self.assertIn(words, done.err)
        self.assertEqual(run_raw("audit", "key").code, 2)
        done = run_raw("audit", "--brokers", self.brokers, "--topic", "none")
        self.assertEqual(done.code, 2, done)
        self.assertIn("does not exist", done.err)
        self.assertNotIn("--wait", done.err, "it has none")
        done = run_raw("audit", "--brokers", "127.0.0.1:1", "--timeout", "1s")
        self.assertEqual(done.code, 3, done)
        self.assertIn("--brokers", done.err)
        self.assertEqual(run_raw("audit", "--help").code, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
