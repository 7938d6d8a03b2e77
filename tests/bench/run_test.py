#!/usr/bin/python3
"""scripts/bench with made-up benches: what it keeps, what it says of those that fail."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "bench" / "report")]
import parts  # noqa: E402
import run  # noqa: E402
from extract import Figure  # noqa: E402

# The runner, and what is judged by its own aims, and needs a machine of its own for long.
BY_THEMSELVES = {"bench/ledgers/ledgers.py", "bench/outage/outage.py", "bench/report/run.py",
                 "bench/routing/hop.py", "bench/routing/routing.py"}

BENCH = """import json, sys
if "--never" in sys.argv:
    import signal
    signal.pause()
if "--silent" in sys.argv:
    sys.exit("said nothing")
json.dump({"size": 3, "took": 7.0}, open(sys.argv[2], "w"))
sys.exit(1 if "--unhappy" in sys.argv else 0)
"""


class Run(unittest.TestCase):
    """A folder with one script, a program that says its version, and parts of our own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.script = self.folder / "bench.py"
        self.script.write_text(BENCH, encoding="utf-8")
        tool = self.folder / "neliroute"
        tool.write_text("#!/bin/sh\necho neliroute of the test\n", encoding="utf-8")
        tool.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, {"NELIROUTE_BIN": str(tool)}))
        self.draw = self.enterContext(mock.patch.object(run, "draw", return_value=True))

    def part(self, *arguments, name="made-up", minutes=1.0, script=None, quick=False):
        """A part of one run."""
        runs = {"once": parts.python(minutes, *arguments)}
        return parts.Part(name, str(script or self.script), full=runs, quick=runs,
                          in_quick=quick, parameters=("size",),
                          figures=lambda result: [Figure("took", result["took"], "ms")])

    def bench(self, *given, words=()):
        """(exit code, all output, bench.json) of a run of these parts."""
        with (mock.patch.object(parts, "PARTS", given),
              mock.patch.object(sys, "argv", ["bench", "--out", str(self.folder), *words]),
              contextlib.redirect_stdout(io.StringIO()) as output,
              contextlib.redirect_stderr(output)):
            code = run.main()
        target = self.folder / "bench.json"
        whole = json.loads(target.read_text(encoding="utf-8")) if target.exists() else None
        return code, output.getvalue(), whole

    def test_keeps_result_figures_parameters_and_where_it_was_taken(self):
        code, output, whole = self.bench(self.part("--more"))
        self.assertEqual(code, 0, output)
        made = whole["parts"]["made-up"]["runs"]["once"]
        self.assertEqual(made["result"], {"size": 3, "took": 7.0})
        self.assertEqual(made["parameters"],
                         {"arguments": ["--json", "{json}", "--more"], "size": 3})
        self.assertEqual([row["value"] for row in made["figures"]], [7.0])
        self.assertEqual(whole["versions"]["neliroute"], "neliroute of the test")
        self.assertIn("processor", whole["machine"])
        self.draw.assert_called_once()

    def test_names_a_script_that_is_not_there_unless_not_asked_for(self):
        absent = self.part(name="absent", script=self.folder / "absent.py")
        code, output, whole = self.bench(self.part(), absent)
        self.assertEqual((code, whole), (2, None))
        self.assertIn("absent.py does not exist", output)
        self.assertEqual(self.bench(self.part(), absent, words=["--only", "made-up"])[0], 0)

    def test_names_a_part_that_is_none(self):
        code, output, _ = self.bench(self.part(), words=["--only", "nonsense"])
        self.assertEqual(code, 2)
        self.assertIn("'nonsense'", output)

    def test_a_bench_that_finds_something_keeps_its_figures_and_fails(self):
        code, output, whole = self.bench(self.part("--unhappy"))
        self.assertEqual(code, 1)
        self.assertIn("EXIT CODE 1", output)
        self.assertEqual(whole["parts"]["made-up"]["runs"]["once"]["exit_code"], 1)

    def test_a_bench_without_a_result_fails_with_its_last_words_and_others_go_on(self):
        code, output, whole = self.bench(self.part("--silent", name="silent"), self.part())
        self.assertEqual(code, 1)
        self.assertIn("said nothing", output)
        self.assertEqual(whole["parts"]["silent"]["runs"], {})
        self.assertIn("once", whole["parts"]["made-up"]["runs"])

    def test_a_bench_that_takes_too_long_is_ended(self):
        code, output, _ = self.bench(self.part("--never", minutes=0.01))
        self.assertEqual(code, 1)
        self.assertIn("not done after 0.01 min", output)

    def test_quick_leaves_out_what_takes_longer_unless_asked_for(self):
        both = self.part(name="slow"), self.part(quick=True)
        _, _, whole = self.bench(*both, words=["--quick"])
        self.assertEqual(list(whole["parts"]), ["made-up"])
        _, _, whole = self.bench(*both, words=["--quick", "--only", "slow"])
        self.assertIn("slow", whole["parts"])

    def test_other_parts_stay_only_if_measured_at_the_same_commit(self):
        both = self.part(name="one"), self.part(name="two")
        self.bench(*both)
        _, _, whole = self.bench(*both, words=["--only", "two"])
        self.assertEqual(set(whole["parts"]), {"one", "two"})
        with mock.patch.object(run, "commit", return_value="another"):
            _, output, whole = self.bench(*both, words=["--only", "two"])
        self.assertEqual(set(whole["parts"]), {"two"})
        self.assertIn("dropping one", output)

    def test_compares_with_what_is_in_the_folder(self):
        self.bench(self.part())
        old = self.folder / "old.json"
        worse = (self.folder / "bench.json").read_text(encoding="utf-8")
        old.write_text(worse.replace('"value": 7.0', '"value": 5.0'), encoding="utf-8")
        code, output, _ = self.bench(self.part(), words=["--compare", str(old)])
        self.assertEqual(code, 1)
        self.assertIn("REGRESSION made-up once: took", output)
        self.assertEqual(self.bench(words=["--compare", str(self.folder / "none.json")])[0], 2)


class Parts(unittest.TestCase):
    """The real ones."""

    def test_a_full_run_ends_within_its_time(self):
        minutes = sum(one.minutes for part in parts.PARTS for one in part.full.values())
        self.assertLessEqual(minutes, 167)

    def test_every_script_is_there(self):
        for part in parts.PARTS:
            if "/" in part.script:
                self.assertTrue(part.path().is_file(), part.script)

    def test_every_script_that_measures_is_a_part_or_known_to_run_by_itself(self):
        writes = re.compile(r'add_argument\("--(json|out)"')
        folder = REPOSITORY / "bench"
        scripts = {str(path.relative_to(REPOSITORY)) for path in folder.rglob("*.py")
                   if writes.search(path.read_text(encoding="utf-8"))}
        self.assertEqual(scripts - {part.script for part in parts.PARTS}, BY_THEMSELVES)


if __name__ == "__main__":
    unittest.main()
