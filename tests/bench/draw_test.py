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
import draw_lookup  # noqa: E402
import draw_runs  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402

_SPEC = importlib.util.spec_from_file_location(
    "routing_draw", REPOSITORY / "bench" / "routing" / "draw.py")
routing_draw = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(routing_draw)

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


def whole(part, result):
    """A bench.json of one run."""
    return {"quick": True, "commit": FOOTER, "began": "2026-01-01",
            "machine": {"cores": 0, "processor": "no machine", "memory_gib": 0},
            "versions": {"neliroute": "none"},
            "parts": {part: {"runs": {"table": {"result": result}}}}}


def drawn(made):
    """The names of the files that come of it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(os.environ.get("NELIROUTE_DRAW_TEST_KEEP") or folder)
        (out / "bench.json").write_text(json.dumps(made), encoding="utf-8")
        large = draw.draw(out)
        return large, sorted(path.name for path in (out / "plots").iterdir())


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
            self.assertEqual(drawn(whole("churn", {"cells": cells})),
                             ([], [f"{name}.{suffix}" for name in ("08-owned", "09-owners")
                                   for suffix in ("png", "svg")]))


class Peers(unittest.TestCase):
    """Ours beside others."""

    def test_peers_are_drawn_and_the_title_has_the_medians(self):
        def row(system, session_ms, *times):
            return {"system": system, "session_ms": session_ms, "processes": 6, "roles": 256,
                    "times_ms": list(times)}
        rows = [row("neliroute", 3000, 3100.0), row("neliroute", 500, 520.0, 560.0, 540.0),
                row("zookeeper", 500, 600.0), row("zookeeper", 3000, 3200.0),
                row("etcd", None, 1200.0), row("zookeeper", 300)]
        self.assertEqual(drawn(whole("peers", {"cells": rows})),
                         ([], ["11-peers.png", "11-peers.svg"]))
        title = draw_runs.peers_title([one for one in rows if one["times_ms"]], (6, 256))
        self.assertTrue(title.endswith("neliroute 540 ms (session 500), zookeeper 600 ms "
                                       "(session 500), etcd 1200 ms"), title)


class Calls(unittest.TestCase):
    """Runs of bench/routing, and which of them docs/plots keeps."""

    def row(self, way, move, **more):
        """A run of a minute in which all steps differ, with twelve marks."""
        steps = range(300)
        wave = [math.sin(step * 0.7) + math.sin(step * step * 0.13) for step in steps]
        series = {"step_s": 0.2, "at": [step / 5 for step in steps],
                  "calls": [500 + round(30 * one) for one in wave],
                  "failed": [max(0, round(40 * one - 70)) for one in wave],
                  "p50": [0.40217 + one / 17 for one in wave],
                  "p99": [3.00318 + one for one in wave],
                  "worst": [44.7123 + 20 * one for one in wave]}
        return {"way": way, "move": move, "letter": "b", "mode": "exclusive", "round": 1,
                "session_ms": 3000, "lease_ms": 2250, "partitions": 64, "assignment": "group",
                "rate_asked": 5000.0, "calls": 300_000, "failed": 12,
                "latency_ms": {"p999": 44.0, "worst": 99.0}, "series": series,
                "marks": [{"at": 5 * turn, "what": f"owner-{turn} leaves"} for turn in range(12)],
                "busy": {"machine_percent": 80.0, "others_percent": 1.0}, **more}

    def kept(self, *rows):
        """(those that are too large, the names and sizes in the folder of kept ones)."""
        made = {"machine": {"cores": 2, "processor": "made up"}, "quick": False,
                "versions": {"neliroute": FOOTER}, "cells": list(rows)}
        with tempfile.TemporaryDirectory() as folder:
            large = routing_draw.keep(made, Path(folder))
            return large, {path.name: path.stat().st_size for path in Path(folder).iterdir()}

    def test_a_busy_run_is_small_under_a_name_of_its_own(self):
        large, sizes = self.kept(self.row("gateway", "rolling"), self.row("library", "scale"))
        self.assertEqual(large, [])
        self.assertEqual(set(sizes), {"12-rolling-gateway.svg", "14b-scale-library.svg"})
        self.assertLess(max(sizes.values()), 60_000)

    def test_others_are_not_kept(self):
        rows = [self.row("gateway", "rolling", mode="non_exclusive"),
                self.row("library", "kill", round=2), self.row("any", "rolling"),
                {"way": "gateway", "move": "kill", "mode": "exclusive", "problem": "no broker"}]
        self.assertEqual(self.kept(*rows), ([], {}))

    def test_paths_are_shortened_to_what_looks_the_same(self):
        for path, short in (("M 1.234 5 L 2.55 5 L 2.55 7 L 3 9 z", "M1.2 5H2.5V7L3 9z"),
                            ("M 1.234 5 \nL 2.55 5 \n", "M1.2 5H2.5"),
                            ("M 1.25 2 Q 3 4.567 5 6", "M 1.2 2 Q 3 4.5 5 6")):
            self.assertEqual(routing_draw.shortened(f'<path d="{path}"/>'),
                             f'<path d="{short}"/>')


class Lookups(unittest.TestCase):
    """Names of benchmarks decide what is drawn where."""

    def rows(self, *names):
        """A benchmark of each name."""
        return {"benchmarks": [{"name": name, "cpu_time": 2.0 + index, "time_unit": "ns"}
                               for index, name in enumerate(names)]}

    def test_panels_and_curves_follow_the_names(self):
        result = self.rows("hash_only/key:16/threads:1", "route/key:16/processes:3/threads:1",
                           "route/key:16/processes:9/threads:1",
                           "route/key:16/processes:9/threads:2",
                           "route/key:16/chained/processes:9/threads:1",
                           "route/key:32/processes:9/threads:1",
                           "route/key:16/cold/processes:9/partitions:64/threads:1",
                           "route/key:16/cold/processes:3/partitions:64/threads:1",
                           "route/key:16/cold/processes:9/partitions:1024/threads:1")
        partitions = draw_lookup.most_seen(result, "partitions")
        self.assertEqual(partitions, "64")
        self.assertEqual(draw_lookup.curves(result, "16", partitions), {
            "hot, 1 thread": {"hash_only": [(None, 2.0, 2.0)],
                              "route": [(3, 3.0, 3.0), (9, 4.0, 4.0)]},
            "hot, 2 threads": {"route": [(9, 5.0, 5.0)]},
            draw_lookup.COLD: {"route": [(9, 8.0, 8.0), (3, 9.0, 9.0)],
                               "route, 1,024 partitions": [(9, 10.0, 10.0)]}})

    def test_hash_schemes_are_drawn(self):
        result = self.rows("slot_table/members:3", "ring/members:3", "ring/members:100",
                           "slot_table/members:100")
        self.assertEqual(drawn(whole("schemes", result)),
                         ([], ["06b-schemes.png", "06b-schemes.svg"]))


if __name__ == "__main__":
    unittest.main()
