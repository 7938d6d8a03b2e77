#!/usr/bin/python3
"""What others write on the topic, and whom one shares a name with: none of it makes two leaders."""
import os

import case
from case import boot_now
from harness.checker import Epoch
from harness.children import wait_until

LOGS = 4


def newer_claim(parts):
    """A claim of a version that nobody here knows: 2 KB, with a mode and fields of its own."""
    return {"v": 2, "t": "claim", "lane": 0, "id": "feedfacefeedface", "seq": 1, "inc": 0,
            "parts": parts, "lease_ms": 1000, "max_ms": 1000, "mode": "quorum", "by": "tomorrow",
            "at": "127.0.0.1:1", "quorum": {"of": [1, 2, 3], "proof": "x" * 1800}}


def garbage():
    """Records that are no claim, by their bytes, their size, their types or their shape."""
    return [b"\xff\xfe\x00garbage", b"", None, "not json", "null", "[]", "7", '"claim"',
            '{"t":"claim"', "{}", {"t": "renewal"}, {"t": "renewal", "parts": 7, "lane": "x"},
            {"t": ["claim"]}, {"t": "release", "id": 5, "lane": 0, "parts": {"x": "y"}},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "inc": -1, "seq": 1e99,
             "parts": {"99999999999999999999": "5-1"}, "lease_ms": "soon"},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "parts": {"0": "0-4294967295,-1"}},
            "[" * 20_000, '{"a":' * 10_000, os.urandom(900_000),
            '{"t":"renewal","by":"' + "y" * 900_000 + '"}']


