#!/usr/bin/python3
"""The checker must find what it is there to find: every kind of violation, in hand-made logs."""
import itertools
import math
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import checker  # noqa: E402
from harness.checker import Life  # noqa: E402


def event(boot, kind, partition=0, epoch=(1, 0), reason=None, lane=0):
    """One line of `run --events`."""
    row = {"at": boot + 1e9, "boot": boot, "process": "a name", "id": "00", "event": kind,
           "partition": partition, "lane": lane, "mode": "exclusive",
           "epoch": {"inc": epoch[0], "offset": epoch[1]}}
    return {**row, "reason": reason} if reason else row


def led(start, end=None, partition=0, epoch=(1, 0), reason="superseded", lane=0):
    """The events of one ownership."""
    rows = [event(start, "acquired", partition, epoch, lane=lane)]
    if end is not None:
        rows.append(event(end, "stopped", partition, epoch, reason, lane=lane))
    return rows


def witness(boot, owns, prev=None, partition=0):
    """One line of the witness."""
    row = {"boot": boot, "slot": partition, "partition": partition, "owns": owns}
    return row if prev is None else {**row, "prev": prev}


def report(*processes):
    """A report of (life, events) or (life, events, samples)."""
    made = checker.Report()
    for process in processes:
        made.add(*process)
    return made


class Exclusive(unittest.TestCase):
    """Never two leaders of one partition and lane."""

    def overlaps(self, *processes):
        return checker.overlaps(report(*processes).intervals)

    def test_handover_in_order_is_clean(self):
        made = report((Life("a"), led(1, 2)), (Life("b"), led(2, 3, epoch=(1, 5))))
        self.assertEqual(made.violations(exclusive=True), [])
        self.assertEqual(made.transitions(), 1)

    def test_finds_an_overlap_and_its_length(self):
        found = self.overlaps((Life("a"), led(1, 2.5)), (Life("b"), led(2, 3, epoch=(1, 5))))
        self.assertEqual(len(found), 1)
        self.assertAlmostEqual(found[0].seconds, 0.5)
        self.assertIn("a partition 0", str(found[0]))
        self.assertIn("b partition 0", str(found[0]))

    def test_finds_an_overlap_hidden_behind_a_shorter_interval(self):
        found = self.overlaps((Life("a"), led(1, 10)), (Life("b"), led(2, 3, epoch=(1, 5))),
                              (Life("c"), led(4, 5, epoch=(1, 9))))
        self.assertEqual([f.start for f in sorted(found, key=lambda f: f.start)], [2, 4])

    def test_worst_comes_first(self):
        found = self.overlaps((Life("a"), led(1, 2.1) + led(1, 4, partition=1)),
                              (Life("b"), led(2, 9, epoch=(1, 5))
                               + led(2, 9, partition=1, epoch=(1, 5))))
        self.assertEqual([f.partition for f in found], [1, 0])

    def test_two_that_never_stopped_overlap_without_end(self):
        found = self.overlaps((Life("a"), led(1)), (Life("b"), led(2, epoch=(1, 5))))
        self.assertEqual(found[0].seconds, math.inf)

    def test_other_partitions_and_lanes_do_not_collide(self):
        self.assertEqual([], self.overlaps((Life("a"), led(1)), (Life("b"), led(1, partition=1)),
                                           (Life("c"), led(1, lane=1))))

    def test_same_name_is_two_processes(self):
        """Both write the same `process`: only the harness' key tells them apart."""
        self.assertEqual(1, len(self.overlaps((Life("twin-1"), led(1)), (Life("twin-2"), led(2)))))

    def test_killed_process_ends_at_the_kill(self):
        clean = self.overlaps((Life("a", ended=2), led(1)), (Life("b"), led(2.5, epoch=(1, 5))))
        self.assertEqual(clean, [])
        early = self.overlaps((Life("a", ended=2), led(1)), (Life("b"), led(1.5, epoch=(1, 5))))
        self.assertAlmostEqual(early[0].seconds, 0.5)

    def test_stopped_then_killed_ends_at_the_stop(self):
        life = Life("a", ended=9, pauses=[(2, None)])
        self.assertEqual([], self.overlaps((life, led(1)), (Life("b"), led(3, epoch=(1, 5)))))
        self.assertEqual(life.last_word(), 2)

    def test_stopped_and_woken_ends_where_its_own_log_says(self):
        life = Life("a", pauses=[(2, 8)])
        good = led(1, 2.4, reason="lapsed")
        self.assertEqual([], self.overlaps((life, good), (Life("b"), led(3, epoch=(1, 5)))))
        bad = led(1, 8.1, reason="lapsed")
        self.assertEqual(1, len(self.overlaps((life, bad), (Life("b"), led(3, epoch=(1, 5))))))

    def test_renumbered_ownership_is_one_interval(self):
        rows = [event(1, "acquired"), event(2, "acquired", epoch=(1, 7)),
                event(3, "stopped", epoch=(1, 7), reason="closed")]
        made = report((Life("a"), rows))
        self.assertEqual(len(made.intervals), 1)
        self.assertEqual((made.intervals[0].start, made.intervals[0].end), (1, 3))
        self.assertEqual(made.violations(exclusive=True), [])


