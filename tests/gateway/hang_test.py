#!/usr/bin/python3
"""An owner whose executor hangs still answers, in time, what waits for it."""
import http.client
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "bench" / "routing")]
from gateway_test import Application  # noqa: E402
from hanging import Hung  # noqa: E402
from harness import children  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402

DEADLINE_S = 0.5
LATE_S = 4.0  # on a machine that has much to do


class Hang(LaneOwners):
    """One owner before an application."""
    partitions = 4

    def ask(self, port):
        """One request on a connection of its own: its status, Retry-After and how long it took."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S + LATE_S)
        began = time.monotonic()
        try:
            connection.request("GET", "/", headers={"X-Key": "k"})
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.headers["Retry-After"], time.monotonic() - began
        finally:
            connection.close()

    def test_requests_that_wait_are_answered_at_the_deadline(self):
        """503 once its lease is over; and it serves again when it goes on."""
        application = Application("alpha")
        self.addCleanup(application.close)
        alpha = self.start("alpha", key="header:X-Key", upstream=application.address,
                           deadline=f"{DEADLINE_S * 1000:.0f}ms")
        self.wait_led(alpha)
        self.assertEqual(self.ask(alpha.port)[0], 200)
        hung = Hung(alpha.child.pid)
        statuses = []

        def is_refused():
            statuses.append(self.ask(alpha.port))
            return statuses[-1][0] == 503
        children.wait_until(is_refused, 30, lambda: statuses)
        for _ in range(3):
            status, again, took = self.ask(alpha.port)
            self.assertEqual((status, again), (503, "1"))
            self.assertGreaterEqual(took, DEADLINE_S)
        hung.go_on()
        served = len(application.requests)
        children.wait_until(lambda: self.ask(alpha.port)[0] == 200, 60, alpha.error_tail)
        self.assertEqual(len(application.requests), served + 1, "what was given up is not sent")


if __name__ == "__main__":
    unittest.main()
