#!/usr/bin/python3
"""What others write on the topic, and whom one shares a name with: none of it makes two leaders."""
import threading

import case
from case import boot_now
from harness.checker import Epoch
from harness.children import wait_until
from harness.forgery import LOGS, PARTITIONS, STRANGER, Impostor, garbage, lparts_of, newer_claim, \
    ranges_of_all
from harness.lane_log import LaneLog
from harness.metrics import metric
from harness.stream import fetch

MODES = ("exclusive", "non_exclusive")
KEYS = [f"key-{i}" for i in range(40)]


def id_of(owner):
    """The 64 bits that tell it from all others."""
    return owner.events.rows[0]["id"]


def seat_of(lane):
    """The seat by which its last assignment was written."""
    return next(row["seat"] for row in reversed(lane.kept) if row["t"] == "assign")


class Strangers(case.KafkaCase):
    """Newer versions, garbage, namesakes."""

    def fleet(self, *args, **options):
        """As many logs on each store. Other stores than Kafka need more of the machine for each
        record: fewer there, and a session in which nobody who lives passes for dead."""
        slow = {} if case.protocol().on_kafka else {"profile": "balanced", "session": "2s"}
        return super().fleet(*args, **{"logs": LOGS, **slow, **options})

    def log_partitions(self, fleet, log):
        """The partitions whose records go to this log."""
        return [p for p in fleet.partitions if p % LOGS == log]

    @staticmethod
    def refreshed(fleet):
        """The owners, their logs read."""
        fleet.refresh()
        return fleet.owners

    def events_since(self, fleet, instant, kind):
        """partition -> rows of this kind since then, of all owners."""
        found = {}
        fleet.refresh()
        for owner in fleet.owners:
            for row in owner.events.rows:
                if row["event"] == kind and row["boot"] >= instant:
                    found.setdefault(row["partition"], []).append(row)
        return found

    def wait_read_on(self, fleet):
        """Twenty more records in each log: its owners have read beyond what is in it now."""
        admin, topic = self.kafka.admin, fleet.topic
        ends = admin.end_offsets(topic)[:LOGS]
        wait_until(lambda: all(len(admin.read(topic, log, end)) >= 20
                               for log, end in enumerate(ends)),
                   30, "renewals behind what was written", poll=0.2)

    def assert_nothing_moved(self, fleet, since):
        """No event, but of leases that the machine let end."""
        for kind in ("stopped", "draining"):
            found = [row for rows in self.events_since(fleet, since, kind).values()
                     for row in rows if row.get("reason") != "lapsed"]
            self.assertEqual([], found, kind)

    def assert_named(self, fleet):
        """Who leads was named for it by a living assigner: no assignment of before counts."""
        ids = {id_of(owner): owner.key for owner in fleet.live()}
        lane = LaneLog(self.kafka.admin, fleet.topic)

        def agree():
            lane.read()
            named = {p: ids.get(who) for p, who in lane.designees.items()}
            return lane.assigner in ids and named == fleet.assignment()
        wait_until(agree, 20, lambda: f"{lane.designees} led by {ids}\n{fleet.describe()}",
                   poll=0.2)

    def patient(self, **options):
        """A fleet with a session of 5 s. Tests beside let members and broker wait for longer than
        500 ms: then the group expels owners, and what moves does so for that."""
        if case.protocol().name != "consumer":
            return self.fleet(session="5s", **options)
        fleet = self.fleet(**options)
        self.kafka.admin.alter_group(fleet.group, consumer_session_timeout_ms=5000)
        return fleet

    def write_newer_claim(self, fleet):
        """Writes it for all of log 0; returns (partitions, instant before, its epoch)."""
        wanted = self.log_partitions(fleet, 0)
        before = boot_now()
        topic = fleet.topic
        claim = newer_claim(lparts_of(wanted))
        offset, = self.kafka.admin.produce(topic, 0, claim)
        record, = self.kafka.admin.read(topic, 0, offset, most=1)[:1]
        return wanted, before, Epoch(record["timestamp"], offset)

    @staticmethod
    def wait_led_above(fleet, ends):
        """Until each partition has one leader, by a claim behind these ends of the logs. One look
        would not do: a lease that lapses on a loaded machine ends what it saw, and begins again
        under an epoch of before until the replay is read."""
        def above():
            return all([owner.leading[p].offset >= ends[p % LOGS] for owner in leaders] == [True]
                       for p, leaders in fleet.leaders().items())
        wait_until(above, 60, lambda: f"each led by one, above {ends}\n{fleet.describe()}")

    def wait_reclaimed(self, fleet, wanted, foreign):
        """Until each of the partitions is led with an epoch above the stranger's."""
        def reclaimed():
            leaders = fleet.leaders()
            return all(any(foreign < owner.leading[p] for owner in leaders[p]) for p in wanted)
        wait_until(reclaimed, 30, lambda: f"claimed again above {foreign}\n{fleet.describe()}")

    def test_newer_claim_exclusive(self):
        """The owners stop at once; after the stranger's lease they claim again."""
        fleet = self.patient(mode="exclusive", lease="3s")
        self.start_rested(fleet, 2)
        wanted, before, foreign = self.write_newer_claim(fleet)
        self.wait_reclaimed(fleet, wanted, foreign)
        for partition, rows in self.events_since(fleet, before, "stopped").items():
            for row in rows:
                if row["reason"] != "lapsed":  # the machine's doing, wherever it leads
                    self.assertIn(partition, wanted, "others than those claimed were stopped")
                    self.assertEqual(row["reason"], "superseded", row)
        # For whatever reason, who led beneath the stranger stopped before it led above him.
        led = [one for one in self.assert_clean(fleet).intervals if one.partition in wanted]
        self.assertEqual(wanted, sorted({one.partition for one in led if one.epochs[-1] < foreign}))
        self.assertEqual([], [str(one) for one in led if one.epochs[0] < foreign < one.epochs[-1]])

    def test_newer_claim_non_exclusive(self):
        """The owners drain, and claim again; nobody is without a leader meanwhile."""
        fleet = self.patient()
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
                  for mode in MODES]
        for fleet in fleets:
            if case.protocol().name == "assigner":  # an owner would make four partitions
                self.kafka.admin.create_topic(fleet.topic, len(PARTITIONS))
            self.start_rested(fleet, 2)
        since = boot_now()
        # Only Kafka has partitions that are no logs.
        others = (LOGS + 1,) if case.protocol().on_kafka else ()
        for fleet in fleets:
            topic = fleet.topic
            for partition in (*range(LOGS), *others):
                self.kafka.admin.produce(topic, partition, *garbage(), key=b"\x00key")
            self.wait_read_on(fleet)
            self.assert_nothing_moved(fleet, since)
            self.assert_clean(fleet, since, boot_now())

    def test_claims_that_cannot_be_read(self):
        """They may claim everything in their log (rule 2), but only for their lease."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        for claim in ({"t": "claim", "lane": 0}, {"t": "claim", "lane": 0, "lparts": {"a": 1}},
                      {"v": "?", "t": "claim", "lane": 0, "id": 7, "lparts": "0-", "seq": "x"}):
            topic = fleet.topic
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
        admin, topic = self.kafka.admin, fleet.topic
        wanted = self.log_partitions(fleet, 0)
        ranges = lparts_of(wanted)
        forged = {"v": 2, "lane": 0, "id": STRANGER, "lease_ms": 3000, "max_ms": 3000,
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
        # Non-exclusive owners claim again when he misses 3 of their intervals. Leases above their
        # least; of a member, three intervals fall into its session.
        slow = {"consumer": {"lease": "4s"}, "classic": {"lease": "8s"}}.get(
            case.protocol().name, {"lease": "7s", "session": "3s"})
        for mode, pace in (("exclusive", {}), ("non_exclusive", {"interval": "1s", **slow})):
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
        for mode in MODES:
            fleet = self.fleet(mode=mode, topic=f"replay-{mode}".replace("_", "-"))
            admin, topic = self.kafka.admin, fleet.topic
            self.start_rested(fleet, 3)
            fleet.owners[0].kill()
            fleet.rest()
            ends = admin.end_offsets(topic)[:LOGS]
            for log in range(LOGS):
                values = [record["value"] for record in admin.read(topic, log)]
                for start in range(0, len(values), 100):
                    admin.produce(topic, log, *values[start:start + 100])
            # Each partition's claim was replayed, and ended every epoch of before.
            self.wait_led_above(fleet, ends)
            fleet.rest()
            if not case.protocol().grouped:
                self.assert_named(fleet)
            self.assert_clean(fleet)

    def test_forged_settings(self):
        """A process that came first and differs: all others refuse, as they would if it were true.
        It is so for as long as the forged lease, not longer."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 2)
        topic = fleet.topic
        # Who assigns is compared first, and is not what is tested here.
        variation = {} if case.protocol().grouped else {"variation": "claimed+assigner"}
        self.kafka.admin.produce(topic, 0, {
            **variation, "v": 2, "t": "renewal", "lane": 0, "id": STRANGER, "seq": 1, "inc": 1,
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

    def test_two_of_one_name(self):
        """They share out the partitions like any two, and one inherits from the other."""
        for mode in MODES:
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


class Grouped(Strangers):
    """Kafka's group assigns."""

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
        admin.join_group(fleet.group, fleet.topic, speaks.name)

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


class Assigned(Strangers):
    """A member assigns, and others write in log 0 of members, of the seat, of assignments.

    A session of 2 s: what the machine lets wait passes for no death.
    """

    def assigned(self, mode, count=2, **options):
        """Owners at rest, the log that says who assigns, and an instant after that."""
        fleet = self.fleet(mode=mode, topic=f"{self.topic()}-{mode}".replace("_", "-"),
                           session="2s", **options)
        self.start_rested(fleet, count)
        lane = LaneLog(self.kafka.admin, fleet.topic)
        lane.read()
        self.assertIn(lane.assigner, [id_of(owner) for owner in fleet.live()])
        return fleet, lane, boot_now()

    def impostor(self, fleet):
        """Somebody else who may write."""
        return Impostor(self.kafka.admin, fleet.topic, 2000)

    def refused(self, owner):
        """How many assignments were void, to this owner."""
        return metric(fetch(f"http://{case.address_of(owner)}/metrics"),
                      "neliroute_assignments_refused_total")

    def wait_seated(self, fleet, lane, after):
        """Until one of those that live holds the seat by a claim behind this offset."""
        def seated():
            lane.read()
            claims = [row["offset"] for row in lane.kept if row["t"] == "seat_claim"]
            return claims[-1] > after and lane.assigner in [id_of(one) for one in fleet.live()]
        wait_until(seated, 20, lambda: f"a member's seat claim behind {after}: {lane.kept[-5:]}",
                   poll=0.05)

    def test_assignments_without_the_seat(self):
        """By a stranger, by a member that does not assign, by a former assigner, and by the
        assigner under another's seat: all are read, none is obeyed. Nor are lists of overrides."""
        fleet, lane, _ = self.assigned("exclusive", 3, http="0", json=True)
        former, old_seat = lane.assigner, seat_of(lane)
        next(owner for owner in fleet.owners if id_of(owner) == former).kill()
        fleet.rest()
        lane.read()
        seat = seat_of(lane)
        self.assertNotEqual((former, old_seat), (lane.assigner, seat))
        other = next(id_of(one) for one in fleet.live() if id_of(one) != lane.assigner)
        forged = ((STRANGER, seat), (other, seat), (former, old_seat), (lane.assigner, old_seat))
        mallory, since = self.impostor(fleet), boot_now()
        before = {owner.key: self.refused(owner) for owner in fleet.live()}
        for who, named in forged:
            mallory.write("wishes", id=who, seat=named, upto=lane.end(),
                          cordoned=[fleet.live()[0].name])
            mallory.write("assign", id=who, seat=named, to={other: ranges_of_all()})
        for owner in fleet.live():
            wait_until(lambda owner=owner: self.refused(owner) >= before[owner.key] + len(forged),
                       20, lambda owner=owner: f"{owner.key} refused {self.refused(owner)}")
        self.wait_read_on(fleet)
        self.assert_nothing_moved(fleet, since)
        self.assert_named(fleet)
        self.assert_clean(fleet)

    def test_seat_claims_of_others(self):
        """The seat of somebody who does not live is free; one who lives and finds itself with the
        seat assigns. Nobody stops for either."""
        for mode in MODES:
            fleet, lane, since = self.assigned(mode)
            mallory = self.impostor(fleet)
            self.wait_seated(fleet, lane, mallory.write("seat_claim"))
            other = next(id_of(one) for one in fleet.live() if id_of(one) != lane.assigner)
            mallory.write("seat_claim", id=other)
            wait_until(lambda lane=lane, other=other: (lane.read(), lane.assigner == other)[1],
                       20, "the other one has the seat")
            self.wait_read_on(fleet)
            self.assertEqual(lane.assigner, other)
            self.assert_nothing_moved(fleet, since)
            fleet.start()
            fleet.rest()
            self.assert_named(fleet)
            self.assert_clean(fleet, since, boot_now())

    def test_a_member_that_claims_nothing(self):
        """It is named for its share: owners lead that on. It is named for nothing once it has not
        led for so long that it cannot."""
        for mode in MODES:
            fleet, lane, since = self.assigned(mode)
            mallory = self.impostor(fleet)
            mallory.renew_until(lambda fleet=fleet: any(
                owner.draining for owner in self.refreshed(fleet)), "it is named for something")
            self.assertEqual(fleet.unled(), [])
            mallory.renew_until(lambda lane=lane: (
                lane.read(), STRANGER not in lane.designees.values())[1], "it is named no more")
            mallory.renew_until(fleet.assignment, lambda fleet=fleet: fleet.describe())
            fleet.rest()
            self.assert_named(fleet)
            self.assert_clean(fleet, since, boot_now())

    def test_a_stranger_who_assigns(self):
        """A member by its records that holds the seat is obeyed: it moves leadership, and makes
        neither two leaders nor none. When it is silent, a member assigns."""
        for mode in MODES:
            fleet, lane, since = self.assigned(mode)
            mallory, owner = self.impostor(fleet), fleet.owners[0]
            mallory.renew()
            mallory.take_seat()
            mallory.assign(STRANGER)
            mallory.renew_until(lambda fleet=fleet: sum(
                len(one.draining) for one in self.refreshed(fleet)) == len(PARTITIONS),
                lambda fleet=fleet: f"owners drain all\n{fleet.describe()}")
            self.assertEqual(fleet.unled(), [])
            mallory.assign(id_of(owner))
            mallory.renew_until(
                lambda fleet=fleet, owner=owner: fleet.assignment() ==
                dict.fromkeys(PARTITIONS, owner.key),
                lambda fleet=fleet: f"one leads all\n{fleet.describe()}")
            lane.read()
            self.assertEqual(lane.assigner, STRANGER)
            fleet.rest()
            self.assert_named(fleet)
            self.assert_clean(fleet, since, boot_now())

    def test_forged_leave(self):
        """Whoever is said to leave hands over, and gets nothing until it starts again. If all are,
        they lead on, and nobody assigns until somebody starts."""
        for mode in MODES:
            fleet, _, since = self.assigned(mode)
            mallory, (first, second) = self.impostor(fleet), fleet.owners
            mallory.write("leave", id=id_of(first))
            wait_until(lambda fleet=fleet, second=second: fleet.assignment() ==
                       dict.fromkeys(PARTITIONS, second.key), 30,
                       lambda fleet=fleet: f"the other one leads all\n{fleet.describe()}")
            mallory.write("leave", id=id_of(second))
            self.wait_read_on(fleet)
            self.assertEqual(fleet.unled(), [])
            third = fleet.start()
            wait_until(lambda fleet=fleet, third=third: fleet.assignment() ==
                       dict.fromkeys(PARTITIONS, third.key), 30,
                       lambda fleet=fleet: f"who starts leads all\n{fleet.describe()}")
            self.assert_named(fleet)
            self.assert_clean(fleet, since, boot_now())


def load_tests(loader, _tests, _pattern):
    """Those of the source of assignments that this run is about."""
    return loader.loadTestsFromTestCase(Grouped if case.protocol().grouped else Assigned)


if __name__ == "__main__":
    case.main()
