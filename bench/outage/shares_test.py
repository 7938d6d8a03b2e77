#!/usr/bin/python3
"""Calls are counted in the phase in which they were due, and the table hides no failed one."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "routing")]
import records  # noqa: E402
import shares  # noqa: E402

REFUSED = 1


def call(due, outcome=records.SERVED, status=200):
    """A record, otherwise of no interest."""
    fields = dict.fromkeys(records.Record._fields, 0)
    fields.update(due_us=int(due * 1e6), outcome=outcome, status=status)
    return records.Record(**fields)


class Shares(unittest.TestCase):
    """Of calls."""

    def test_each_phase_has_what_was_due_in_it(self):
        made = shares.of([call(0.9), call(1.0), call(2.5, REFUSED, 503), call(2.9), call(3.1),
                          call(4.0)], [1, 2, 3, 4])
        self.assertEqual(made["before"], {"calls": 1, "failed": 0, "served": 1})
        self.assertEqual(made["away"], {"calls": 2, "failed": 1, "served": 0.5,
                                        "failed_as": {"refused 503": 1}, "failed_s": [0.5, 0.5]})
        self.assertEqual(made["after"]["calls"], 1, "what was due at its end is not in it")

    def test_one_failed_call_of_a_million_is_seen(self):
        self.assertEqual([shares.percent(served) for served in (1, 1 - 1e-6, 0.98944, 0, None)],
                         ["100", "99.99", "98.94", "0.00", ""])

    def test_a_later_row_replaces_an_earlier_one(self):
        rows = [{"fault": "one-killed", "seconds": 1, "lasted": 1.4, "mode": "exclusive",
                 "way": "any", "away": {"served": served}} for served in (0.5, 1)]
        self.assertEqual(shares.table(rows, ["exclusive"], ["any", "library"]).splitlines()[2],
                         "| one-killed | 1 s | 100 |  |")


if __name__ == "__main__":
    unittest.main()
