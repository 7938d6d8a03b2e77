#!/usr/bin/python3
"""The judge must find what it is there to find, and nothing else: forged runs of two slots."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from forgery import Forgery  # noqa: E402
import judge  # noqa: E402
import kinds  # noqa: E402
import rules  # noqa: E402

LEASE, TAKEOVER, HANDOVER = 3.0, 1.6, 1.0  # what the facts below make of the rule
STEP = 0.5  # for which owners may prepare, or warm up, where they do
WARM = {"prepare_timeout_ms": 1000 * STEP}
FURTHER = {"consumer": 0.4, "classic": 2.0}


class JudgeTest(unittest.TestCase):
    """Slot 0 goes from owner a to owner b."""

    def forge(self, **how):
        """A run with a and b."""
        run = Forgery(self.enterContext(tempfile.TemporaryDirectory()), **how)
        run.owner("a")
        run.owner("b")
        return run

    def handed_over(self, gap, stop=10.0, **how):
        """a leads until `stop`, then nobody for `gap`, then b."""
        run = self.forge(**how)
        run.led("a", 0, 0.0, stop, 1)
        run.led("b", 0, stop + gap, None, 2)
        return run

    def killed(self, gap, **how):
        """a is killed at 10, b leads a gap later."""
        run = self.forge(**how)
        run.owner("a", ended=10.0)
        run.led("a", 0, 0.0, None, 1)
        run.led("b", 0, 10.0 + gap, None, 2)
        run.fault("kill", 10.0, 20.0, ["a"])
        return run

    def kinds(self, run):
        """The kinds of what was found."""
        return sorted({finding.split(":")[0] for finding in run.judged()["findings"]})

    def test_a_clean_run_is_clean(self):
        report = self.handed_over(0.0).judged()
        self.assertEqual(report["findings"], [])
        self.assertEqual(sum(row["transitions"] for row in report["rows"]), 1)

    def test_a_gap_without_a_fault_is_found(self):
        self.assertEqual(self.kinds(self.handed_over(0.001)),
                         ["unexplained gap by log", "unexplained gap by witness"])

    def test_a_gap_that_only_the_witness_saw_is_found(self):
        run = self.forge()
        run.led("a", 0, 0.0, None, 1, witnessed=False)
        run.samples["a"] += [{"partition": 0, "owns": True, "boot": 0.0, "prev": 0.0},
                             {"partition": 0, "owns": False, "boot": 5.0, "prev": 5.0},
                             {"partition": 0, "owns": True, "boot": 5.1, "prev": 5.1}]
        self.assertEqual(self.kinds(run), ["unexplained gap by witness"])

    def test_a_kill_explains_a_gap(self):
        report = self.killed(TAKEOVER - 0.1).judged()
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["nearest"][0]["explained_by"], [[1, "kill"]])

    def test_a_gap_that_is_too_long_is_found(self):
        self.assertEqual(self.kinds(self.killed(TAKEOVER + 0.1)),
                         ["too long gap by log", "too long gap by witness"])

    def test_another_owners_kill_explains_nothing(self):
        run = self.handed_over(0.5)
        run.owner("c", ended=10.0)
        run.fault("kill", 10.0, 20.0, ["c"])
        self.assertIn("unexplained gap by log", self.kinds(run))

    def test_a_kill_long_ago_explains_nothing(self):
        run = self.killed(1.0)
        run.events["b"], run.samples["b"] = [], []
        run.led("b", 0, 11.0, 12.0, 2)
        run.led("other", 0, 12.2, None, 3)  # a planned move with a gap, within a's lease
        self.assertEqual(self.kinds(run), ["unexplained gap by log", "unexplained gap by witness"])

    def test_a_successor_that_died_before_it_was_heard_explains(self):
        """b led for a moment; a had read that and stopped; b was dead by then."""
        run = self.forge()
        run.owner("b", ended=10.0)
        run.led("a", 0, 0.0, 10.01, 1)
        run.led("b", 0, 9.99, None, 2)
        run.led("other", 0, 11.0, None, 3)
        run.fault("kill", 10.0, 20.0, ["b"])
        self.assertEqual(self.kinds(run), [])

    def paused(self, resumed, led_again):
        """a is stopped at 10 and its log says that it led until its lease ended."""
        run = self.forge()
        run.owner("a", pauses=[[10.0, resumed]])
        run.led("a", 0, 0.0, 12.9, 1)
        run.led("b", 0, led_again, None, 2)
        run.fault("pause", 10.0, resumed, ["a"])
        return run

    def test_a_paused_owner_does_not_lead_whatever_its_lease_says(self):
        self.assertEqual(self.kinds(self.paused(20.0, 10.0 + TAKEOVER - 0.1)), [])
        self.assertIn("too long gap by log", self.kinds(self.paused(20.0, 10.0 + TAKEOVER + 0.1)))

    def test_a_hang_is_noticed_after_the_hang_limit_only(self):
        """a led on until its lease was over; then nobody led."""
        for late, found in ((-0.1, []), (0.1, ["too long gap by log"])):
            run = self.forge()
            run.owner("a")
            run.led("a", 0, 0.0, 12.0, 1)
            run.owner("b")
            run.led("b", 0, 10.0 + 1.5 + TAKEOVER + late, None, 2)
            run.fault("hang", 10.0, 30.0, ["a"], noticed_after=1.5)
            self.assertEqual([kind for kind in self.kinds(run) if kind.endswith("log")], found)

    def test_a_cut_of_the_log_counts_from_its_end(self):
        run = self.handed_over(9.0 + TAKEOVER - 0.1, stop=11.0)
        run.fault("cut_log", 10.0, 20.0, ["a"], [0, 1])
        self.assertEqual(self.kinds(run), [])
        run = self.handed_over(9.0 + TAKEOVER + 0.1, stop=11.0)
        run.fault("cut_log", 10.0, 20.0, ["a"], [0, 1])
        self.assertIn("too long gap by log", self.kinds(run))

    def test_a_cut_of_the_coordinator_explains_nothing(self):
        run = self.handed_over(0.5)
        run.fault("cut_coordinator", 9.0, 20.0, ["a"])
        self.assertIn("unexplained gap by log", self.kinds(run))

    def test_a_ledger_fault_explains_its_own_logs(self):
        for log, kinds in ((0, []), (1, ["unexplained gap by log", "unexplained gap by witness"])):
            run = self.handed_over(1.0)
            run.fault("disk_full", 9.5, 10.5, logs=[log])
            self.assertEqual(self.kinds(run), kinds)

    def test_a_change_of_leader_delays_what_every_log_acknowledges(self):
        found = ["unexplained gap by log", "unexplained gap by witness"]
        felt = max(LEASE, rules.FOLLOWER_PAUSE)
        for after, kinds in ((felt - 0.1, []), (felt + 0.1, found)):
            run = self.handed_over(0.5)
            run.fault("leader_change", 9.8 - after, 10.0 - after, logs=[1])
            self.assertEqual(self.kinds(run), kinds)
        for kind, pause in (("leader_change", rules.FOLLOWER_PAUSE), ("cut_log", 0.0)):
            fault = rules.Fault(1, kind, 8.0, [], [1], rules.RULES[kind], 9.0)
            self.assertEqual(fault.replicated(), 9.0 + pause)

    def test_a_lease_that_is_regained_for_its_rest_lapses_for_the_same_reason(self):
        found = ["unexplained gap by log", "unexplained gap by witness"]
        for led_for, reason, kinds in ((0.001, "lapsed", []), (LEASE, "lapsed", found),
                                       (0.001, "gap", found)):
            run = self.forge(mode="exclusive")
            run.led("a", 0, 0.0, 9.9, 1, reason=reason)
            # No lease that was not renewed for it lasts so long.
            again = 10.5 + max(LEASE, rules.FOLLOWER_PAUSE)
            run.led("a", 0, again, again + led_for, 2, reason="lapsed")
            run.led("a", 0, again + led_for + 0.002, None, 3)
            run.fault("disk_full", 9.0, 10.0, logs=[0])
            self.assertEqual(self.kinds(run), kinds)

    def test_the_ledger_may_be_back_before_its_broker(self):
        run = self.handed_over(5.0 + rules.LEADER_SEARCH)
        run.fault("broker_crash", 9.0, 30.0, logs=[0, 1])
        self.assertEqual(self.kinds(run), [])
        run.script.append({"boot": 11.0, "what": "back", "n": 1})
        self.assertIn("too long gap by log", self.kinds(run))

    def test_a_further_classic_rebalance_takes_the_hang_limit_more(self):
        limit = TAKEOVER + FURTHER["classic"]
        run = self.killed(limit - 0.1, protocol="classic")
        self.assertIn("too long gap by log", self.kinds(run))
        run.owner("c")
        run.fault("coordinator_moved", 10.5, 10.5)
        self.assertEqual(self.kinds(run), [])
        run = self.killed(limit + 0.1, protocol="classic")
        run.fault("coordinator_moved", 10.0, 10.0)
        self.assertIn("too long gap by log", self.kinds(run))

    def test_a_classic_takeover_takes_no_longer_than_another(self):
        """Its one rebalance is over when the session of who died is."""
        for gap, kinds in ((TAKEOVER - 0.1, []),
                           (TAKEOVER + 0.1, ["too long gap by log", "too long gap by witness"])):
            self.assertEqual(self.kinds(self.killed(gap, protocol="classic")), kinds)

    def test_what_begins_when_it_should_be_over_delays_nobody(self):
        run = self.killed(TAKEOVER + 0.2)
        run.owner("c", ended=10.0 + TAKEOVER + 0.1)
        run.fault("kill", 10.0 + TAKEOVER + 0.1, 30.0, ["c"])
        self.assertIn("too long gap by log", self.kinds(run))

    def test_a_step_of_a_clock_delays_nobody(self):
        run = self.killed(TAKEOVER + 0.1)
        run.fault("clock_step", 11.0, 11.0)
        self.assertIn("too long gap by log", self.kinds(run))

    def test_a_second_fault_may_strike_the_successor(self):
        run = self.killed(2.5)
        self.assertIn("too long gap by log", self.kinds(run))
        run.owner("c", ended=11.0)
        run.fault("kill", 11.0, 30.0, ["c"])
        self.assertEqual(self.kinds(run), [])

    def test_an_overlap_is_found_in_exclusive_mode_only(self):
        for mode, overlaps in (("exclusive", 1), ("non_exclusive", 0)):
            run = self.forge(mode=mode)
            run.led("a", 0, 0.0, 10.001, 1)
            run.led("b", 0, 10.0, None, 2)
            report = run.judged()
            self.assertEqual(report["overlaps"] > 0, overlaps > 0, report)
            self.assertEqual(sum(row["overlaps"] for row in report["rows"]), report["overlaps"])

    def test_with_sanitizers_only_gaps_are_no_findings(self):
        self.assertEqual(self.kinds(self.handed_over(50.0, slow=6)), [])
        run = self.forge(mode="exclusive", slow=6)
        run.led("a", 0, 0.0, 10.001, 1)
        run.led("b", 0, 10.0, None, 2)
        self.assertIn("overlap", self.kinds(run))

    def test_a_planned_move_may_take_a_moment_in_exclusive_mode(self):
        report = self.handed_over(HANDOVER - 0.1, mode="exclusive").judged()
        self.assertEqual(report["findings"], [])
        self.assertAlmostEqual(max(row["longest_gap"] for row in report["rows"]),
                               HANDOVER - 0.1)
        self.assertEqual(self.kinds(self.handed_over(HANDOVER + 0.1, mode="exclusive")),
                         ["unexplained gap by log", "unexplained gap by witness"])

    def test_a_planned_move_may_wait_for_each_further_rebalance_in_exclusive_mode(self):
        found = ["unexplained gap by log", "unexplained gap by witness"]
        for protocol, once in FURTHER.items():
            alone = 0.2 + once + 0.4  # heartbeats, a rebalance, messages
            for gap, kinds in ((alone - 0.1, []), (alone + 0.1, found)):
                run = self.handed_over(gap, mode="exclusive", protocol=protocol)
                self.assertEqual(self.kinds(run), kinds)
            for gap, kinds in ((alone + once - 0.1, []), (alone + once + 0.1, found)):
                run = self.handed_over(gap, mode="exclusive", protocol=protocol)
                run.owner("c")
                run.fault("foreign_consumer", 9.9, 10.05)
                self.assertEqual(self.kinds(run), kinds)

    def test_a_rebalance_long_before_a_planned_move_was_over_by_then(self):
        """Those count that begin as long before it as one may take, or later."""
        for protocol, once in FURTHER.items():
            alone = 0.2 + once + 0.4
            for before, found in ((alone - 0.1, False), (alone + 0.1, True)):
                run = self.handed_over(alone + 0.1, mode="exclusive", protocol=protocol)
                run.owner("c")
                run.fault("foreign_consumer", 10.0 - before, 10.05)
                self.assertEqual("unexplained gap by log" in self.kinds(run), found)

    def test_with_sanitizers_messages_may_take_as_much_longer(self):
        """No gap is a finding then, but the report tells what was allowed."""
        for slow in (1, 6):
            for protocol, once in (("consumer", 0.4 * slow), ("classic", FURTHER["classic"])):
                limits = self.handed_over(0.0, protocol=protocol, slow=slow).judged()["limits"]
                self.assertAlmostEqual(limits["takeover"], TAKEOVER + 0.4 * (slow - 1))
                self.assertAlmostEqual(limits["further_rebalance"], once)
                self.assertAlmostEqual(limits["handover"], 0.2 + once + 0.4 * slow)

    def test_a_successor_that_was_paused_may_wait_a_lease_longer_in_exclusive_mode(self):
        limit = HANDOVER + LEASE
        for gap, kinds in ((limit - 0.1, []),
                           (limit + 0.1, ["unexplained gap by log", "unexplained gap by witness"])):
            run = self.handed_over(gap, mode="exclusive")
            run.owner("b", pauses=[[5.0, 9.0]])
            run.led("b", 0, 10.0 + gap, None, 2)
            run.fault("pause", 5.0, 9.0, ["b"])
            self.assertEqual(self.kinds(run), kinds)

    def test_a_witness_may_look_late_at_the_end_of_a_planned_move(self):
        for late, kinds_found in ((0.04, []), (0.2, ["unexplained gap by witness"])):
            run = self.forge(mode="exclusive")
            run.led("a", 0, 0.0, 10.0, 1)
            run.samples["a"][-1].update(boot=10.0 + late, prev=9.99)
            run.led("b", 0, 10.3, None, 2)
            self.assertEqual(self.kinds(run), kinds_found)

    def test_a_lapse_without_a_fault_is_found_in_exclusive_mode(self):
        run = self.forge(mode="exclusive")
        run.led("a", 0, 0.0, 10.0, 1, reason="lapsed")
        run.led("b", 0, 10.1, None, 2)
        self.assertEqual(self.kinds(run),
                         ["unexplained gap by log", "unexplained gap by witness"])

    def test_a_takeover_may_wait_for_the_lease_in_exclusive_mode(self):
        self.assertEqual(self.kinds(self.killed(TAKEOVER + LEASE - 0.1, mode="exclusive")), [])
        self.assertEqual(self.kinds(self.killed(TAKEOVER + LEASE + 0.1, mode="exclusive")),
                         ["too long gap by log", "too long gap by witness"])

    def test_owners_that_prepare_may_take_both_steps_more(self):
        limit = TAKEOVER + 2 * STEP
        for late, found in ((-0.1, []), (0.1, ["too long gap by log", "too long gap by witness"])):
            self.assertEqual(self.kinds(self.killed(limit + late, **WARM)), found)

    def test_a_planned_move_may_wait_for_who_warms_up_in_exclusive_mode(self):
        """The claimant warms up, and is overtaken by another one with both steps before it."""
        limit = HANDOVER + 3 * STEP
        for late, found in ((-0.1, []),
                            (0.1, ["unexplained gap by log", "unexplained gap by witness"])):
            run = self.handed_over(limit + late, mode="exclusive", **WARM)
            self.assertEqual(self.kinds(run), found)
        self.assertEqual(self.kinds(self.handed_over(0.1, **WARM)),
                         ["unexplained gap by log", "unexplained gap by witness"],
                         "in the other mode the old owner leads on meanwhile")

    def test_who_stops_what_it_only_warmed_up_did_nothing_wrong(self):
        for warm_ups, found in (([4.0], []), ([], ["log"]), ([6.0], ["log"])):
            run = self.handed_over(0.0, **WARM)
            run.events["b"].insert(0, {"partition": 0, "lane": 0, "boot": 5.0, "event": "stopped",
                                       "epoch": {"inc": 1, "offset": 2}})
            for at in warm_ups:
                run.warmed_up("b", 0, at)
            self.assertEqual(self.kinds(run), found)
        run = self.handed_over(0.0, **WARM)
        run.warmed_up("a", 0, 0.0)
        run.events["a"].append({"partition": 0, "lane": 0, "boot": 20.0, "event": "stopped",
                                "epoch": {"inc": 1, "offset": 3}})
        self.assertEqual(self.kinds(run), ["log"], "it had not warmed up again")

    def test_the_table_names_what_was_found(self):
        self.assertIn("FOUND unexplained gap", judge.table(self.handed_over(0.5).judged()))
        self.assertIn("verdict: clean", judge.table(self.handed_over(0.0).judged()))

    def test_every_kind_of_fault_has_a_rule(self):
        for source, known in rules.SOURCES.items():
            made = {"topic_made"}  # by the run itself, at its start
            self.assertEqual(set(kinds.kinds_of(source, 3)) | made, set(known))


if __name__ == "__main__":
    unittest.main()
