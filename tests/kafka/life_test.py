#!/usr/bin/python3
"""Non-exclusive life on real Kafka: joins, leaves and kills, each from rest.

Every slot is led again after each; as few as possible moved; and but for the kills, whose
successors must wait for the session, there is no instant at which anything was led by nobody.
"""
from pathlib import Path

import case
from case import boot_now
from harness import checker, class_archive

PARTITIONS = 32


class Life(case.KafkaCase):
    """Three owners, a fourth, and what becomes of them."""

    def step(self, fleet, what, before, disturbs=False):
        """Waits for rest after something happened, and judges the moves."""
        began = boot_now()
        after = fleet.rest()
        if disturbs:
            fleet.disturb(self.instant, boot_now())
        self.note(f"{what}: at rest after {boot_now() - began:.2f} s")
        self.assert_moves(what, before, after)
        return after

    def test_joins_leaves_and_kills(self):
        fleet = self.fleet(PARTITIONS)
        fleet.start()
        state = fleet.rest()
        since = boot_now()
        for what in ("second joins", "third joins"):
            fleet.start()
            state = self.step(fleet, what, state)
        for turn in range(5 if case.full() else 1):
            fleet.start()
            state = self.step(fleet, f"{turn}: fourth joins", state)
            leaver = fleet.live()[0]
            leaver.leave()
            state = self.step(fleet, f"{turn}: one leaves", state)
            self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
            self.instant = fleet.live()[0].kill()
            state = self.step(fleet, f"{turn}: one is killed", state, disturbs=True)
            fleet.start()
            state = self.step(fleet, f"{turn}: a third again", state)
        self.assert_clean(fleet, since, boot_now())

    @case.kafka_only
    def test_brokers_start_from_the_archive_of_classes(self):
        """The JVM says nothing where it cannot use it: all tests would start slowly."""
        archive = str(class_archive.path(self.kafka.version))
        for process in (self.kafka.nodes[0].child, self.kafka.admin.child):
            self.assertIn(archive, Path(f"/proc/{process.pid}/maps").read_text())

    def test_the_last_one_leaves_at_once(self):
        """The group tells it that there is nobody to hand over to, so it does not drain in vain."""
        fleet = self.fleet(PARTITIONS, drain_timeout="30s")
        self.start_rested(fleet, 1)
        leaver = fleet.owners[0]
        began = leaver.leave()
        self.assertEqual(leaver.wait_exit(60), 0, leaver.error_tail())
        self.note(f"left after {boot_now() - began:.2f} s")
        self.assertLess(boot_now() - began, 15)
        self.assert_clean(fleet)

    def test_all_leave_at_once(self):
        """None waits for what the others, which leave as well, cannot take over."""
        fleet = self.fleet(PARTITIONS, drain_timeout="10m")
        self.start_rested(fleet, 3)
        for owner in fleet.owners:
            owner.leave()
        for owner in fleet.owners:
            self.assertEqual(owner.wait_exit(60), 0, owner.error_tail())
        self.assert_clean(fleet)

    def test_route_and_watch_say_the_same_as_the_logs(self):
        fleet = self.fleet(PARTITIONS, witness=False)
        state = self.start_rested(fleet, 3)
        owners = {owner.key: owner for owner in fleet.owners}
        self.check_route(fleet, state, owners)
        self.check_watch(fleet, state, owners)
        victim = fleet.owners[1]
        victim.kill()
        state = fleet.rest()
        self.check_route(fleet, state, owners)
        self.assertNotIn(victim.key, state.values())

    def check_route(self, fleet, state, owners):
        """Every key is routed to who leads its partition, with that leadership's epoch."""
        keys = ["", "a", "user:1000", "ключ", *(f"key-{i}" for i in range(60))]
        answer = self.lookup(fleet, "route", *keys, json=True)
        self.assertEqual(answer.code, 0, answer)
        rows = answer.rows()
        self.assertEqual([row.get("key") for row in rows], keys)
        for row in rows:
            owner = owners[state[row["partition"]]]
            epoch = owner.leading[row["partition"]]
            self.assertEqual(row["partition"], row["slot"] % PARTITIONS)
            self.assertEqual((row["verdict"], row["owner"], row["endpoint"]),
                             ("remote", owner.name, f"127.0.0.1:{self.port(fleet, owner)}"))
            self.assertEqual(checker.Epoch(**row["epoch"]), epoch)
            self.assertGreater(row["valid_for_ms"], 0)
        offline = case.run_tool("slot", *keys, slots=fleet.defaults["slots"],
                                partitions=PARTITIONS, json=True)
        self.assertEqual([(r["slot"], r["partition"]) for r in offline.rows()],
                         [(r["slot"], r["partition"]) for r in rows])

    def check_watch(self, fleet, state, owners):
        """The table of `watch --once` names the same owners and epochs."""
        answer = self.lookup(fleet, "watch", once=True, json=True)
        self.assertEqual(answer.code, 0, answer)
        seen = {row["partition"]: (row["owner"], checker.Epoch(**row["epoch"]))
                for row in answer.rows() if "partition" in row}
        self.assertEqual(seen, {partition: (owners[key].name, owners[key].leading[partition])
                                for partition, key in state.items()})

    @staticmethod
    def port(fleet, owner):
        """The port that the fleet gave this owner's endpoint."""
        return 7001 + fleet.owners.index(owner)


if __name__ == "__main__":
    case.main()
