#!/usr/bin/python3
"""What the meter makes of the kernel's files: made-up ones, and this process's own."""
import os
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import meter  # noqa: E402


class Readings(unittest.TestCase):
    """Processor time, clients, memory."""

    def test_a_thread_that_ended_is_left_out_and_a_new_one_counts(self):
        self.assertAlmostEqual(meter.spent({"1": 2.0, "2": 5.0}, {"1": 2.5, "3": 0.25}), 0.75)

    def test_each_client_has_one_main_thread(self):
        names = ["neliroute\n", "rdk:main\n", "rdk:broker-1\n", "rdk:main\n", "rdk:mainly\n"]
        self.assertEqual(meter.client_count(names), 2)

    def test_proportional_memory(self):
        self.assertEqual(meter.proportional_kib("Rss:  900 kB\nPss:   321 kB\nPss_Anon: 5 kB\n"),
                         321)

    def test_this_process_spends_time_and_has_threads(self):
        before, end = meter.thread_seconds(os.getpid()), threading.Event()
        other = threading.Thread(target=end.wait)
        other.start()
        try:
            self.assertGreaterEqual(meter.threads(os.getpid())[0], 2)
            sum(number * number for number in range(300_000))
            self.assertGreater(meter.spent(before, meter.thread_seconds(os.getpid())), 0.0)
        finally:
            end.set()
            other.join()


if __name__ == "__main__":
    unittest.main()
