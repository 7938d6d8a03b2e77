#!/usr/bin/python3
"""What else a group may be run with, from the first owner's start to the last one's end: lanes,
eager assignors, the slower profiles, a session as a stock broker has it."""
import case
from case import boot_now
from harness.children import wait_until

PARTITIONS = 16
# What a profile asks for; with the consumer protocol the broker's session is in force.
PROFILE_SESSION_S = {"balanced": 3.0, "steady": 10.0}
EAGER_SESSION_S = 3.0


class Variety(case.KafkaCase):
    """Joins, a planned leave and a kill, under other settings than the other scripts'."""

    def planned_life(self, fleet, session_s):
        """A join and a leave, each from rest; then everything is judged."""
        self.start_rested(fleet, 2)
        since = boot_now()
        fleet.start()
        fleet.rest()
        self.leave(fleet)
        fleet.rest()
        self.assert_clean(fleet, since, boot_now(), session_s)

    def test_lanes(self):
        """Two lanes on one topic: each slot has an owner in each; neither knows of the other."""
        for mode in ("exclusive", "non_exclusive"):
            topic = f"lanes-{mode}".replace("_", "-")
            # The group of lane N is G.lane-N.
            lanes = [self.fleet(PARTITIONS, topic=topic, mode=mode, lane=0),
                     self.fleet(PARTITIONS, topic=topic, mode=mode, lane=1)]
            for lane, fleet in enumerate(lanes):
                fleet.group = topic if lane == 0 else f"{topic}.lane-{lane}"
                for _ in range(2):
                    fleet.start(name=f"lane{lane}-{len(fleet.owners)}")
            for fleet in lanes:
                fleet.rest()
            since = boot_now()
            lanes[1].owners[0].kill()
            instant = lanes[1].owners[0].life.ended
            lanes[1].rest()
            lanes[1].disturb(instant, boot_now())
            self.check_hints(lanes)
            for lane, fleet in enumerate(lanes):
                lanes_seen = {row["lane"] for owner in fleet.owners for row in owner.events.rows}
                self.assertEqual({lane}, lanes_seen)
                self.assert_clean(fleet, since, boot_now(), case.protocol().session_ms / 1000)

    def check_hints(self, lanes):
        """A caller who asks for a lane is told of that lane's owners."""
        for lane, fleet in enumerate(lanes):
            names = {owner.name for owner in fleet.live()}

            def told(fleet=fleet, lane=lane, names=names):
                rows = self.lookup(fleet, "watch", once=True, json=True, lane=lane).rows()
                return {row.get("owner") for row in rows if "partition" in row} == names
            wait_until(told, 20, f"hints of lane {lane} name {names}")

    def test_profiles(self):
        """`balanced` and `steady`, whose sessions the broker must allow; a planned life."""
        for profile, asked_s in PROFILE_SESSION_S.items():
            consumer = case.protocol().name == "consumer"
            session_s = case.protocol().session_ms / 1000 if consumer else asked_s
            for mode in ("exclusive", "non_exclusive"):
                fleet = self.fleet(PARTITIONS, topic=f"{profile}-{mode}".replace("_", "-"),
                                   mode=mode, profile=profile, session=None)
                self.planned_life(fleet, session_s)


class StockSession(case.KafkaCase):
    """What nobody configured: 45 s with the consumer protocol, as a stock broker has it."""
    broker_properties = {"group.consumer.session.timeout.ms": 45_000,
                         "group.consumer.min.session.timeout.ms": 45_000,
                         "group.consumer.heartbeat.interval.ms": 5_000,
                         "group.consumer.min.heartbeat.interval.ms": 5_000}

    def test_a_planned_life_and_a_kill(self):
        """Nothing is unled but after the kill, and then for about a session."""
        fleet = self.fleet(PARTITIONS, profile=None, session=None)
        for _ in range(2):
            fleet.start()
        fleet.rest(120)
        since = boot_now()
        fleet.start()
        fleet.rest(120)
        self.leave(fleet)
        fleet.rest(120)
        killed = fleet.live()[0].kill()
        wait_until(lambda: fleet.unled(), 10, "slots of the killed one")
        fleet.rest(120)
        took = boot_now() - killed
        self.note(f"led again {took:.1f} s after the kill")
        self.assertLess(took, 45 + 2 * 5 + 10)
        fleet.disturb(killed, boot_now())
        self.assert_clean(fleet, since, boot_now())


class Eager(case.KafkaCase):
    """Assignors that revoke everything at each rebalance."""

    def test_each(self):
        for strategy in ("range,roundrobin", "roundrobin"):
            for mode in ("exclusive", "non_exclusive"):
                topic = f"eager-{strategy}-{mode}".replace(",", "-").replace("_", "-")
                fleet = self.fleet(PARTITIONS, topic=topic, mode=mode, group_protocol="classic",
                                   session=f"{EAGER_SESSION_S:g}s",
                                   X=f"partition.assignment.strategy={strategy}")
                self.start_rested(fleet, 2)
                since = boot_now()
                fleet.start()
                fleet.rest()
                self.leave(fleet)
                fleet.rest()
                instant = fleet.live()[0].kill()
                fleet.rest()
                fleet.disturb(instant, boot_now())
                self.assert_clean(fleet, since, boot_now(), EAGER_SESSION_S)


if __name__ == "__main__":
    case.main()
