#!/usr/bin/python3
"""What is made of the owners' times of claims, and which rows a matrix has; all made up."""
import sys
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402
import readbacks  # noqa: E402
from harness.children import boot_now  # noqa: E402

TEXT = """# TYPE neliroute_claim_round_trip_seconds histogram
neliroute_claim_round_trip_seconds_bucket{{process="a",le="+Inf"}} {count}
neliroute_claim_round_trip_seconds_sum{{process="a"}} {seconds}
neliroute_claim_round_trip_seconds_count{{process="a"}} {count}
neliroute_renewal_round_trip_seconds_sum{{process="a"}} 99
neliroute_renewal_round_trip_seconds_count{{process="a"}} 9
"""


class Times(unittest.TestCase):
    """Of owners that say what we let them say."""

    def setUp(self):
        self.said = {}
        self.readbacks = readbacks.Readbacks(
            lambda owner: TEXT.format(seconds=self.said[owner.key][0],
                                      count=self.said[owner.key][1]))

    def mean(self, **said):
        """Of these owners, which now say (seconds, count)."""
        self.said.update(said)
        return self.readbacks.mean_ms_since_last([types.SimpleNamespace(key=key) for key in said])

    def test_counts_what_is_new_of_each_owner(self):
        self.assertAlmostEqual(self.mean(a=(1.0, 10), b=(2.0, 10)), 150.0)
        self.assertAlmostEqual(self.mean(a=(1.008, 12), b=(2.0, 10)), 4.0)
        self.assertAlmostEqual(self.mean(a=(1.008, 12), c=(0.006, 2)), 3.0, msg="c is new")

    def test_nobody_is_asked_again_before_there_is_a_newer_text(self):
        self.mean(a=(1.0, 10))
        began = boot_now()
        self.mean(a=(1.0, 10))
        self.assertGreater(boot_now() - began, 0.1, "admin/site.h: kFresh")

    def test_no_claim_is_no_figure(self):
        self.assertIsNone(self.mean(a=(0.0, 0)))

    def test_a_process_without_the_metric_is_an_error(self):
        with self.assertRaises(KeyError):
            readbacks.read("neliroute_renewal_round_trip_seconds_sum 1\n")


class Rows(unittest.TestCase):
    """What the matrix prints of planned moves."""

    def text(self, **more):
        """The matrix of one cell."""
        cell = {"protocol": "assigner", "session_ms": 500, "mode": "exclusive", "processes": 6,
                "partitions": 256, "problem": "", **more}
        return figures.matrix({
            "machine": {"cores": 2, "processor": "made up", "load_at_start": 0.0},
            "versions": {"neliroute": "made up"}, "cells": [cell]})

    def test_hand_overs_beside_claims_read_back_meanwhile(self):
        text = self.text(handover_by_ms={"leave": [5.0, 6.0, 9.0], "join": [], "rolling": []},
                         readback_ms={"leave": [4.0, 3.0, 5.0], "join": [], "rolling": []})
        self.assertRegex(text, r"planned leave, one partition +6\.0 +9\.0 +1\.50x? +3\n")
        self.assertRegex(text, r"planned leave, claim read back +4\.0 +5\.0 +3\n")
        self.assertNotIn("join", text.partition("Milliseconds")[0])

    def test_a_rolling_restart_has_its_gap_its_hand_overs_and_its_length(self):
        for mode in ("exclusive", "non_exclusive"):
            text = self.text(mode=mode, gap_ms={"rolling": [12.0, 14.0]}, rolling_s=[6.0, 8.0],
                             handover_by_ms={"rolling": [5.0, 6.0, 7.0]})
            self.assertRegex(text, r"rolling restart, gap +13\.0 +14\.0")
            self.assertRegex(text, r"rolling restart, whole +7000\.0 +8000\.0")
            self.assertRegex(text, r"rolling restart, one partition +6\.0 +7\.0 +3\n")


if __name__ == "__main__":
    unittest.main()
