#!/usr/bin/python3
"""Exclusive mode on real Kafka: at least 100 changes of leader by joins, leaves and kills, and
never two leaders of anything, by the processes' own logs and by a witness in each that keeps
asking."""
import statistics

import case
from case import boot_now
from harness import checker

TRANSITIONS = 100


class Exclusive(case.KafkaCase):
    """Never two."""

    def test_never_two_leaders(self):
        fleet = self.fleet(partitions=64, mode="exclusive")
        state = self.start_rested(fleet, 2)
        since = boot_now()
        wanted = TRANSITIONS * (5 if case.full() else 1)
        seen = 0
        while seen < wanted:
            for what, act in (("joins", self.join), ("joins", self.join), ("leaves", self.leave),
                              ("is killed", self.kill)):
                act(fleet)
                before, state = state, fleet.rest()
                seen += len(checker.moved(before, state))
                self.assert_moves(f"one {what}", before, state)
        report = self.assert_clean(fleet, since, boot_now())
        self.assertGreaterEqual(report.transitions(), wanted)
        planned = [seconds * 1000 for _, seconds, old, _ in
                   checker.handovers(report.intervals, start=since) if old.reason == "superseded"]
        if planned:
            self.note(f"planned hand-overs without a leader: median "
                      f"{statistics.median(planned):.1f} ms, worst {max(planned):.1f} ms")

    @staticmethod
    def join(fleet):
        """One more."""
        fleet.start()

    def test_two_joins_and_a_leave_at_once(self):
        """Not from rest: rebalances that overtake each other."""
        fleet = self.fleet(partitions=64, mode="exclusive")
        self.start_rested(fleet, 2)
        fleet.start()
        fleet.start()
        fleet.owners[0].leave()
        fleet.rest()
        fleet.owners[1].kill()
        fleet.start()
        fleet.rest()
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
