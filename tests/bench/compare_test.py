#!/usr/bin/python3
"""scripts/bench --compare must flag what got worse, and nothing else; figures are made up."""
import contextlib
import copy
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "report"))
import compare  # noqa: E402
import extract  # noqa: E402
from extract import Figure  # noqa: E402

FIGURES = (
    Figure("route over hash", 3.0, "x hash", ratio=True, noise=0.02, floor=0.05),
    Figure("handover", 4.0, "ms", noise=0.05, floor=0.5),
    Figure("planned gap", 0.0, "ms", floor=1.0),
    Figure("throughput", 100.0, "1/s", worse="lower"),
    Figure("noisy", 10.0, "ms", noise=0.3),
    Figure("violations", 0, "", ratio=True),
)


def whole(**changed):
    """A bench.json whose figures have these values instead (spaces as underscores)."""
    rows = []
    for figure in FIGURES:
        row = figure.as_row()
        row["value"] = changed.get(figure.name.replace(" ", "_"), row["value"])
        rows.append(row)
    run = {"parameters": {"arguments": ["--slots", "16"], "settings": {"session": "3s"}},
           "figures": rows}
    return {"format": compare.FORMAT, "what": compare.WHAT, "quick": False, "commit": "abc",
            "began": "2026-01-01", "machine": {"processor": "one", "cores": 2},
            "parts": {"part": {"runs": {"run": run}}}}


