#!/usr/bin/python3
"""The churn bench must count right: hand-made steps with every kind of move, and the walk."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import churn  # noqa: E402
import prediction  # noqa: E402
import steps  # noqa: E402
import table  # noqa: E402
import walk  # noqa: E402
from harness.checker import Epoch, Interval  # noqa: E402

JOIN = walk.Event("join", "c")
KILL = walk.Event("kill", "a")


def led(partition, *pieces):
    """Intervals of one partition: (process, from, to), epochs in their order."""
    return [Interval(process, 0, partition, start, end, [Epoch(1, number)], "superseded")
            for number, (process, start, end) in enumerate(pieces)]


def noted(event, before, after, members):
    """A step from 100 on, with its two assignments as a text of owners."""
    return steps.Noted(event, 100.0, 101.0, dict(enumerate(before)), dict(enumerate(after)),
                       tuple(members), ())


class Counts(unittest.TestCase):
    """What the assignments say."""

    def test_a_join_that_moves_the_least(self):
        found = steps.counts(noted(JOIN, "aaabbb", "aacbbc", "abc"))
        self.assertEqual(found, {"moved": 2, "least": 2, "unavoidable": 0, "excess": 0, "gain": 2,
                                 "balanced": True})

    def test_a_join_that_also_shifts_between_those_who_stay(self):
        found = steps.counts(noted(JOIN, "aaabbb", "ccaabb", "abc"))
        self.assertEqual((found["moved"], found["least"], found["excess"]), (3, 2, 1))

    def test_a_kill_moves_what_had_no_other_choice(self):
        found = steps.counts(noted(KILL, "aabbcc", "bcbbcc", "bc"))
        self.assertEqual((found["moved"], found["least"], found["unavoidable"], found["excess"]),
                         (2, 2, 2, 0))

    def test_who_got_nothing_is_not_balanced(self):
        self.assertFalse(steps.counts(noted(JOIN, "aaabbb", "aaabbb", "abc"))["balanced"])


class Measured(unittest.TestCase):
    """What the logs say."""

    def row(self, before, after, *intervals, event=JOIN, members="abc", end=110.0):
        return steps.measured(noted(event, before, after, members), end, sum(intervals, []))

    def test_a_gap_and_when_it_converged(self):
        row = self.row("ab", "cb", led(0, ("a", 1, 100.25), ("c", 100.5, 200)),
                       led(1, ("b", 1, 200)))
        self.assertEqual(row["gap_ms"], {"median": 250.0, "p90": 250.0, "worst": 250.0})
        self.assertEqual((row["overlap_ms"]["worst"], row["converged_s"]), (0.0, 0.5))
        self.assertEqual((row["came_back"], row["moved_twice"], row["interrupted"]), (0, 0, 0))
        self.assertEqual(row["stops"], {"superseded": 1})

    def test_what_a_killed_one_led_is_counted_apart(self):
        killed = led(0, ("a", 1, 100.0), ("b", 103.0, 200))
        killed[0].reason = ""
        row = self.row("ab", "bc", killed, led(1, ("b", 1, 103.1), ("c", 103.2, 200)), event=KILL)
        self.assertEqual((row["killed_gap_ms"]["worst"], row["gap_ms"]["worst"]), (3000.0, 100.0))
        self.assertEqual(row["stops"], {"killed": 1, "superseded": 1})

    def test_an_overlap(self):
        row = self.row("a", "c", led(0, ("a", 1, 100.75), ("c", 100.5, 200)))
        self.assertEqual((row["gap_ms"]["worst"], row["overlap_ms"]["worst"]), (0.0, 250.0))

    def test_away_and_back_is_no_move_but_a_double_one(self):
        row = self.row("a", "a", led(0, ("a", 1, 100.1), ("c", 100.2, 100.3), ("a", 100.4, 200)))
        self.assertEqual((row["moved"], row["came_back"], row["moved_twice"]), (0, 1, 0))

    def test_moved_twice(self):
        row = self.row("a", "c", led(0, ("a", 1, 100.1), ("b", 100.2, 100.3), ("c", 100.4, 200)))
        self.assertEqual((row["moved"], row["came_back"], row["moved_twice"]), (1, 0, 1))

    def test_what_stays_and_was_led_by_nobody_for_a_while(self):
        row = self.row("a", "a", led(0, ("a", 1, 100.1), ("a", 100.4, 200)))
        self.assertEqual((row["interrupted"], row["came_back"]), (1, 0))
        self.assertAlmostEqual(row["interrupted_ms"]["worst"], 300, 3)

    def test_what_moves_after_the_next_event_is_not_this_steps(self):
        row = self.row("a", "a", led(0, ("a", 1, 110.1), ("c", 110.2, 200)))
        self.assertEqual((row["moved"], row["came_back"], row["gap_ms"]), (0, 0, None))

    def test_a_move_that_no_log_shows_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, r"no change of leader in the logs: \[0\]"):
            self.row("a", "c", led(0, ("a", 1, 200)))

    def test_a_timeline_is_relative_to_the_event_and_cut_around_it(self):
        line = steps.timeline(noted(JOIN, "a", "c", "abc"), 99.8, 110,
                              led(0, ("a-1", 1, 100.25), ("c-2", 100.5, 200)),
                              {"a-1": "a", "c-2": "c"})
        self.assertEqual(line["intervals"], [[0, "a", -0.2, 0.25], [0, "c", 0.5, 1.5]])
        self.assertEqual((line["from"], line["to"]), (-0.2, 1.5))


class Compared(unittest.TestCase):
    """Against the simulator."""
    FORETOLD = {"moved": 3, "unavoidable": 3, "excess": 0, "gain": 2, "least_from_here": 3}

    def row(self, **changed):
        return {"moved": 3, "least": 3, "unavoidable": 3, "excess": 0, "gain": 2, "rejoined": [],
                "stops": {"superseded": 3}, **changed}

    def test_by_rank_every_count_must_agree(self):
        row = steps.with_prediction(self.row(gain=3), self.FORETOLD, sticky=False)
        self.assertEqual(row["differs"], ["gain"])

    def test_of_the_sticky_only_the_count_of_moved(self):
        row = steps.with_prediction(self.row(gain=3), self.FORETOLD, sticky=True)
        self.assertEqual(row["differs"], [])
        row = steps.with_prediction(self.row(moved=4), self.FORETOLD, sticky=True)
        self.assertEqual(row["differs"], ["moved"])

    def test_the_reason_is_the_logs(self):
        def why(**changed):
            return steps.why(steps.with_prediction(self.row(**changed), self.FORETOLD, True))
        self.assertIn("both moved the least", why(moved=4, least=4, unavoidable=4))
        self.assertIn("had lost node-07", why(moved=4, rejoined=["node-07"]))
        self.assertIn("2 leases lapsed", why(moved=4, stops={"lapsed": 2}))
        self.assertIn("the assignor's doing", why(moved=4))


class Failures(unittest.TestCase):
    """What ends the bench with exit code 1, where a member assigns."""

    def cell(self, moved, stops, assignor="assigner"):
        return {"assignor": assignor, "protocol": "assigner", "sticky": True, "partitions": 64,
                "violations": [], "steps": [{"event": "join c", "moved": moved, "least": 2,
                                             "balanced": True, "differs": [], "stops": stops}]}

    def test_an_assigner_must_move_the_least(self):
        self.assertEqual(churn.failures([self.cell(2, {"superseded": 2})]), [])
        self.assertEqual(churn.failures([self.cell(3, {"superseded": 3})]),
                         ["assigner, 64 partitions, join c: moved 3, least 2"])

    def test_not_where_leases_lapsed(self):
        self.assertEqual(churn.failures([self.cell(3, {"superseded": 2, "lapsed": 1})]), [])

    def test_nor_must_a_sticky_assignor_of_a_group(self):
        self.assertEqual(churn.failures([self.cell(3, {"superseded": 3}, "uniform")]), [])


class Summary(unittest.TestCase):
    """The line of a cell: the rolling restart stands for itself."""

    def test_the_rolling_restart_is_apart_from_what_was_planned(self):
        rows = [{"event": event, "kind": event.split()[-2], "moved": 2, "least": 2, "excess": 0,
                 "came_back": 0, "moved_twice": 0, "differs": [], "simulated": {"moved": 2},
                 "gap_ms": None, "killed_gap_ms": None, "overlap_ms": None, "converged_s": seconds}
                for event, seconds in (("join c", 0.1), ("kill a", 3.0), ("rolling leave b", 0.5),
                                       ("rolling join d", 0.7))]
        text = table.summary({
            "machine": {"cores": 2, "processor": "test"}, "versions": {"kafka": "4.1.1"},
            "session_ms": 3000, "heartbeat_ms": 300, "mode": "exclusive", "seed": 1,
            "cells": [{"assignor": "assigner", "partitions": 64, "steps": rows}]})
        self.assertRegex(text, r"assigner +64 .* 0\.10 s +3\.00 s +0\.60 s\n")


class Walks(unittest.TestCase):
    """From 2 to the peak to 3."""

    def test_it_reaches_the_peak_and_comes_down(self):
        for peak in (4, 5, 12, 30):
            for seed in range(20):
                made = walk.make(peak, seed)
                present, sizes = set(made.first), [len(made.first)]
                for event in made.events:
                    self.assertEqual(event.kind != "join", event.name in present, event)
                    present ^= {event.name}
                    sizes.append(len(present))
                self.assertEqual((sizes[0], max(sizes), sizes[-1]), (2, peak, 3))
                self.assertGreaterEqual(min(sizes), 2)
                names = [*made.first, *(e.name for e in made.events if e.kind == "join")]
                self.assertEqual(len(names), len(set(names)))
                self.assertEqual({e.kind for e in made.events}, {"join", "leave", "kill"})

    def test_it_ends_with_a_rolling_restart(self):
        made = walk.make(12, 1)
        rolling = [event for event in made.events if event.rolling]
        self.assertEqual(made.events[-6:], tuple(rolling))
        self.assertEqual([event.kind for event in rolling], ["leave", "join"] * 3)
        before = set(made.first)
        for event in made.events[:-6]:
            before ^= {event.name}
        self.assertEqual({event.name for event in rolling if event.kind == "leave"}, before)

    def test_the_seed_decides(self):
        self.assertEqual(walk.make(12, 7), walk.make(12, 7))
        self.assertNotEqual(walk.make(12, 7), walk.make(12, 8))

    def test_a_peak_that_cannot_be(self):
        for peak in (3, 34):
            with self.assertRaises(ValueError):
                walk.make(peak, 1)

    def test_its_trace(self):
        made = walk.Walk(("a", "b"), (JOIN, KILL))
        self.assertEqual(prediction.trace_text(made, {"a": "x", "b": "y", "c": "z"}),
                         "0 join x\n0 join y\n10 join z\n20 crash x\n")


if __name__ == "__main__":
    unittest.main()
