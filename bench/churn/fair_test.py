#!/usr/bin/python3
"""Shares and the least that moves, against every assignment there is; and the weighted walk."""
import itertools
import random
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import fair  # noqa: E402
import weighted  # noqa: E402


def drawn(rng):
    """(owners, weights of who lives, pins) of a small case; owners may be dead, and pins too."""
    names = "abcd"[:rng.randint(1, 4)]
    weights = {name: rng.choice((0, 1, 1, 2, 3)) for name in names}
    if not any(weights.values()):
        weights["a"] = 1
    partitions = range(rng.randint(1, 5))
    owners = {partition: rng.choice([*names, "dead"]) for partition in partitions}
    pins = {partition: rng.choice([*names, "absent"]) for partition in partitions
            if rng.random() < 0.3}
    return owners, weights, pins


class Shares(unittest.TestCase):
    """Of cases in which all can be tried."""

    def test_the_least_is_what_the_best_of_all_fair_assignments_moves(self):
        rng, judged = random.Random(14), 0
        for _ in range(1500):
            owners, weights, pins = drawn(rng)
            names = sorted(weights)
            found = [dict(zip(owners, choice))
                     for choice in itertools.product(names, repeat=len(owners))]
            costs = [sum(one[p] != owners[p] for p in owners) for one in found
                     if fair.is_fair(one, weights, pins)]
            self.assertTrue(costs, (owners, weights, pins))
            self.assertEqual(fair.least_moves(owners, weights, pins), min(costs),
                             (owners, weights, pins))
            judged += min(costs) > 0
        self.assertGreater(judged, 1000)

    def test_weights_are_shares(self):
        self.assertEqual(fair.bounds_of({"a": 1, "b": 3, "c": 0}, {}, 8),
                         {"a": (2, 2), "b": (6, 6)})
        self.assertEqual(fair.bounds_of({"a": 1, "b": 2}, {}, 4), {"a": (1, 2), "b": (2, 3)})

    def test_who_is_pinned_more_than_its_share_has_just_that(self):
        self.assertEqual(fair.bounds_of({"a": 1, "b": 1, "c": 1}, {"a": 4}, 6),
                         {"a": (4, 4), "b": (1, 1), "c": (1, 1)})

    def test_a_pin_binds_while_its_process_lives(self):
        owners = dict(enumerate("aabb"))
        self.assertEqual(fair.least_moves(owners, {"a": 1, "b": 1}, {0: "gone"}), 0)
        self.assertEqual(fair.least_moves(owners, {"a": 1, "b": 1}, {0: "b"}), 2)
        self.assertFalse(fair.is_fair(owners, {"a": 1, "b": 1}, {0: "b"}))


class Walk(unittest.TestCase):
    """What happens, by its seed."""

    def test_the_same_seed_gives_the_same_walk_with_every_kind_of_event(self):
        made = weighted.walk_of(6, 64, 1)
        self.assertEqual(made, weighted.walk_of(6, 64, 1))
        self.assertNotEqual(made, weighted.walk_of(6, 64, 2))
        self.assertEqual({event.kind for event in made.events},
                         {"join", "leave", "kill", "weight", "pin", "unpin"})

    def test_a_process_may_always_own_something_and_overrides_name_living_ones(self):
        for seed in range(50):
            made = weighted.walk_of(6, 64, seed)
            state = weighted.State(made)
            for event in made.events:
                if event.kind in ("weight", "pin", "leave", "kill"):
                    self.assertIn(event.name, state.weights, f"seed {seed}: {event}")
                state.take(event)
                self.assertTrue(any(state.weights.values()), f"seed {seed}: {event}")


if __name__ == "__main__":
    unittest.main()
