#!/usr/bin/env python3
"""gcov_sum.py on hand-made reports of gcov: what it must add up, leave out and refuse."""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import gcov_sum as coverage

ROOT = pathlib.Path("/project")


def report(path: str, lines: dict[int, int], folder: str = "/project/build") -> dict:
    """What gcov says of one file."""
    return {"current_working_directory": folder, "files": [
        {"file": path, "lines": [{"line_number": n, "count": c} for n, c in lines.items()]}]}


def added(*reports: dict) -> coverage.Counts:
    """The sum of these."""
    counts: coverage.Counts = collections.defaultdict(dict)
    for one in reports:
        coverage.add(counts, one, ROOT)
    return counts


class Sum(unittest.TestCase):

    def test_a_line_that_ran_anywhere_ran(self):
        counts = added(report("../slots/a.h", {1: 0, 2: 3}), report("/project/slots/a.h", {1: 1}),
                       report("../slots/a.h", {1: 0, 2: 0}))
        self.assertEqual(counts, {"slots/a.h": {1: 1, 2: 3}})

    def test_tests_and_libraries_do_not_count(self):
        self.assertEqual(added(report("../tests/unit/a.cc", {1: 1}),
                               report("/usr/include/slots/a.h", {1: 1}),
                               report("../router/a.cc", {1: 0})), {})

    def test_the_table_names_what_did_not_run(self):
        counts = added(report("../neli_core/a.cc", {1: 0, 2: 0, 3: 1, 9: 0}),
                       report("../ledgers/b.cc", {1: 0}), report("../slots/c.cc", {1: 1}))
        rows = [row.split() for row in coverage.table(counts)]
        self.assertIn("neli_core/a.cc 1 of 4 25.0 % 1-2, 9".split(), rows)
        self.assertIn("= neli_core/ 1 of 4 25.0 %".split(), rows)
        self.assertIn("= ledgers/ 0 of 1 0.0 %".split(), rows)
        self.assertIn("= slots/ 1 of 1 100.0 %".split(), rows)

    def test_each_pure_room_has_the_bound_and_ledgers_none(self):
        counts = added(report("../neli_core/a.cc", {n: int(n > 5) for n in range(1, 101)}),
                       report("../ledgers/b.cc", {1: 0}), report("../slots/c.cc", {1: 1}),
                       report("../placement/d.cc", {1: 1}), report("../audit/e.cc", {1: 1}))
        self.assertEqual(coverage.below(counts, 95), [])
        wrong, = coverage.below(counts, 95.5)
        self.assertIn("neli_core/: 95.00 %", wrong)

    def test_nothing_counted_is_not_all_covered(self):
        self.assertEqual(len(coverage.below({}, 0)), 4)


class Notes(unittest.TestCase):

    def test_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "slots").mkdir()
            (build / "tests").mkdir()
            for name in ("slots/never_ran.cc.gcno", "slots/never_ran.cc.o", "slots/gone.cc.gcno",
                         "tests/ran.cc.gcno", "tests/ran.cc.gcda", "tests/old.cc.gcno",
                         "tests/old.cc.o"):
                (build / name).touch()
            self.assertEqual([path.name for path in coverage.notes_of(build)],
                             ["never_ran.cc.gcno", "ran.cc.gcno"])


class Commands(unittest.TestCase):
    """What is refused: exit code, and on stderr what was expected."""

    def refused(self, code: int, word: str, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertIn(word, done.stderr)

    def test_options(self):
        script = str(coverage.ROOT / "scripts" / "coverage")
        self.refused(2, "unknown option: --frobnicate", script, "--frobnicate")
        self.refused(2, "--least needs a value", script, "--least")
        self.refused(2, "0 to 100", script, "--least", "101")
        self.refused(2, "from 1", script, "--seeds", "0")
        self.refused(2, "kafka or examples", script, "--also", "everything")

    def test_a_file_that_is_none_of_gcovs(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.gcno", "a.gcda"):
                pathlib.Path(folder, name).write_text("nonsense")
            self.refused(1, "a.gcno", sys.executable, "-B", os.path.abspath(coverage.__file__),
                         folder)


if __name__ == "__main__":
    unittest.main()