class Compare(unittest.TestCase):
    """Two files, the exit code, and what is printed."""

    def compare(self, old, new, threshold=0.10):
        """(exit code, output)."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, content in (("old", old), ("new", new)):
                paths.append(Path(folder) / f"{name}.json")
                paths[-1].write_text(content if isinstance(content, str)
                                     else json.dumps(content), encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                code = compare.compare(*paths, threshold)
        return code, output.getvalue()

    def flagged(self, **changed):
        """The names of what is flagged, where only these values changed."""
        code, output = self.compare(whole(), whole(**changed))
        names = [line.split(": ", 1)[1] for line in output.splitlines()
                 if line.startswith("REGRESSION")]
        self.assertEqual(code, 1 if names else 0, output)
        return [figure.name for figure in FIGURES
                if any(name.startswith(figure.name) for name in names)]

    def refusal(self, old, new):
        """The message with which it refuses."""
        with self.assertRaises(compare.Refused) as found:
            self.compare(old, new)
        return str(found.exception)

    def test_the_same_is_no_regression(self):
        self.assertEqual(self.flagged(), [])

    def test_a_planted_regression_is_flagged_alone(self):
        self.assertEqual(self.flagged(route_over_hash=3.6), ["route over hash"])
        self.assertEqual(self.flagged(handover=5.0), ["handover"])
        self.assertEqual(self.flagged(throughput=80.0), ["throughput"])

    def test_better_is_no_regression(self):
        self.assertEqual(self.flagged(route_over_hash=2.0, throughput=200.0), [])
        self.assertIn("better", self.compare(whole(), whole(throughput=200.0))[1])

    def test_below_the_threshold_is_no_regression(self):
        self.assertEqual(self.flagged(route_over_hash=3.2, throughput=95.0), [])

    def test_the_threshold_can_be_another(self):
        self.assertEqual(self.compare(whole(), whole(throughput=95.0), 0.02)[0], 1)
        self.assertEqual(self.compare(whole(), whole(throughput=60.0), 0.80)[0], 0)

    def test_noise_is_allowed_for_and_more_than_noise_is_not(self):
        self.assertEqual(self.flagged(noisy=17.0), [])
        self.assertEqual(self.flagged(noisy=20.0), ["noisy"])

    def test_from_nothing_to_something_is_flagged_above_the_floor(self):
        self.assertEqual(self.flagged(planned_gap=0.9), [])
        self.assertEqual(self.flagged(planned_gap=1.5), ["planned gap"])
        self.assertEqual(self.flagged(violations=1), ["violations"])

    def test_from_something_to_nothing_is_better(self):
        self.assertEqual(self.compare(whole(planned_gap=5.0), whole())[0], 0)

    def test_a_figure_that_is_gone_is_flagged(self):
        new = whole()
        del new["parts"]["part"]["runs"]["run"]["figures"][0]
        code, output = self.compare(whole(), new)
        self.assertEqual(code, 1)
        self.assertIn("GONE", output)

    def test_on_another_machine_only_ratios_are_judged(self):
        new = whole(route_over_hash=3.6, noisy=1000.0)
        new["machine"]["processor"] = "another"
        code, output = self.compare(whole(), new)
        self.assertEqual(code, 1)
        self.assertIn("different machines", output)
        self.assertEqual(output.count("REGRESSION"), 1)

    def test_refuses_another_format(self):
        new = whole()
        new["format"] = compare.FORMAT + 1
        self.assertIn("format", self.refusal(whole(), new))
        self.assertIn("was not written by scripts/bench", self.refusal(whole(), [1]))
        self.assertIn("is not JSON", self.refusal("{", whole()))

    def test_refuses_other_parameters_and_names_them(self):
        new = whole()
        new["parts"]["part"]["runs"]["run"]["parameters"]["settings"]["session"] = "1s"
        message = self.refusal(whole(), new)
        for word in ("part run", "settings session", "'3s'", "'1s'"):
            self.assertIn(word, message)

    def test_refuses_quick_against_full_and_nothing_in_common(self):
        new = whole()
        new["quick"] = True
        self.assertIn("quick", self.refusal(whole(), new))
        new = whole()
        new["parts"] = {"other": new["parts"]["part"]}
        self.assertIn("no run in common", self.refusal(whole(), new))

    def test_refuses_another_unit(self):
        new = copy.deepcopy(whole())
        new["parts"]["part"]["runs"]["run"]["figures"][1]["unit"] = "s"
        self.assertIn("another unit", self.refusal(whole(), new))


def repetition(name, time):
    """One row of Google Benchmark."""
    return {"name": name, "run_type": "iteration", "cpu_time": time, "time_unit": "ns"}


class Extract(unittest.TestCase):
    """From a bench's JSON to figures."""

    def test_lookups_are_held_against_the_hash_of_the_same_key_and_threads(self):
        rows = [repetition("hash_only/key:16/threads:1", 2.0),
                repetition("hash_only/key:16/threads:1", 2.2),
                repetition("hash_only/key:32/threads:1", 3.0),
                repetition("hash_only/key:32/cold/threads:1", 4.0),
                repetition("route/key:32/processes:3/cold/threads:1", 10.0),
                repetition("route/key:32/processes:3/cold/threads:1", 9.0),
                {"name": "route/key:32/processes:3/cold/threads:1", "run_type": "aggregate",
                 "cpu_time": 1.0, "time_unit": "ns"},
                repetition("other/key:8/threads:1", 1.0)]
        made = {figure.name: figure for figure in extract.lookup({"benchmarks": rows})}
        route = made["route/key:32/processes:3/cold/threads:1"]
        self.assertEqual((route.value, route.ratio), (9.0 / 4.0, True))
        self.assertGreater(route.noise, 0)
        self.assertEqual(made["hash_only/key:16/threads:1"].value, 2.0)
        self.assertFalse(made["hash_only/key:16/threads:1"].ratio)
        self.assertNotIn("other/key:8/threads:1", made)

    def test_a_median_carries_its_spread(self):
        [made] = extract.median_of("a", [1.0, 2.0, 3.0, 4.0, 5.0], "ms")
        self.assertEqual((made.value, made.noise), (3.0, 1 / 3))
        self.assertEqual(extract.median_of("a", [], "ms"), [])

    def test_failover_counts_violations_and_moves(self):
        result = {"violations": ["a"], "exclusive_violations": ["b"],
                  "kill_over_session": [1.0, 1.2, 1.1], "planned_leave_gap_ms": [0.0, 7.0],
                  "exclusive_handover_gap_ms": [4.0], "cpu_percent_of_a_core": [2.0],
                  "resident_mib": [16.0], "moves": [{"moved": 6, "least": 4},
                                                    {"moved": 6, "least": 4}]}
        made = {figure.name: figure.value for figure in extract.failover(result)}
        self.assertEqual(made["violations"], 2)
        self.assertEqual(made["moved"], 1.5)
        self.assertEqual(made["kill to all led"], 1.1)
        self.assertEqual(made["planned leave, longest gap"], 7.0)

    def test_a_cell_of_the_matrix_that_failed_is_counted(self):
        cell = {"protocol": "consumer", "session_ms": 500, "mode": "exclusive", "processes": 3,
                "partitions": 8, "problem": "", "taken_ms": {"kill": [500.0, 600.0, 550.0]},
                "gap_ms": {"leave": [0.0, 3.0]}, "handover_gap_ms": [4.0],
                "moves": [{"moved": 4, "least": 4}], "violations": []}
        failed = {**{key: cell[key] for key in ("protocol", "session_ms", "mode", "processes",
                                                "partitions")}, "problem": "broker: gone"}
        made = {figure.name: figure for figure in extract.matrix({"cells": [cell, failed]})}
        where = "consumer 500 exclusive 3x8"
        self.assertEqual((made[f"{where} kill"].value, made[f"{where} kill"].ratio), (1.1, True))
        self.assertEqual(made[f"{where} leave gap"].value, 3.0)
        self.assertEqual(made[f"{where} failures"].value, 0)
        self.assertEqual(made[f"{where} failures (2)"].value, 1)

    def test_ours_over_a_peer_is_a_ratio_its_time_is_not(self):
        row = {"system": "etcd", "session_ms": None, "processes": 3, "roles": 256, "problem": "",
               "times_ms": [900.0, 1100.0, 1000.0], "ours_over_it": 0.5}
        made = {figure.name: figure for figure in extract.peers({"cells": [row]})}
        self.assertEqual(made["etcd - 3x256 kill"].value, 1000.0)
        self.assertFalse(made["etcd - 3x256 kill"].ratio)
        self.assertEqual(made["ours over etcd - 3x256"].value, 0.5)
        self.assertTrue(made["ours over etcd - 3x256"].ratio)

    def test_cost_without_a_watcher_has_no_figures_of_one(self):
        use = {"cpu_percent": 0.8, "resident_mib": 16.0}
        row = {"name": "a", "owner": use, "watcher": None, "broker_cpu_percent": 5.0,
               "records_s": 30.0, "most_records_s": 32.0}
        made = {figure.name: figure.value for figure in extract.cost({"cells": [row]})}
        self.assertEqual(made, {"a owner cpu": 0.8, "a owner memory": 16.0, "a broker cpu": 5.0,
                                "a records": 30 / 32})

    def test_churn_sums_a_cell_and_counts_what_must_not_be(self):
        def step(kind, moved, twice, differs):
            return {"kind": kind, "moved": moved, "least": 4, "came_back": 0, "differs": differs,
                    "moved_twice": twice, "gap_ms": {"median": 5.0}, "converged_s": 1.0}
        cell = {"assignor": "range", "partitions": 64, "violations": ["x"],
                "steps": [step("join", 8, 1, []), step("kill", 6, 2, ["gain"])]}
        made = {figure.name: figure.value for figure in extract.churn({"cells": [cell]})}
        self.assertEqual(made, {
            "range 64 moved": 14 / 8, "range 64 double moves": 3, "range 64 not as simulated": 1,
            "range 64 violations": 1, "range 64 planned gap": 5.0,
            "range 64 planned converged": 1.0})


if __name__ == "__main__":
    unittest.main()