class Epochs(unittest.TestCase):
    """Strictly greater at each new acquisition."""

    def kinds(self, *processes):
        return [f.kind for f in report(*processes).violations(exclusive=False)]

    def test_inc_counts_before_offset(self):
        self.assertEqual([], self.kinds((Life("a"), led(1, 2, epoch=(1, 900))),
                                        (Life("b"), led(3, 4, epoch=(2, 5)))))
        self.assertEqual(["epoch"], self.kinds((Life("a"), led(1, 2, epoch=(2, 5))),
                                               (Life("b"), led(3, 4, epoch=(1, 900)))))

    def test_finds_an_epoch_used_twice(self):
        self.assertEqual(["epoch"], self.kinds((Life("a"), led(1, 2)), (Life("b"), led(3, 4))))
        self.assertEqual(["epoch"], self.kinds((Life("a"), led(1, 2) + led(3, 4))))

    def test_lapsed_may_resume_with_the_same_epoch(self):
        self.assertEqual([], self.kinds((Life("a"), led(1, 2, reason="lapsed") + led(3, 4))))

    def test_not_after_somebody_else(self):
        self.assertEqual(["epoch"], self.kinds(
            (Life("a"), led(1, 2, reason="lapsed") + led(5, 6)),
            (Life("b"), led(3, 4, epoch=(1, 7)))))

    def test_finds_a_renumbering_that_does_not_grow(self):
        rows = [event(1, "acquired", epoch=(1, 7)), event(2, "acquired", epoch=(1, 7))]
        self.assertEqual(["log"], self.kinds((Life("a"), rows)))

    def test_who_drains_may_go_on_whatever_it_releases_meanwhile(self):
        rows = [event(1, "acquired", epoch=(1, 7)), event(2, "acquired", epoch=(1, 8)),
                event(3, "draining", epoch=(1, 8)), event(4, "released", epoch=(1, 7)),
                event(5, "acquired", epoch=(1, 8))]
        self.assertEqual([], self.kinds((Life("a"), rows)))
        self.assertEqual(["log"], self.kinds((Life("a"), [*rows, event(6, "acquired",
                                                                       epoch=(1, 8))])))

    def test_renumbering_counts_for_who_comes_next(self):
        rows = [event(1, "acquired"), event(2, "acquired", epoch=(1, 7)),
                event(3, "stopped", epoch=(1, 7), reason="superseded")]
        self.assertEqual(["epoch"], self.kinds((Life("a"), rows),
                                               (Life("b"), led(4, epoch=(1, 6)))))

    def test_finds_stops_and_drains_of_what_was_not_led(self):
        rows = [event(1, "stopped", reason="closed"), event(2, "draining")]
        self.assertEqual(["log", "log"], self.kinds((Life("a"), rows)))

    def test_finds_a_stop_before_its_beginning(self):
        self.assertEqual(["log"], self.kinds((Life("a"), led(5, 4))))


