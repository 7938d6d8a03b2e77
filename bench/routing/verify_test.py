#!/usr/bin/python3
"""Each way in which the values can be wrong is found, and what is right is not."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import records  # noqa: E402
import verify  # noqa: E402


def call(key, value=0, outcome=records.SERVED, due=0.0, latency_ms=1.0, **more):
    """A record, otherwise of no interest."""
    fields = dict.fromkeys(records.Record._fields, 0)
    fields.update(due_us=int(due * 1e6), latency_us=int(latency_ms * 1000), key=key, value=value,
                  outcome=outcome, attempts=1, **more)
    return records.Record(**fields)


def counted(*values, **more):
    """What a store says."""
    return {"values": list(values), "two_writers": 0, "wrong_slot": 0, "repeats": 0, "stale": 0,
            **more}


class Values(unittest.TestCase):
    """Two keys, three calls."""

    def setUp(self):
        self.calls = [call(0, 1), call(1, 1), call(0, 2)]
        self.applied = [(0, 1, 1), (1, 1, 1), (0, 2, 1)]
        self.counts = counted(2, 1)

    def wrong(self):
        """The findings, as one text."""
        return "\n".join(verify.check(self.calls, self.counts, self.applied)["wrong"])

    def test_all_is_right(self):
        found = verify.check(self.calls, self.counts, self.applied)
        self.assertEqual((found["wrong"], found["applied"], found["applied_and_failed"]),
                         ([], 3, 0))

    def test_a_failed_call_may_have_been_carried_out_or_not(self):
        self.calls[2] = call(0, outcome=2)
        found = verify.check(self.calls, self.counts, self.applied)
        self.assertEqual((found["wrong"], found["applied_and_failed"]), ([], 1))
        self.applied.pop()
        self.counts = counted(1, 1)
        found = verify.check(self.calls, self.counts, self.applied)
        self.assertEqual((found["wrong"], found["applied_and_failed"]), ([], 0))

    def test_a_lost_one(self):
        self.applied[2] = (0, 0, 0)
        self.counts = counted(1, 1)
        self.assertIn("lost, calls answered 200 that the store does not have: 1, as 2",
                      self.wrong())

    def test_a_doubled_one(self):
        self.counts = counted(3, 1)
        self.assertIn("doubled or lost, keys whose counter is not the number of their calls: 1",
                      self.wrong())

    def test_a_call_without_a_key_and_an_answer_may_have_been_carried_out_once(self):
        for times, counters, failed in ((1, counted(2, 1), 1), (0, counted(1, 1), 0)):
            self.calls[2] = call(0, outcome=3, keyless=1)
            self.applied[2] = (0, 2 * times, times)
            found = verify.check(self.calls, counters, self.applied)
            self.assertEqual((found["wrong"], found["applied_and_failed"]), ([], failed))

    def test_a_call_without_a_key_that_was_carried_out_twice(self):
        for outcome in (2, records.SERVED):
            self.calls[2] = call(0, 3, outcome=outcome, keyless=1)
            self.applied[2] = (0, 3, 2)
            self.counts = counted(3, 1)
            self.assertEqual(self.wrong(), "doubled, calls carried out more than once: 1, as 2")

    def test_a_call_without_a_key_that_was_answered_and_lost(self):
        self.calls[2] = call(0, 2, keyless=1)
        self.applied[2] = (0, 0, 0)
        self.counts = counted(1, 1)
        self.assertIn("lost, calls answered 200 that the store does not have: 1, as 2",
                      self.wrong())

    def test_an_answer_of_another_call(self):
        self.calls[0] = call(0, 2)
        self.assertIn("a value that the store did not give: 1, as 0", self.wrong())
        self.calls[0] = call(0, 2, outcome=records.FOREIGN)
        self.assertIn("another call's answer: 1, as 0", self.wrong())

    def test_what_nobody_sent(self):
        self.calls.pop()
        self.assertIn("carried out, and never sent: 1, as 2", self.wrong())

    def test_another_key(self):
        self.calls[1] = call(0, 1)
        self.assertIn("carried out for another key: 1, as 1", self.wrong())

    def test_epochs_and_slots(self):
        self.counts = counted(2, 1, two_writers=4, wrong_slot=2)
        self.assertIn("under one epoch: 4", self.wrong())
        self.assertIn("not the key's: 2", self.wrong())

    def test_a_call_without_an_end(self):
        self.calls[1] = call(1, outcome=records.NEVER)
        self.assertIn("never ended: 1, as 1", self.wrong())


class Totals(unittest.TestCase):
    """What calls add up to."""

    def test_rate_latency_and_failures(self):
        calls = [call(0, 1, due=number / 100, latency_ms=number + 1) for number in range(100)]
        calls[7] = call(0, outcome=1, status=503, due=0.07)
        found = records.totals(calls)
        self.assertAlmostEqual(found["rate"], 100)
        self.assertEqual((found["served"], found["failed"], found["failed_as"],
                          found["statuses"]), (99, 1, {"refused": 1}, {"503": 1}))
        self.assertEqual(found["latency_ms"]["worst"], 100)
        self.assertAlmostEqual(found["latency_ms"]["p50"], 51, delta=1)

    def test_a_series_has_every_call_once(self):
        calls = [call(0, 1, due=5 + number / 100) for number in range(101)]
        calls[50] = call(0, outcome=2, due=5.5)
        found = records.series(calls, 5.0)
        self.assertEqual((sum(found["calls"]), sum(found["failed"])), (101, 1))
        self.assertEqual(found["at"][:2], [0.0, 0.1])
        self.assertEqual(len(found["p99"]), len(found["at"]))

    def test_a_long_series_has_longer_steps(self):
        for seconds, step in ((29, 0.1), (59, 0.2), (149, 0.5), (400, 1.0)):
            found = records.series([call(0, 1, due=due) for due in (0, seconds)], 0.0)
            self.assertEqual((found["step_s"], sum(found["calls"])), (step, 2))

    def test_calls_without_a_key_are_counted_by_themselves(self):
        self.assertIsNone(records.totals([call(0, 1)])["without_key"])
        found = records.totals([call(0, 1), call(0, 2, keyless=1), call(0, outcome=2, keyless=1)])
        self.assertEqual(found["without_key"],
                         {"calls": 2, "failed": 1, "failed_as": {"broken": 1}})

    def test_a_row_has_the_size_of_the_programs(self):
        self.assertEqual(records._ROW.size, 40)


if __name__ == "__main__":
    unittest.main()
