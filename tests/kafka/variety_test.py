#!/usr/bin/python3
"""What else a group may be run with, from the first owner's start to the last one's end: lanes,
eager assignors, the slower profiles, a session as a stock broker has it; and, where a member
assigns, members that differ."""
import json
import unittest

import case
from case import boot_now
from harness.children import wait_until

PARTITIONS = 16
EAGER_SESSION_S = 3.0
STOCK_SESSION_S = 45
# Whoever is killed was heard an interval ago, or longer where the machine let it wait.
LAST_HEARD_S = 1.0


class Life(case.KafkaCase):
    """What the cases below share."""

    def planned_life(self, fleet, session_s):
        """A join and a leave, each from rest; then everything is judged."""
        self.start_rested(fleet, 2)
        since = boot_now()
        fleet.start()
        fleet.rest()
        self.leave(fleet)
        fleet.rest()
        self.assert_clean(fleet, since, boot_now(), session_s)


class Lanes(case.KafkaCase):
    """More than one on a topic."""

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


class Balanced(Life):
    """Profile `balanced` on a broker that has its session."""
    profile, session_ms = "balanced", 3000
    broker_properties = {"group.consumer.session.timeout.ms": 3000,
                         "group.consumer.heartbeat.interval.ms": 300}
    # Exclusive: 3/4 of the session; otherwise three sessions. Both leave room for its interval.
    expected = {"exclusive": (500, 2250), "non_exclusive": (500, 9000)}

    def test_a_planned_life(self):
        """What the profile asks for is in force, and owners live by it."""
        for mode, (interval_ms, lease_ms) in self.expected.items():
            fleet = self.fleet(PARTITIONS, topic=f"{self.profile}-{mode}".replace("_", "-"),
                               mode=mode, profile=self.profile, session=None, json=True)
            self.planned_life(fleet, self.session_ms / 1000)
            for owner in fleet.owners:
                joined = json.loads(owner.output.read_text().partition("\n")[0])
                self.assertEqual((self.session_ms, interval_ms, lease_ms),
                                 tuple(joined[name] for name in
                                       ("session_ms", "interval_ms", "lease_ms")))


class Steady(Balanced):
    """The same of `steady`."""
    profile, session_ms = "steady", 10_000
    broker_properties = {"group.consumer.session.timeout.ms": 10_000,
                         "group.consumer.heartbeat.interval.ms": 1000}
    # Exclusive: a quarter of the lease is less than the profile's two seconds.
    expected = {"exclusive": (1875, 7500), "non_exclusive": (2000, 30_000)}


class StockSession(case.KafkaCase):
    """What nobody configured: 45 s with the consumer protocol, as a stock broker has it. With an
    assigner the members say so."""
    broker_properties = {"group.consumer.session.timeout.ms": 45_000,
                         "group.consumer.min.session.timeout.ms": 45_000,
                         "group.consumer.heartbeat.interval.ms": 5_000,
                         "group.consumer.min.heartbeat.interval.ms": 5_000}

    def test_a_planned_life_and_a_kill(self):
        """Nothing is unled but after the kill, and then for about a session."""
        session = None if case.protocol().grouped else f"{STOCK_SESSION_S}s"
        fleet = self.fleet(PARTITIONS, profile=None, session=session)
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
        self.assertLess(took, STOCK_SESSION_S + 2 * 5 + 10)
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


class Unlike(case.KafkaCase):
    """With an assigner each member has a session and a weight of its own; slots need not be as many
    as the topic has partitions."""
    sessions_s = (0.5, 2.0, 5.0)

    def test_sessions(self):
        """Each is replaced after its own session: not sooner, and not for others' later."""
        for mode in ("exclusive", "non_exclusive"):
            fleet = self.fleet(PARTITIONS, topic=f"sessions-{mode}".replace("_", "-"), mode=mode)
            for session_s in self.sessions_s:
                fleet.start(session=f"{session_s * 1000:g}ms")
            fleet.rest()
            since = boot_now()
            # The most patient one first, and the others know of its session only by its records.
            for owner, session_s in reversed(list(zip(fleet.owners, self.sessions_s))[1:]):
                killed = owner.kill()
                fleet.wait_led()
                took = boot_now() - killed
                self.note(f"{mode}: led again {took:.2f} s after a kill, session {session_s:g} s")
                self.assertGreater(took, session_s - LAST_HEARD_S)
                self.assertLess(took, case.longest_takeover_s(session_s))
                fleet.rest()
                fleet.disturb(killed, boot_now())
            self.assert_clean(fleet, since, boot_now(), max(self.sessions_s))

    def test_weights(self):
        """A share by weight each, and nothing for 0, also of whoever it is that assigns."""
        for mode in ("exclusive", "non_exclusive"):
            fleet = self.fleet(12 * PARTITIONS, 24 * PARTITIONS, mode=mode,
                               topic=f"weights-{mode}".replace("_", "-"))
            self.weigh(fleet, 0, 1)
            since = boot_now()
            self.weigh(fleet, 2, 3)
            self.leave(fleet)
            self.wait_shares(fleet)
            self.weigh(fleet, 0)
            self.leave(fleet, fleet.owners[2])
            self.wait_shares(fleet)
            self.assert_clean(fleet, since, boot_now(), case.protocol().session_ms / 1000)

    def weigh(self, fleet, *weights):
        """One more of each of these weights; returns when all have their shares."""
        for weight in weights:
            fleet.start(weight=weight).weight = weight
        self.wait_shares(fleet)

    @staticmethod
    def wait_shares(fleet):
        """Until each leads by its weight, and runs, which a weight of 0 does not show."""
        def shared():
            live, count = fleet.live(), len(fleet.partitions)
            total = sum(owner.weight for owner in live)
            return fleet.assignment() is not None and all(
                owner.samples.rows and len(owner.leading) == count * owner.weight // total
                for owner in live)
        wait_until(shared, 60, lambda: f"shares by weight\n{fleet.describe()}", poll=0.05)


def load_tests(loader, _tests, _pattern):
    """Those of the source of assignments that this run is about."""
    own = Eager if case.protocol().grouped else Unlike
    return unittest.TestSuite(loader.loadTestsFromTestCase(one) for one in
                              (Balanced, own, Lanes, Steady, StockSession))


if __name__ == "__main__":
    case.main()