class Gaps(unittest.TestCase):
    """Non-exclusive: somebody leads at every instant asked about."""

    def gaps(self, processes, start=1, end=9, partitions=(0,), allowed=()):
        return checker.gaps(report(*processes).intervals, partitions, start, end, allowed)

    def test_overlapping_leaders_leave_none(self):
        self.assertEqual([], self.gaps([(Life("a"), led(1, 5)), (Life("b"), led(4, 9))]))

    def test_touching_intervals_leave_none(self):
        self.assertEqual([], self.gaps([(Life("a"), led(1, 5)), (Life("b"), led(5, 9))]))

    def test_finds_middle_first_and_last(self):
        found = self.gaps([(Life("a"), led(2, 4)), (Life("b"), led(5, 8.5))])
        self.assertEqual([(f.start, f.seconds) for f in found], [(1, 1), (4, 1), (8.5, 0.5)])

    def test_a_long_interval_covers_short_ones_inside(self):
        self.assertEqual([], self.gaps([(Life("a"), led(1, 9)), (Life("b"), led(2, 3))]))

    def test_a_partition_in_no_log_is_a_gap(self):
        found = self.gaps([(Life("a"), led(1, 9))], partitions=(0, 1))
        self.assertEqual([(f.partition, f.seconds) for f in found], [(1, 8)])

    def test_windows_excuse_what_they_cover_only(self):
        processes = [(Life("a"), led(1, 4)), (Life("b"), led(6, 9))]
        self.assertEqual([], self.gaps(processes, allowed=[(3.5, 6.5)]))
        self.assertEqual([], self.gaps(processes, allowed=[(3.5, 6.5, {0})]))
        self.assertEqual(1, len(self.gaps(processes, allowed=[(3.5, 6.5, {7})])))
        found = self.gaps(processes, allowed=[(4, 5)])
        self.assertEqual([(f.start, f.seconds) for f in found], [(5, 1)])

    def test_a_kill_ends_coverage(self):
        found = self.gaps([(Life("a", ended=3), led(1)), (Life("b"), led(4, 9))])
        self.assertEqual([(f.start, f.seconds) for f in found], [(3, 1)])

    def test_handover_times(self):
        made = report((Life("a"), led(1, 2)), (Life("b"), led(2.5, 9)))
        self.assertEqual([round(h[1], 6) for h in checker.handovers(made.intervals)], [0.5])
        self.assertEqual([], checker.handovers(made.intervals, start=3))


