#!/usr/bin/python3
"""10,000 processes, 65,536 partitions, 1,048,576 slots: every step of every placement in time."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from harness import process  # noqa: E402

# Of the processor. None took more than one when this was written.
STEP_SECONDS = 10
MEMORY_BYTES = 256 << 20


class Size(unittest.TestCase):
    def test_one_step(self):
        for trace in ("join", "leave", "replace"):
            done = process.run_to_end(
                [process.placements_path(), "--members", "10000", "--partitions", "65536",
                 "--slots", "1048576", "--seeds", "1", "--trace", trace, "--measure", "--json"],
                limit=600)
            self.assertEqual(done.code, 0, done)
            for row in done.rows():
                print("{:12} {:8} first {first_seconds:7.2f} s  step {slowest_step_seconds:.3f} s  "
                      "{memory_bytes} B".format(row["placement"], trace, **row), flush=True)
                self.assertLess(row["slowest_step_seconds"], STEP_SECONDS, row)
                self.assertLess(row["memory_bytes"], MEMORY_BYTES, row)
            self.assertEqual(len(done.rows()), 17)


if __name__ == "__main__":
    unittest.main(verbosity=2)
