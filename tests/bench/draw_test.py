#!/usr/bin/python3
"""The pictures of rebalances, which no quick run draws, from synthetic timelines.

What is drawn here was made up: it stays in a temporary folder.
"""
import os
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "bench" / "report")]
from harness import deps  # noqa: E402

PYTHON = deps.cache_folder() / "python" / "bin" / "python"
if Path(sys.prefix).resolve() != PYTHON.parents[1].resolve():
    if not PYTHON.is_file():
        sys.exit(f"{PYTHON} not found: run `scripts/setup --tests`")
    os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])

import draw  # noqa: E402
import draw_runs  # noqa: E402
import json  # noqa: E402

PARTITIONS = 60
FOOTER = "SYNTHETIC: made up to test the drawing"


def synthetic(assignor, processes, gap):
    """A cell in which the last process takes over every partition divisible by `processes`."""
    rows = []
    for partition in range(PARTITIONS):
        before = f"node-{partition % (processes - 1):02}"
        if partition % processes:
            rows.append([partition, before, -0.5, 2.0])
        else:
            at = 0.2 + partition / 100
            rows += [[partition, before, -0.5, at],
                     [partition, f"node-{processes - 1:02}", at + gap, 2.0]]
    event = f"join node-{processes - 1:02}"
    return {"assignor": assignor, "partitions": PARTITIONS,
            "steps": [{"event": event, "moved": PARTITIONS // processes, "least": 5}],
            "timeline": {"event": event, "members": processes, "from": -0.5, "to": 2.0,
                         "intervals": rows}}


class Rebalance(unittest.TestCase):
    """What is computed of a timeline, and that it is drawn."""

    def test_unavailability_is_the_time_between_two_owners(self):
        cell = synthetic("range", 6, 0.05)
        values = draw_runs.unavailable_ms(cell, draw_runs.led_spans(cell))
        self.assertEqual([round(value) for value in values], [0] * 50 + [50] * 10)

    def test_an_overlap_is_no_unavailability(self):
        cell = synthetic("uniform", 6, -0.05)
        self.assertEqual({round(v) for v in draw_runs.unavailable_ms(
            cell, draw_runs.led_spans(cell))}, {0})

    def test_a_partition_never_led_counts_all_along(self):
        cell = synthetic("range", 6, 0.05)
        cell["timeline"]["intervals"] = [row for row in cell["timeline"]["intervals"] if row[0]]
        values = draw_runs.unavailable_ms(cell, draw_runs.led_spans(cell))
        self.assertAlmostEqual(values[-1], 2000.0)

    def test_the_count_falls_by_what_is_between_two_owners(self):
        cell = synthetic("range", 6, 0.07)
        times, counts = draw_runs.led_count(draw_runs.led_spans(cell))
        until = next(i for i, at in enumerate(times) if at >= 2.0)
        self.assertEqual((counts[0], min(counts[:until]), counts[until - 1]), (60, 58, 60))

    def test_a_strip_shows_the_owners_and_nobody(self):
        cell = synthetic("range", 6, 0.5)
        names = [f"node-{i:02}" for i in range(6)]
        rows = draw_runs.strip(cell, names, 2.0)
        self.assertEqual(set(rows[1]), {1})
        self.assertEqual(set(rows[0]), {0, -1, 5})
        self.assertAlmostEqual(rows[0].count(-1), draw_runs.COLUMNS * 0.5 / 2.5, delta=2)

    def test_only_timelines_of_one_number_of_partitions_are_shown_together(self):
        cells = [synthetic("uniform", 6, 0.01), synthetic("range", 6, 0.01),
                 dict(synthetic("range", 6, 0.01), partitions=8)]
        found = draw_runs.timelines({"walk": {"cells": cells}})
        self.assertEqual([(cell["assignor"], cell["partitions"]) for cell in found],
                         [("range", 60), ("uniform", 60)])
        self.assertIsNone(draw_runs.owned({"walk": {"cells": [{"partitions": 8}]}}, FOOTER))

    def test_few_owners_and_many_are_drawn(self):
        for processes in (6, 12):
            cells = [synthetic(name, processes, 0.05) for name in draw_runs.CHURN]
            run = {"command": "synthetic", "result": {"cells": cells}}
            whole = {"quick": True, "commit": FOOTER, "began": "2026-01-01",
                     "machine": {"cores": 0, "processor": "no machine", "memory_gib": 0},
                     "versions": {"neliroute": "none"}, "parts": {"churn": {"runs": {"a": run}}}}
            with tempfile.TemporaryDirectory() as folder:
                out = Path(os.environ.get("NELIROUTE_DRAW_TEST_KEEP") or folder)
                (out / "bench.json").write_text(json.dumps(whole), encoding="utf-8")
                self.assertEqual(draw.draw(out), [])
                drawn = sorted(path.name for path in (out / "plots").iterdir())
            self.assertEqual(drawn, [f"{name}.{suffix}" for name in ("08-owned", "09-owners")
                                     for suffix in ("png", "svg")])


if __name__ == "__main__":
    unittest.main()
