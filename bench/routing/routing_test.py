#!/usr/bin/python3
"""Which runs there are, and what the benchmark makes of them: exit codes of made-up ones."""
import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]
import routing  # noqa: E402
import table  # noqa: E402


def row(move="rest", failed=0, wrong=(), **more):
    """A run that came to its end."""
    return {"way": "any", "move": move, "mode": "exclusive", "calls": 100, "failed": failed,
            "failed_as": {}, "refusals": [],
            "values": {"wrong": list(wrong), "stale": 0, "repeats": 0, "applied_and_failed": 0},
            "late_ms": {"p99": 0.0, "worst": 0.0}, **more}


def options(*words):
    """The command line."""
    with mock.patch.object(sys, "argv", ["routing.py", *words]):
        return routing.arguments()


class Verdicts(unittest.TestCase):
    """Exit codes."""

    def verdict(self, *cells, drawn=True, quick=False):
        """(exit code, what was said)."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = routing.verdict(list(cells), drawn, quick)
        return code, said.getvalue()

    def test_a_failed_call_fails_the_quick_run_only(self):
        self.assertEqual(self.verdict(row(), row("rolling"), quick=True), (0, ""))
        self.assertEqual(self.verdict(row("rolling", failed=3)), (0, ""))
        code, said = self.verdict(row(), row("rolling", failed=3), quick=True)
        self.assertEqual(code, 1)
        self.assertIn("any, rolling: 3 of 100 calls failed", said)

    def test_a_wrong_value_fails_every_run_and_comes_first(self):
        self.assertEqual(self.verdict(row(wrong=["lost"]))[0], 1)
        self.assertEqual(self.verdict(row(wrong=["lost"]), {"problem": "no broker"})[0], 1)

    def test_what_the_victim_does_not_explain_fails_every_run(self):
        explained = {"failed_elsewhere": 0, "failed_without_key_later": 0, "failed_beyond_bound": 0}
        judged = {"kill": ("failed_elsewhere", "failed_without_key_later"),
                  "hang": ("failed_elsewhere", "failed_beyond_bound"),
                  "stop": ("failed_elsewhere", "failed_beyond_bound")}
        for move, kinds in judged.items():
            self.assertEqual(self.verdict(row(move, failed=3, **explained)), (0, ""))
            for what in explained:
                code, said = self.verdict(row(move, failed=3, **{**explained, what: 1}))
                self.assertEqual(code, int(what in kinds), (move, what))
                self.assertEqual(f"any, {move}: " in said, what in kinds)

    def test_what_could_not_be_carried_out(self):
        self.assertEqual(self.verdict(row(), {"problem": "no broker"}, quick=True)[0], 2)
        self.assertEqual(self.verdict(row(), drawn=False)[0], 2)


class Runs(unittest.TestCase):
    """What is run."""

    def test_the_quick_run_restarts_owners_behind_every_way_without_envoy(self):
        found = routing.runs_of(options("--quick"))
        self.assertEqual({way for _, _, way, move in found if move == "rolling"},
                         {"any", "gateway", "library"})
        self.assertEqual({move for _, _, _, move in found}, {"rest", "rolling"})

    def test_rounds_modes_ways_and_moves(self):
        found = routing.runs_of(options("--ways", "any,library", "--moves", "kill,hang",
                                        "--modes", "exclusive,non_exclusive", "--rounds", "2"))
        self.assertEqual(len(found), 16)
        self.assertIn((2, "non_exclusive", "library", "hang"), found)

    def test_how_long_an_owner_hangs_and_a_broker_is_away(self):
        made = routing.settings_of(options("--hang", "15", "--outage", "4"), "exclusive", 1)
        self.assertEqual((made.hang_s, made.outage_s), (15, 4))


class Notes(unittest.TestCase):
    """What of a run has no column."""

    def test_only_a_broker_that_was_stopped_was_away(self):
        self.assertEqual(table.notes(row("kill", outage_s=0.0, lease_ms=2250)), [])
        self.assertEqual(table.notes(row("broker", outage_s=4.5, lease_ms=2250)),
                         ["any broker exclusive: the broker was away for 4.50 s, T is 2.25 s"])

    def test_calls_without_a_key(self):
        some = {"calls": 5000, "failed": 4, "failed_as": {"broken": 3, "refused": 1}}
        about = "any kill exclusive: without an idempotency key 4 of 5,000 failed (broken: 3, " \
            "refused: 1)"
        self.assertEqual(table.notes(row("kill", without_key=some)), [about])
        self.assertEqual(
            table.notes(row("kill", without_key=some, failed_with_key=0,
                            failed_without_key_later=1)),
            [about + ", of them 1 begun after the victim was gone; with one 0 failed"])


if __name__ == "__main__":
    unittest.main()