class Strangers(case.KafkaCase):
    """Newer versions, garbage, namesakes."""

    def log_partitions(self, fleet, log):
        """The partitions whose records go to this log."""
        return [p for p in fleet.partitions if p % LOGS == log]

    def write_newer_claim(self, fleet):
        """Writes it for all of log 0; returns (partitions, instant before, its epoch)."""
        wanted = self.log_partitions(fleet, 0)
        before = boot_now()
        topic = fleet.defaults["topic"]
        claim = newer_claim(",".join(map(str, wanted)))
        offset, = self.kafka.admin.produce(topic, 0, claim)
        record, = self.kafka.admin.read(topic, 0, offset, most=1)[:1]
        return wanted, before, Epoch(record["timestamp"], offset)

    def wait_reclaimed(self, fleet, wanted, foreign):
        """Until each of the partitions is led with an epoch above the stranger's."""
        def reclaimed():
            leaders = fleet.leaders()
            return all(any(foreign < owner.leading[p] for owner in leaders[p]) for p in wanted)
        wait_until(reclaimed, 30, lambda: f"claimed again above {foreign}\n{fleet.describe()}")

    def events_since(self, fleet, instant, kind):
        """partition -> rows of this kind since then, of all owners."""
        found = {}
        fleet.refresh()
        for owner in fleet.owners:
            for row in owner.events.rows:
                if row["event"] == kind and row["boot"] >= instant:
                    found.setdefault(row["partition"], []).append(row)
        return found

    def test_newer_claim_exclusive(self):
        """The owners stop at once; after the stranger's lease they claim again."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        wanted, before, foreign = self.write_newer_claim(fleet)
        self.wait_reclaimed(fleet, wanted, foreign)
        stopped = self.events_since(fleet, before, "stopped")
        self.assertEqual(sorted(stopped), wanted, "others than those claimed were stopped")
        for rows in stopped.values():
            self.assertEqual(rows[0]["reason"], "superseded", rows)
        self.assert_clean(fleet)

    def test_newer_claim_non_exclusive(self):
        """The owners drain, and claim again; nobody is without a leader meanwhile."""
        fleet = self.fleet()
        self.start_rested(fleet, 2)
        since = boot_now()
        wanted, before, foreign = self.write_newer_claim(fleet)
        self.wait_reclaimed(fleet, wanted, foreign)
        draining = self.events_since(fleet, before, "draining")
        self.assertEqual(sorted(draining), wanted, "others than those claimed drained")
        self.assert_clean(fleet, since, boot_now())

    def test_garbage(self):
        """No event at all follows from it, in either mode."""
        fleets = [self.fleet(mode=mode, topic=f"garbage-{mode}".replace("_", "-"))
                  for mode in ("non_exclusive", "exclusive")]
        for fleet in fleets:
            self.start_rested(fleet, 2)
        since = boot_now()
        admin = self.kafka.admin
        for fleet in fleets:
            topic = fleet.defaults["topic"]
            for partition in (*range(LOGS), LOGS + 1):
                admin.produce(topic, partition, *garbage(), key=b"\x00key")
            # Twenty more records in each log: its owners have read beyond the garbage by then.
            ends = admin.end_offsets(topic)[:LOGS]
            wait_until(lambda: all(now >= then + 20 for now, then in
                                   zip(admin.end_offsets(topic)[:LOGS], ends)),
                       30, "renewals behind the garbage", poll=0.2)
            for kind in ("stopped", "draining"):
                self.assertEqual({}, self.events_since(fleet, since, kind), kind)
            self.assert_clean(fleet, since, boot_now())

    def test_claims_that_cannot_be_read(self):
        """They may claim everything in their log (rule 2), but only for their lease."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        for claim in ({"t": "claim", "lane": 0}, {"t": "claim", "lane": 0, "parts": {"a": 1}},
                      {"v": "?", "t": "claim", "lane": 0, "id": 7, "parts": "0-", "seq": "x"}):
            topic = fleet.defaults["topic"]
            offset, = self.kafka.admin.produce(topic, 0, claim)
            record, = self.kafka.admin.read(topic, 0, offset, most=1)[:1]
            self.wait_reclaimed(fleet, self.log_partitions(fleet, 0),
                                Epoch(record["timestamp"], offset))
        fleet.rest()
        self.assert_clean(fleet)

    def test_foreign_consumer_in_the_group(self):
        """It is assigned partitions and claims none: their owners lead on until it is gone."""
        fleet = self.fleet()
        admin, speaks = self.kafka.admin, case.protocol()
        if speaks.name == "consumer":
            # Kafka's own Java consumer is expelled again and again at a session of 500 ms. A group
            # may have its own, which the tool must then read instead of the broker's.
            admin.alter_group(fleet.group, consumer_session_timeout_ms=5000)
        self.start_rested(fleet, 2)
        since = boot_now()
        admin.join_group(fleet.group, fleet.defaults["topic"], speaks.name)

        def assigned():
            group = admin.group(fleet.group)
            members = [member for member in group["members"] if member["partitions"]]
            return group["state"].lower() == "stable" and len(members) == 3
        wait_until(assigned, 30, lambda: f"three members: {admin.group(fleet.group)}", poll=0.1)
        wait_until(lambda: any(owner.draining for owner in self.refreshed(fleet)), 10,
                   "owners draining what the stranger was assigned")
        self.assertEqual(fleet.unled(), [])
        admin.leave_group()
        fleet.rest()
        self.assert_clean(fleet, since, boot_now())

    @staticmethod
    def refreshed(fleet):
        """The owners, their logs read."""
        fleet.refresh()
        return fleet.owners

    def test_two_of_one_name(self):
        """They share out the partitions like any two, and one inherits from the other."""
        for mode in ("exclusive", "non_exclusive"):
            fleet = self.fleet(mode=mode, topic=f"twins-{mode}".replace("_", "-"))
            state = self.start_rested(fleet, 2, name="twin")
            self.assertEqual(len(set(state.values())), 2)
            killed = fleet.owners[0].kill()
            state = fleet.rest()
            fleet.disturb(killed, boot_now())
            self.assertEqual(set(state.values()), {fleet.owners[1].key})
            fleet.start(name="twin")
            fleet.rest()
            self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
