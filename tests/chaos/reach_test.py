#!/usr/bin/python3
"""Three brokers, three owners, each log on one broker. An owner that loses its link to that
broker leaves the group, and others lead what it had; where the broker itself is gone nobody leaves.
"""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
from case import PROTOCOLS  # noqa: E402
from harness import children, deps, process  # noqa: E402
from harness.children import boot_now, wait_until  # noqa: E402
from harness.metrics import metric  # noqa: E402
from harness.process import LineFile  # noqa: E402

import cluster  # noqa: E402
import fleet  # noqa: E402
import network  # noqa: E402

TOPIC = "reach"
PARTITIONS = 12
SESSION_MS = 3000
OWNERS = 3
ALONE = 1   # this broker leads log 0, and nothing else
LOG_0 = list(range(0, PARTITIONS, cluster.LOGS))
# How long an owner would wait before it left: a lease of silence, then for as long as Kafka may
# name a dead leader, then as long again as half its bound; twice that.
WOULD_HAVE_LEFT = 2 * (2.25 + 10 + 2.25)


class Reach(unittest.TestCase):
    """Exclusive, where leases are short. The tests use the same owners."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="neliroute-reach-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        network.make_hub()
        speaks = PROTOCOLS["consumer"]
        cls.cluster = cluster.Cluster(cls.folder, speaks, SESSION_MS, TOPIC, PARTITIONS, 3)
        cls.addClassCleanup(cls.cluster.close)
        cls.kafka = cls.enterClassContext(cls.cluster.kafka)
        cls.kafka.admin.create_topic(
            TOPIC, PARTITIONS, min_insync_replicas=1,
            replicas=[[ALONE]] + [[2 + p % 2] for p in range(1, PARTITIONS)])
        # Before any process joins: one that missed a move would lose the coordinator as well.
        wait_until(lambda: cls.cluster.coordinates(TOPIC), 60, "a coordinator")
        if cls.cluster.coordinator() == ALONE:
            cls.cluster.move_coordinator(2)
        cls.fleet = cls.enterClassContext(fleet.ChaosFleet(
            cls.kafka, cls.folder, topic=TOPIC, partitions=PARTITIONS, slots=PARTITIONS,
            mode="exclusive", profile="balanced"))
        cls.seats = [network.Seat(i + 1, cls.folder) for i in range(OWNERS)]
        for seat in cls.seats:
            cls.addClassCleanup(seat.close)
            cls.fleet.start(name=seat.name, prefix=seat.prefix(), json=True, timeout="60s",
                            http="0")
        cls.fleet.rest()

    def setUp(self):
        self.assertNotEqual(self.cluster.coordinator(), ALONE)
        self.fleet.rest()

    def withdrawals(self, number):
        """Of an owner, by its admin port: both reasons."""
        address = LineFile(self.fleet.owners[number].output).read()[0]["http"]
        page = self.seats[number].fetch(f"http://{address}/metrics")
        return {reason: metric(page, "neliroute_withdrawals_total", f'reason="{reason}"')
                for reason in ("refused", "out_of_reach")}

    def test_a_leader_that_one_owner_cannot_reach(self):
        cut = self.fleet.owners[0]
        self.assertTrue(set(cut.leading) & set(LOG_0), "it has something to lose")
        mend = self.seats[0].cut("both", [network.BROKERS[ALONE - 1]])
        began = boot_now()

        def led_elsewhere():
            found = self.fleet.leaders()
            return all(any(owner is not cut for owner in found[p]) for p in LOG_0)
        wait_until(led_elsewhere, 60, lambda: f"log 0 led by others\n{self.fleet.describe()}")
        print(f"led elsewhere after {boot_now() - began:.1f} s", flush=True)
        self.assertIn("log 0: the cluster names a leader", cut.error_tail(100_000))
        self.assertGreaterEqual(self.withdrawals(0)["out_of_reach"], 1)
        mend()
        self.fleet.rest()
        self.assertTrue(cut.leading, "it comes back by itself")
        for number in range(OWNERS):
            self.assertEqual(self.withdrawals(number)["refused"], 0)
        for number in range(1, OWNERS):
            self.assertEqual(self.withdrawals(number)["out_of_reach"], 0, "who reaches all stays")

    def test_a_log_without_a_leader(self):
        before = [self.withdrawals(number) for number in range(OWNERS)]
        self.kafka.stop_node(ALONE, grace=0)
        wait_until(lambda: self.cluster.admin.topic(TOPIC)["leaders"][0] != ALONE, 60,
                   "log 0 without a leader")
        began = boot_now()
        others = set(range(PARTITIONS)) - set(LOG_0)
        # What does not happen for so long is tested; so a time is awaited.
        wait_until(lambda: boot_now() > began + WOULD_HAVE_LEFT, WOULD_HAVE_LEFT + 5, "time")
        found = self.fleet.leaders()
        self.assertEqual({p for p in others if len(found[p]) != 1}, set(), "three good logs")
        self.assertEqual([self.withdrawals(number) for number in range(OWNERS)], before)
        self.kafka.start()
        self.fleet.rest()


if __name__ == "__main__":
    process.tool_path()
    process.witness_path()
    deps.kafka_jars(PROTOCOLS["consumer"].version)
    deps.admin_classes(PROTOCOLS["consumer"].version)
    network.enter()
    try:
        unittest.main(verbosity=2)
    finally:
        children.end_all()
