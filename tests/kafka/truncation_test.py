#!/usr/bin/python3
"""A log loses acknowledged records: an unclean election, which no production topic should allow.

Node 1 is the controller and keeps nothing of the ledger. Node 3 is killed; what is written then
stands on node 2 alone, which is killed as well; node 3 comes back, and is elected with the log that
it had. So every process has read records, claims among them, that are no more.
"""
import case
from case import boot_now
from harness.children import wait_until

PARTITIONS = 16
LOGS = 4
SAID = "claimed again"  # given up before, or served on where that is allowed


class Truncation(case.KafkaCase):
    """Assumption 1 of docs/protocol.md is broken: epochs must rise, and all be led again."""
    brokers = 3

    def lose_records(self, fleet):
        """Returns when node 3 leads the truncated logs; what they ended with before."""
        admin, topic = self.kafka.admin, fleet.defaults["topic"]
        self.kafka.stop_node(3, 0)
        wait_until(lambda: admin.topic(topic)["in_sync"][:LOGS] == [1] * LOGS, 30,
                   "node 2 alone in sync")
        # A claim at the least, and a renewal behind it, in each log: somebody joins.
        fleet.start()
        fleet.rest()
        ends = admin.end_offsets(topic)
        wait_until(lambda: all(admin.end_offsets(topic)[log] > ends[log] + 1
                               for log in range(LOGS)), 20, "records that node 3 has not")
        lost = {log: self.last_record(fleet, log) for log in range(LOGS)}
        self.kafka.stop_node(2, 0)
        self.kafka.start(only=3)
        wait_until(lambda: admin.topic(topic)["leaders"][:LOGS] == [3] * LOGS, 60,
                   lambda: f"node 3 elected: {admin.topic(topic)}")
        return lost

    def last_record(self, fleet, log):
        """(offset, value) of the log's last record."""
        end = self.kafka.admin.end_offsets(fleet.defaults["topic"])[log]
        record, = self.kafka.admin.read(fleet.defaults["topic"], log, end - 1, most=1)[:1]
        return record["offset"], record["value"]

    def check(self, mode):
        """Kills node 3, then 2, and judges what comes of it."""
        topic = f"truncated-{mode}".replace("_", "-")
        self.kafka.admin.create_topic(topic, PARTITIONS, replicas=[2, 3], min_insync_replicas=1,
                                      unclean_leader_election_enable="true")
        fleet = self.fleet(PARTITIONS, topic=topic, mode=mode)
        self.start_rested(fleet, 2)
        since = boot_now()
        lost = self.lose_records(fleet)
        led = {owner.key: dict(owner.leading) for owner in fleet.owners}
        self.note(f"led before: {sum(map(len, led.values()))}")
        fleet.rest()
        fleet.disturb(since, boot_now())
        for log, (offset, value) in lost.items():
            now = self.kafka.admin.read(topic, log, offset, most=1)[:1]
            self.assertNotEqual([(offset, value)],
                                [(record["offset"], record["value"]) for record in now],
                                f"log {log} was not truncated")
        for owner in fleet.owners:  # who leads on may hear of it late
            wait_until(lambda: SAID in owner.error_tail(100_000), 30,
                       lambda: f"{owner.key} notices: {owner.error_tail()}")
        self.kafka.start()
        fleet.rest()
        fleet.disturb(since, boot_now())
        # In exclusive mode two may lead after this: then only that epochs rise is judged.
        found = fleet.report().violations(exclusive=False)
        self.assertEqual([], [str(finding) for finding in found[:10]], f"{len(found)} findings")

    def test_non_exclusive(self):
        self.check("non_exclusive")

    def test_exclusive(self):
        self.check("exclusive")


if __name__ == "__main__":
    case.main()
