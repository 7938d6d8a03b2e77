#!/usr/bin/python3
"""An owner that was stopped for longer than its lease wakes up fenced: its first answer is no."""
import json

import case
from case import boot_now
from harness.children import wait_until


class Pause(case.KafkaCase):
    """SIGSTOP, somebody else takes over, SIGCONT."""

    def lease_seconds(self, fleet):
        """The lease in force, as the fleet's own records say."""
        for record in self.kafka.admin.read(fleet.topic, 0, most=50):
            fields = json.loads(record["value"])
            if fields["t"] == "renewal":
                return fields["lease_ms"] / 1000
        raise AssertionError("no renewal in log 0")

    def pause_and_wake(self, fleet):
        """Stops the first owner until others lead all and its lease is over, and wakes it."""
        self.start_rested(fleet, 3)
        sleeper = fleet.owners[0]
        held = set(sleeper.leading)
        self.assertTrue(held)
        lease = self.lease_seconds(fleet)
        stopped = sleeper.stop()
        fleet.wait_led()
        fleet.disturb(stopped, boot_now())
        # The pause's length is what is tested, so here a time is awaited.
        wait_until(lambda: boot_now() > stopped + lease + 0.2, lease + 5, "the lease is over")
        self.assertEqual(set(sleeper.leading), held, "a stopped process wrote its log")
        woken = sleeper.wake()
        self.assert_first_answers(sleeper, held, stopped, woken)
        fleet.rest()

    def assert_first_answers(self, sleeper, held, stopped, woken):
        """The first sample after waking says no for all that was held, and says so only once."""
        def answered():
            sleeper.refresh()
            answers = {row["partition"] for row in sleeper.samples.rows
                       if "owns" in row and row["boot"] >= woken}
            # The witness is a thread of its own: the owner's loop may tell its events later.
            lapses = {row["partition"] for row in sleeper.events.rows
                      if row["event"] == "stopped" and row["boot"] >= stopped}
            return answers >= held and lapses >= held
        wait_until(answered, 10, "the witness' answers and the lapses' events after waking")
        first = {}
        for row in sleeper.samples.rows:
            if "owns" in row and row["boot"] >= woken:
                first.setdefault(row["partition"], row)
        for partition in held:
            self.assertFalse(first[partition]["owns"], first[partition])
            # `prev` = the sample before: none may lie between waking and the no.
            if "prev" in first[partition]:
                self.assertLess(first[partition]["prev"], woken, first[partition])
            lapse = [row for row in sleeper.events.rows if row["partition"] == partition
                     and row["event"] == "stopped" and row["boot"] >= stopped]
            self.assertLess(lapse[0]["boot"], woken, lapse[0])

    def test_exclusive(self):
        fleet = self.fleet(mode="exclusive")
        self.pause_and_wake(fleet)
        self.assert_clean(fleet)

    def test_non_exclusive(self):
        # With classic the least lease is session + heartbeat + interval + 3.5 s.
        lease = "7s" if case.protocol().name == "classic" else None
        fleet = self.fleet(lease=lease)
        self.pause_and_wake(fleet)
        self.assert_clean(fleet)

    def test_stopped_and_killed(self):
        """It never wakes: its partitions are led by others, and by them alone."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 3)
        fleet.owners[0].stop()
        fleet.wait_led()
        fleet.owners[0].kill()
        fleet.rest()
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
