#!/usr/bin/python3
"""A handler that blocks the executor: others own its slots soon, and it comes back by itself.

librdkafka's threads go on all the time: left to itself the group would keep the hung member.
Where a member assigns, who hangs is silent, and its session is the limit.
"""
import case
from case import boot_now
from harness.children import wait_until


class Hang(case.KafkaCase):
    """The witness process blocks its executor when it is told to, and nothing else of it."""

    def limit(self):
        """Within how long everything must be led again."""
        return 2 * max(case.protocol().session_ms / 1000, 2.0)

    def hang_and_come_back(self, fleet):
        """One hangs until others lead all; then it is let go on, and gets its share again."""
        self.start_rested(fleet, 3)
        hung = fleet.owners[0]
        held = set(hung.leading)
        self.assertTrue(held)
        for turn in ("first", "second"):
            began = hung.hang()
            fleet.wait_led()
            took = boot_now() - began
            self.note(f"{turn} time: {len(held)} partitions led elsewhere after {took:.2f} s")
            self.assertLess(took, self.limit())
            if case.protocol().grouped:
                self.assertEqual(fleet.kafka.admin.group(fleet.group)["state"].lower(), "stable")
            hung.go_on()
            fleet.rest()
            self.assertTrue(hung.leading, "it comes back by itself")
        if case.protocol().grouped:
            self.assertIn("--hang-limit", hung.error_tail(100_000))
        self.assertNotIn("max.poll.interval.ms", hung.error_tail(100_000),
                         "librdkafka's advice cannot be followed")

    def test_exclusive(self):
        fleet = self.fleet(mode="exclusive")
        self.hang_and_come_back(fleet)
        self.assert_clean(fleet)

    def test_non_exclusive(self):
        # With classic the least lease is session + heartbeat + interval + 3.5 s.
        fleet = self.fleet(lease="7s" if case.protocol().name == "classic" else None)
        self.hang_and_come_back(fleet)
        self.assert_clean(fleet)

    def test_merely_busy(self):
        """0.3 s again and again is no reason to be expelled; leases end, and come back."""
        # The limit of a group is a second at least; an assigner has no other than the session.
        fleet = self.fleet(**({} if case.protocol().grouped else {"session": "1s"}))
        before = self.start_rested(fleet, 2)
        busy = fleet.owners[0]
        since = boot_now()
        for _ in range(8):
            began = busy.hang()
            # How long it is blocked is what is tested, so here a time is awaited.
            wait_until(lambda began=began: boot_now() > began + 0.3, 2, "0.3 s", poll=0.01)
            went_on = busy.go_on()
            fleet.rest()
            fleet.disturb(began, went_on)
        self.assertEqual(fleet.rest(), before)
        others = [row for row in fleet.owners[1].events.rows
                  if row["event"] == "acquired" and row["boot"] > since]
        self.assertEqual(others, [], "nobody takes over from who is busy")
        self.assertNotIn("--hang-limit", busy.error_tail(100_000))
        self.assert_clean(fleet, since, boot_now())

    def test_raised_limit(self):
        """Who blocks on purpose says for how long: it stays a member."""
        # An assigner waits for a third of the session before its first plan.
        fleet = self.fleet(**({"hang_limit": "60s"} if case.protocol().grouped
                              else {"session": "20s"}))
        before = self.start_rested(fleet, 2)
        busy = fleet.owners[0]
        began = busy.hang()
        wait_until(lambda: boot_now() > began + self.limit(), self.limit() + 5, "time", poll=0.05)
        if case.protocol().grouped:
            self.assertEqual(len(fleet.kafka.admin.group(fleet.group)["members"]), 2)
        busy.go_on()
        self.assertEqual(fleet.rest(), before)
        self.assertNotIn("--hang-limit", busy.error_tail(100_000))


if __name__ == "__main__":
    case.main()