class Witness(unittest.TestCase):
    """The same by what owns() answered to a thread that only asks."""

    def test_finds_two_sure_answers(self):
        made = report((Life("a"), [], [witness(1, True, 0.999), witness(3, False, 2.999)]),
                      (Life("b"), [], [witness(2, True, 1.999)]))
        found = made.violations(exclusive=True)
        self.assertEqual([f.kind for f in found], ["overlap"])
        self.assertAlmostEqual(found[0].seconds, 0.999)

    def test_a_late_sample_is_no_overlap(self):
        """The thread was away from 1.9 to 2.5: its last yes was at 1.9, b began at 2."""
        made = report((Life("a"), [], [witness(1, True, 0.999), witness(2.5, False, 1.9)]),
                      (Life("b"), [], [witness(2, True, 1.999)]))
        self.assertEqual([], made.violations(exclusive=True))

    def test_without_prev_a_slack_is_taken_off(self):
        def found(late):
            made = report((Life("a"), [], [witness(1, True), witness(2 + late, False)]),
                          (Life("b"), [], [witness(2, True)]))
            return made.violations(exclusive=True)
        self.assertEqual([], found(checker.WITNESS_SLACK * 0.9))
        self.assertEqual(1, len(found(checker.WITNESS_SLACK * 3)))

    def test_a_yes_without_end_reaches_to_the_last_look(self):
        """a was killed at 9; its thread looked last at 2.5, or at 3.5, after b had begun."""
        def found(looked):
            made = report((Life("a", ended=9), [], [witness(1, True, 0.999),
                                                    {"boot": looked, "looked": True}]),
                          (Life("b"), [], [witness(3, True, 2.999), witness(4, False, 3.999)]))
            return made.violations(exclusive=True)
        self.assertEqual([], found(2.5))
        self.assertEqual(1, len(found(3.5)))

    def test_a_pause_is_no_answer(self):
        life = Life("a", pauses=[(2, 8)])
        other = (Life("b"), [], [witness(3, True, 2.999)])
        fenced = (life, [], [witness(1, True, 0.999), witness(8.001, False, 1.999)])
        self.assertEqual([], report(fenced, other).violations(exclusive=True))
        naive = (life, [], [witness(1, True, 0.999), witness(8.2, False, 8.199)])
        self.assertEqual(1, len(report(naive, other).violations(exclusive=True)))

    def test_what_it_says_after_waking_counts_from_waking(self):
        sure, _ = checker.witness_intervals([witness(1, True, 0.9), witness(9, False, 8.9)],
                                            Life("a", pauses=[(2, 8)]))
        self.assertEqual([(one.start, one.end) for one in sure],
                         [(1, 2 - checker.WITNESS_SLACK), (8, 8.9)])

    def test_after_waking_a_yes_counts_when_it_has_looked(self):
        """Before, it may have owned nothing, and something again: nobody looked."""
        def found(*looks):
            told = [{"boot": boot, "looked": True} for boot in (1.5, *looks)]
            sure, _ = checker.witness_intervals([witness(1, True, 0.9), *told,
                                                 witness(9, False, 8.9)],
                                                Life("a", pauses=[(2, 8)]))
            return [(one.start, one.end) for one in sure][1:]
        self.assertEqual([], found(8.05))
        self.assertEqual([(8.07, 8.9)], found(8.05, 8.07))

    def test_finds_a_gap_that_nobody_can_have_covered(self):
        made = report((Life("a"), led(1, 9), [witness(1, True, 0.9), witness(3, False, 2.999)]),
                      (Life("b"), [], [witness(4, True, 3.999)]))
        found = made.unled([0], 1, 9)
        self.assertEqual([(f.kind, f.start) for f in found], [("gap", 3)])
        self.assertAlmostEqual(found[0].seconds, 0.999)

    def test_no_gap_between_samples(self):
        made = report((Life("a"), led(1, 9), [witness(1, True, 0.9), witness(3, False, 2.999)]),
                      (Life("b"), [], [witness(3.0005, True, 2.9995)]))
        self.assertEqual([], made.unled([0], 1, 9))

    def test_gaps_are_not_judged_when_one_process_had_no_witness(self):
        made = report((Life("a"), led(1, 5), [witness(1, True), witness(5, False)]),
                      (Life("b"), led(4, 9), None))
        self.assertEqual([], made.unled([0], 1, 9))


class Moves(unittest.TestCase):
    """The closed form of hashing.md section 2 against trying every balanced assignment."""

    @staticmethod
    def brute(current, members):
        least, low = len(current), len(current) // len(members)
        high = -(-len(current) // len(members))
        for owners in itertools.product(members, repeat=len(current)):
            if all(low <= owners.count(member) <= high for member in members):
                least = min(least, sum(current[p] != owner for p, owner in enumerate(owners)))
        return least

    def test_against_brute_force(self):
        dice = random.Random(2)
        for _ in range(250):
            members = "abcd"[:dice.randint(1, 4)]
            current = {p: dice.choice(["gone", None, *members])
                       for p in range(dice.randint(1, 7))}
            self.assertEqual(checker.min_moves(current, members), self.brute(current, members),
                             (current, members))

    def test_from_a_balanced_state(self):
        """Joining one costs floor(S/(P+1)), leaving what the leaver held."""
        for slots, count in itertools.product(range(1, 60), range(1, 9)):
            current = {s: s % count for s in range(slots)}
            self.assertEqual(checker.min_moves(current, range(count + 1)), slots // (count + 1))
            if count > 1:
                held = sum(owner == 0 for owner in current.values())
                self.assertEqual(checker.min_moves(current, range(1, count)), held)

    def test_moved(self):
        self.assertEqual(checker.moved({0: "a", 1: "b", 2: None}, {0: "a", 1: "c", 2: "a"}), [1])
        self.assertEqual(checker.moved({0: "a"}, {}), [0])

    def test_balanced(self):
        self.assertTrue(checker.balanced([3, 2, 3]))
        self.assertFalse(checker.balanced([3, 1]))

    def test_nobody_to_move_to(self):
        self.assertRaises(ValueError, checker.min_moves, {0: "a"}, [])


if __name__ == "__main__":
    unittest.main()
