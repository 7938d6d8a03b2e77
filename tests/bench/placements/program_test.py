#!/usr/bin/python3
"""neliroute_placements: its tables, rows and refusals. What placements do is tested in C++."""
import csv
import io
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from harness import process  # noqa: E402

PLACEMENTS = ["range", "roundrobin", "sticky", "uniform-4.0", "uniform-4.1", "assigner", "least",
              "rendezvous", "ring", "ketama", "bounded", "multiprobe", "maglev", "jump", "anchor",
              "dx", "memento"]
COUNTS = {"moved", "least", "least_from_here", "unavoidable", "excess", "gain"}
COLUMNS = COUNTS | {"placement", "places", "members_before", "members_after", "peak_before",
                    "peak_after", "peak_worst", "cv_before", "cv_after", "unowned_slot_seconds"}
MEASURED = {"first_seconds", "slowest_step_seconds", "memory_bytes"}


def run(*arguments, limit):
    """The program with these arguments: a Finished."""
    return process.run_to_end([process.placements_path(), *arguments], limit)


class Placements(unittest.TestCase):
    def said(self, *arguments):
        """What it prints when all is well."""
        done = run(*arguments, limit=240)  # without optimisation it takes a minute
        self.assertEqual((done.code, done.err), (0, ""), done)
        return done.out

    def rows(self, *arguments):
        return [json.loads(line) for line in self.said("--json", *arguments).splitlines()]

    def refused(self, *arguments, words):
        done = run(*arguments, limit=10)
        self.assertEqual((done.code, done.out), (2, ""), done)
        self.assertEqual(done.err.count("\n"), 1, done)
        for word in words:
            self.assertIn(word, done.err, done)

    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "trace"
        path.write_text(text)
        return path


class Help(Placements):
    def test_fits_a_terminal_and_names_the_program(self):
        for flag in ("--help", "-h"):
            text = self.said(flag)
            self.assertTrue(text.startswith("Usage: neliroute_placements [OPTIONS]\n"), text)
            for name in PLACEMENTS:
                self.assertRegex(text, rf"\n  {name}[ :]")
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())


class Output(Placements):
    # B, D and F share 12 partitions of 10 slots; A joins before them, and then D crashes.
    TRACE = "0 join B\n0 join D\n0 join F\n1 join A\n2.5 crash D\n"
    SMALL = ("--slots", "120", "--partitions", "12", "--seeds", "1")

    def test_golden_table(self):
        path = self.file(self.TRACE)
        self.assertEqual(self.said("--trace-file", path, *self.SMALL, "--steps", "--placement",
                                   "range,sticky"), """\
placement  places      seed  at s  members  moved  least  of it  unavoid.  excess  gain   peak  \
after  CV %  after  unowned
range      partitions     1     1      3>4     60     30  2.00x         0      30    30  1.000  \
1.000   0.0    0.0      3.0
range      partitions     1   2.5      4>3     40     30  1.33x        30      10    20  1.000  \
1.000   0.0    0.0     17.0
sticky     partitions     1     1      3>4     30     30  1.00x         0       0    30  1.000  \
1.000   0.0    0.0      1.5
sticky     partitions     1   2.5      4>3     30     30  1.00x        30       0    10  1.000  \
1.000   0.0    0.0     16.5
""")

    def test_sums_are_those_of_the_steps(self):
        for trace in ("rolling", "walk", "zone"):
            options = ("--trace", trace, "--seeds", "2", "--placement", "maglev,range")
            steps = self.rows(*options, "--steps")
            for total in self.rows(*options):
                own = [row for row in steps if row["placement"] == total["placement"]]
                for name in COUNTS - {"gain"} | {"unowned_slot_seconds"}:
                    self.assertAlmostEqual(total[name], sum(row[name] for row in own) / 2, 4)
                self.assertEqual(total["steps"], len(own) / 2)
                self.assertEqual({row["seed"] for row in own}, {1, 2})

    def test_schema(self):
        for options, more in (((), {"steps"}), (("--steps",), {"seed", "at_seconds"}),
                              (("--measure",), {"steps"} | MEASURED)):
            rows = self.rows("--seeds", "1", *options)
            self.assertEqual([row["placement"] for row in rows], PLACEMENTS)
            for row in rows:
                self.assertEqual(set(row), COLUMNS | more)
                assigns = PLACEMENTS.index(row["placement"]) < PLACEMENTS.index("least")
                self.assertEqual(row["places"], "partitions" if assigns else "slots")
                self.assertLessEqual(row["unavoidable"] + row["excess"], row["moved"])
                self.assertGreaterEqual(row["peak_after"], 1)
                for name in COUNTS:
                    self.assertIsInstance(row[name], int)

    def test_csv_says_the_same(self):
        options = ("--trace", "crash:3", "--seeds", "3", "--placement", "ring:40,bounded:1.05")
        table = list(csv.DictReader(io.StringIO(self.said("--csv", *options))))
        rows = self.rows(*options)
        self.assertEqual([row["placement"] for row in table], ["ring:40", "bounded:1.05"])
        for line, row in zip(table, rows, strict=True):
            self.assertEqual(set(line), set(row))
            for name in set(row) - {"placement", "places"}:
                self.assertAlmostEqual(float(line[name]), row[name], 6)
        steps = self.said("--csv", "--steps", *options).splitlines()
        self.assertEqual({line.count(",") for line in steps}, {steps[0].count(",")})

    def test_the_same_every_time_and_another_with_another_seed(self):
        self.assertEqual(self.said(), self.said())
        self.assertNotEqual(self.said("--seeds", "1"), self.said("--seeds", "1", "--seed", "2"))


