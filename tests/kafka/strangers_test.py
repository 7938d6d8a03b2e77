#!/usr/bin/python3
"""What others write on the topic, and whom one shares a name with: none of it makes two leaders."""
import os
import threading

import case
from case import boot_now
from harness.checker import Epoch
from harness.children import wait_until

LOGS = 4
KEYS = [f"key-{i}" for i in range(40)]


def lparts_of(partitions):
    """Partitions of one log, as its records name them."""
    return ",".join(str(p // LOGS) for p in partitions)


def newer_claim(lparts):
    """A claim of a version that nobody here knows: 2 KB, with a mode and fields of its own."""
    return {"v": 3, "t": "claim", "lane": 0, "id": "feedfacefeedface", "seq": 1, "inc": 0,
            "lparts": lparts, "lease_ms": 1000, "max_ms": 1000, "mode": "quorum", "by": "tomorrow",
            "at": "127.0.0.1:1", "quorum": {"of": [1, 2, 3], "proof": "x" * 1800}}


def garbage():
    """Records that are no claim, by their bytes, their size, their types or their shape."""
    return [b"\xff\xfe\x00garbage", b"", None, "not json", "null", "[]", "7", '"claim"',
            '{"t":"claim"', "{}", {"t": "renewal"}, {"t": "renewal", "lparts": 7, "lane": "x"},
            {"t": ["claim"]}, {"t": "release", "id": 5, "lane": 0, "lparts": {"x": "y"}},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "inc": -1, "seq": 1e99,
             "lparts": {"99999999999999999999": "5-1"}, "lease_ms": "soon"},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "lparts": {"0": "0-4294967295,-1"}},
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
        claim = newer_claim(lparts_of(wanted))
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
        """No event at all follows from it, in either mode, but where the machine lets a process
        wait, as tests run beside, for longer than a lease."""
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
                found = [row for rows in self.events_since(fleet, since, kind).values()
                         for row in rows if row.get("reason") != "lapsed"]
                self.assertEqual([], found, kind)
            self.assert_clean(fleet, since, boot_now())

    def test_claims_that_cannot_be_read(self):
        """They may claim everything in their log (rule 2), but only for their lease."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        for claim in ({"t": "claim", "lane": 0}, {"t": "claim", "lane": 0, "lparts": {"a": 1}},
                      {"v": "?", "t": "claim", "lane": 0, "id": 7, "lparts": "0-", "seq": "x"}):
            topic = fleet.defaults["topic"]
            offset, = self.kafka.admin.produce(topic, 0, claim)
            record, = self.kafka.admin.read(topic, 0, offset, most=1)[:1]
            self.wait_reclaimed(fleet, self.log_partitions(fleet, 0),
                                Epoch(record["timestamp"], offset))
        fleet.rest()
        self.assert_clean(fleet)

    def forge_owner(self, fleet):
        """Somebody in no group claims log 0, and renews like an owner while `route` is asked.

        Returns its rows, the instant before the last renewal, his epoch, and what members still led
        of what he claimed.
        """
        admin, topic = self.kafka.admin, fleet.defaults["topic"]
        wanted = self.log_partitions(fleet, 0)
        ranges = lparts_of(wanted)
        forged = {"v": 2, "lane": 0, "id": "feedfacefeedface", "lease_ms": 3000, "max_ms": 3000,
                  "by": "mallory", "at": "127.0.0.1:666"}
        offset, = admin.produce(topic, 0, {**forged, "t": "claim", "seq": 1, "inc": 0,
                                           "lparts": ranges})
        record, = admin.read(topic, 0, offset, most=1)[:1]
        epoch, enough, renewed = Epoch(record["timestamp"], offset), threading.Event(), []

        def renew():
            while not enough.wait(0.1):
                renewed.append(boot_now())
                admin.produce(topic, 0, {**forged, "t": "renewal", "seq": 1 + len(renewed),
                                         "inc": epoch.inc, "lparts": {str(offset): ranges},
                                         "leading": ranges, "draining": ""})
        renewing = threading.Thread(target=renew)
        renewing.start()
        try:
            rows = self.lookup(fleet, "route", *KEYS, json=True).rows()
            leaders = fleet.leaders()
        finally:
            enough.set()
            renewing.join()
        return rows, renewed[-1], epoch, [p for p in wanted if leaders[p]]

    def test_forged_owner(self):
        """He is believed: owners stop, callers are sent to him. No two members lead meanwhile, the
        other logs go on, and when he is silent for his lease all is as before."""
        # Non-exclusive owners claim again when he misses 3 of their intervals.
        lease = "8s" if case.protocol().name == "classic" else "4s"  # above their least
        for mode, pace in (("exclusive", {}),
                           ("non_exclusive", {"interval": "1s", "lease": lease})):
            fleet = self.fleet(mode=mode, topic=f"forged-{mode}".replace("_", "-"), **pace)
            self.start_rested(fleet, 2)
            began = boot_now()
            rows, last, epoch, led = self.forge_owner(fleet)
            self.assertEqual(led, [], "members led what he renews")
            wanted = self.log_partitions(fleet, 0)
            sent_to_him = {row["partition"] for row in rows if row.get("owner") == "mallory"}
            self.assertTrue(sent_to_him, rows)
            self.assertLessEqual(sent_to_him, set(wanted))
            self.wait_reclaimed(fleet, wanted, epoch)
            for acquired in self.events_since(fleet, began, "acquired").values():
                for row in acquired:
                    if epoch < Epoch(**row["epoch"]) and row["partition"] in wanted:
                        self.assertGreater(row["boot"], last, row)
            for stopped in self.events_since(fleet, began, "stopped").values():
                for row in stopped:
                    self.assertTrue(row["partition"] in wanted or row["reason"] == "lapsed", row)
            fleet.rest()
            self.assert_clean(fleet)

    def test_replayed_records(self):
        """Everything that was ever written, a second time, and from a process that is dead: claims
        cost a hand-over or a lease, and nothing else comes of it."""
        for mode in ("exclusive", "non_exclusive"):
            fleet = self.fleet(mode=mode, topic=f"replay-{mode}".replace("_", "-"))
            admin, topic = self.kafka.admin, fleet.defaults["topic"]
            self.start_rested(fleet, 3)
            fleet.owners[0].kill()
            fleet.rest()
            began, ends = boot_now(), admin.end_offsets(topic)[:LOGS]
            for log in range(LOGS):
                values = [record["value"] for record in admin.read(topic, log)]
                for start in range(0, len(values), 100):
                    admin.produce(topic, log, *values[start:start + 100])
            wait_until(lambda: self.events_since(fleet, began, "acquired"), 20,
                       "owners claim again above what was replayed")
            fleet.wait_led()
            fleet.rest()
            # Each partition's claim was replayed, and ended every epoch of before.
            for partition, leaders in fleet.leaders().items():
                self.assertEqual(1, len(leaders), f"partition {partition}: {fleet.describe()}")
                self.assertGreaterEqual(leaders[0].leading[partition].offset,
                                        ends[partition % LOGS], f"partition {partition}")
            self.assert_clean(fleet)

    def test_forged_settings(self):
        """A process that came first and differs: all others refuse, as they would if it were true.
        It is so for as long as the forged lease, not longer."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        topic = fleet.defaults["topic"]
        self.kafka.admin.produce(topic, 0, {
            "v": 2, "t": "renewal", "lane": 0, "id": "feedfacefeedface", "seq": 1, "inc": 1,
            "lparts": {}, "leading": "", "draining": "", "lease_ms": 2000, "max_ms": 2000,
            "since": 1, "by": "mallory", "at": "127.0.0.1:666", "group": fleet.group,
            "slots": 9999, "partitions": 32, "logs": LOGS, "hash": "xxh3", "mode": "exclusive"})
        for owner in fleet.owners:
            self.assertEqual(owner.wait_exit(), 2)
            self.assertIn("9999", owner.error_tail())
        self.assert_clean(fleet)
        later = self.fleet(mode="exclusive")
        self.start_rested(later, 2)
        self.assert_clean(later)

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
