#!/usr/bin/python3
"""Assigned by one of the processes: no setting of the broker bounds how soon one is replaced.

The broker is as Kafka comes: a group's member could be silent for 45 s (4.1) or 6 s and more (3.9)
before anybody was given its partitions.
"""
import case
from case import boot_now
from group_session_test import STOCK

SESSION_MS = 500 * case.SLOW
# Far below the broker's session, and far above what it takes, so that a busy machine passes.
SOON = 10.0 * case.SLOW


class Assigner(case.KafkaCase):
    """Five owners of 256 partitions on a topic that has four."""
    broker_properties = STOCK

    def owners(self, **options):
        """Five that have settled."""
        fleet = self.fleet(256, 256, assignment="assigner", session=f"{SESSION_MS}ms", **options)
        self.start_rested(fleet, 5)
        return fleet

    def heal(self, fleet, what, disturb):
        """Disturbs somebody; returns once everything is led without it, which must be soon."""
        began = disturb()
        fleet.wait_led()
        took = boot_now() - began
        self.note(f"{what}: all led again after {took:.2f} s")
        self.assertLess(took, SOON, what)
        return began

    def live_through_it(self, fleet):
        """A pause, a hang and the assigner's death; then a planned leave."""
        assigner, paused, hung, leaver, _ = fleet.owners
        began = self.heal(fleet, "SIGSTOP", paused.stop)
        self.heal(fleet, "hung executor", hung.hang)
        self.heal(fleet, "assigner killed", assigner.kill)
        paused.wake()
        hung.go_on()
        fleet.rest()
        for owner in (paused, hung):
            self.assertTrue(owner.leading, "it comes back by itself")
        fleet.disturb(began, boot_now())
        since = boot_now()
        leaver.leave()
        self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
        fleet.rest()
        self.assert_clean(fleet, since, boot_now())
        self.check_audit(fleet)

    def check_audit(self, fleet):
        """By the records alone: no finding, and what assigns was read, too.

        In non-exclusive mode a machine that is slow to notice a death leaves a gap, which is found.
        """
        found, rows, done = self.audit(fleet.topic)
        if fleet.defaults.get("mode") != "exclusive":
            found = [row for row in found if row["finding"] != "gap"]
        self.assertEqual([], found, done)
        totals = rows[-1]
        self.note(f"audit: {totals}")
        stamped = case.protocol().stamped
        self.assertEqual((totals["processes"], totals["broker_time"]), (5, stamped), done)
        self.assertGreater(totals["assignments"], 0, done)

    def test_non_exclusive(self):
        fleet = self.owners()
        if case.protocol().on_kafka:
            self.assertEqual(len(self.kafka.admin.topic(self.topic())["leaders"]), 4)
        self.live_through_it(fleet)

    def test_exclusive(self):
        self.live_through_it(self.owners(mode="exclusive"))


if __name__ == "__main__":
    case.main()