class Meaning(Placements):
    def test_on_partitions(self):
        row, = self.rows("--placement", "rendezvous", "--on", "partitions")
        self.assertEqual((row["places"], row["least"]), ("partitions", 80))
        row, = self.rows("--placement", "rendezvous")
        self.assertEqual((row["places"], row["least"]), ("slots", 93))

    def test_names_decide_what_range_moves(self):
        shuffled, = self.rows("--placement", "range", "--partitions", "1024", "--seeds", "50")
        ordered, = self.rows("--placement", "range", "--partitions", "1024", "--names", "ordered")
        self.assertAlmostEqual(ordered["moved"] / 1024, .5, delta=.01)
        self.assertAlmostEqual(shuffled["moved"] / 1024, 12 / 33, delta=.03)

    def test_time(self):
        options = ("--placement", "sticky", "--trace", "crash")
        row, = self.rows(*options, "--session", "2s", "--rebalance", "0ms")
        self.assertAlmostEqual(row["unowned_slot_seconds"], 2 * row["unavoidable"], 5)
        row, = self.rows("--placement", "sticky", "--rebalance", "1s")
        self.assertAlmostEqual(row["unowned_slot_seconds"], row["moved"], 5)
        row, = self.rows("--placement", "sticky", "--rebalance", "1s", "--eager")
        self.assertEqual(row["unowned_slot_seconds"], 1024)

    def test_weights(self):
        path = self.file("0 join a 1\n0 join b 3\n1 join c 4\n")
        rows = self.rows("--trace-file", path)
        self.assertEqual([row["placement"] for row in rows],
                         ["assigner", "least", "rendezvous", "ring", "ketama", "bounded",
                          "maglev"])
        self.assertEqual([row["moved"] for row in rows[:2]], [512, 512])

    def test_the_assigner_moves_the_least_possible_and_is_as_even_as_uniform(self):
        steps = self.rows("--placement", "assigner,uniform-4.1", "--steps")
        ours, uniform = ([row for row in steps if row["placement"] == name]
                         for name in ("assigner", "uniform-4.1"))
        self.assertEqual(len(ours), 10)
        for row, other in zip(ours, uniform, strict=True):
            self.assertEqual(row["places"], "partitions")
            self.assertEqual((row["moved"], row["least_from_here"]), (row["least"], row["least"]))
            self.assertGreater(row["moved"], 0)
            self.assertLessEqual(row["peak_after"], other["peak_after"])

    def test_algorithm_means_placement(self):
        self.assertEqual(self.said("--algorithm", "assigner", "--seeds", "2"),
                         self.said("--placement", "assigner", "--seeds", "2"))


class Refusals(Placements):
    def test_options(self):
        self.refused("--placement", "rings", words=['"rings"', "did you mean ring?"])
        self.refused("--placement", "frobnicate", words=["choose all", "rendezvous", "memento"])
        self.refused("--placement", "ring:0", words=['"ring:0"', "points", "1 to 10000"])
        self.refused("--placement", "range:3", words=["range takes no number"])
        self.refused("--placement", "ring,", words=['""', "no placement"])
        self.refused("--placement", "anchor:4", words=["11 members"])
        self.refused("--placement", "dx:100", words=["power of two", "128"])
        self.refused("--trace", "jion", words=["jion", "join, leave, crash"])
        self.refused("--trace", "leave:11", words=["leave:11", "10 members"])
        self.refused("--members", "0", words=["--members", "1 to 100000"])
        self.refused("--members", "100000", "--trace", "double", words=["200000", "--members"])
        self.refused("--slots", "1000", words=["1000", "64", "multiple"])
        self.refused("--slots", "10", words=["fewer"])
        self.refused("--on", "keys", words=["keys", "slots", "partitions"])
        self.refused("--names", "odd", words=["odd", "shuffled", "ordered"])
        self.refused("--session", "5", words=["--session", "5ms"])
        self.refused("--json", "--csv", words=["choose one"])
        self.refused("stray", words=['"stray"', "`neliroute_placements --help`"])
        self.refused("--quux", words=["--quux", "`neliroute_placements --help`"])

    def test_trace_files(self):
        self.refused("--trace-file", "/no/such", words=["/no/such", "SECONDS"])
        self.refused("--trace-file", "/", words=["--trace-file /"])
        path = self.file("0 join a\n\n# fine so far\n1 joins b\n")
        self.refused("--trace-file", path, words=["line 4", '"joins"', "join, leave or crash"])
        self.refused("--trace-file", path, "--trace", "join", words=["choose one"])
        self.refused("--trace-file", self.file("0 join a\n"), words=["first placement"])
        self.refused("--trace-file", self.file("0 join a\n1 join \x1b[2J 3 4\n"), words=["line 2"])
        self.refused("--trace-file", self.file("0 join a 2\n1 join b\n"), "--placement", "jump",
                     words=["jump", "weights"])


class Progress(Placements):
    SLOW = ("--placement", "rendezvous", "--members", "3000", "--slots", "262144", "--seeds", "3")

    def test_on_a_terminal_only(self):
        """Named within its second, wiped at the end; in a file there is none of it."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([process.placements_path(), *self.SLOW], stdout=subprocess.PIPE,
                              stderr=theirs, env=process.environment()) as child:
            os.close(theirs)
            out = child.stdout.read()
            self.assertEqual(child.wait(), 0)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            shown = b""
            try:
                while chunk := terminal.read(4096):
                    shown += chunk
            except OSError:  # the other end is closed
                pass
        self.assertIn(b"rendezvous: seed ", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        self.assertEqual(self.said(*self.SLOW).encode(), out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
