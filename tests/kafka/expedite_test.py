#!/usr/bin/python3
"""A group whose heartbeats are slow: who leaves or joins need not wait for them, and many who start
at once do not ask in a storm."""
import re
import statistics
import time
import urllib.request

import case
from harness import checker
from harness.children import boot_now, wait_until
from harness.kafka_broker import free_ports

HEARTBEAT_MS = 4500
# Heartbeats that one process may want early within one interval.
MOST = 8


class SlowHeartbeats(case.KafkaCase):
    """One broker, heartbeat 4.5 s."""
    broker_properties = {"group.consumer.session.timeout.ms": 10 * HEARTBEAT_MS,
                         "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS}

    def last_acquired(self, fleet, since):
        """When the last partition began to be led, of those that did after `since`."""
        fleet.refresh()
        return max((row["boot"] for owner in fleet.owners for row in owner.events.rows
                    if row["event"] == "acquired" and row["boot"] >= since), default=since)

    def test_leave_and_join(self):
        """At rest long before a heartbeat would have come."""
        fleet = self.fleet(partitions=32, witness=False)
        before = self.start_rested(fleet, 3)
        began = boot_now()
        leaves, joins = [], []
        for turn in range(4):
            leaver = fleet.live()[0]
            since = leaver.leave()
            after = fleet.rest()
            self.assert_moves(f"leave {turn}", before, after)
            leaves.append(self.last_acquired(fleet, since) - since)
            leaver.wait_exit()
            since = boot_now()
            fleet.start()
            before = fleet.rest()
            self.assert_moves(f"join {turn}", after, before)
            joins.append(self.last_acquired(fleet, since) - since)
        self.note(f"leaves {leaves}, joins with their start {joins}")
        # A third of the mean without; the bench says what it is on a machine at rest.
        self.assertLess(statistics.median(leaves), 1.0)
        self.assertLess(statistics.median(joins), 2.0)
        self.assert_clean(fleet, began, boot_now())

    def metric(self, port, name):
        """The sum of a metric's series."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        values = re.findall(rf"^neliroute_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for value in values)

    def test_thirty_that_start_at_once(self):
        """Each asks at most 8 times an interval, and nobody once all is at rest."""
        count = 30
        fleet = self.fleet(partitions=64, slots=256, witness=False)
        ports = free_ports(count)
        began = boot_now()
        for port in ports:
            fleet.start(http=f"127.0.0.1:{port}")
        fleet.rest(timeout=120.0)
        took = boot_now() - began
        intervals = int(took * 1000 / HEARTBEAT_MS) + 1
        asked = [self.metric(port, "heartbeats_expedited_total") for port in ports]
        self.note(f"{count} at rest after {took:.1f} s; heartbeats wanted early: {sum(asked):.0f}, "
                  f"at most {max(asked):.0f} a process, in {intervals} intervals")
        self.assertGreater(sum(asked), 0)
        self.assertLessEqual(max(asked), MOST * intervals)
        # Nothing changes any more: what is under way ends, and the counters stand still.
        def stands_still():
            first = sum(self.metric(port, "heartbeats_expedited_total") for port in ports)
            time.sleep(1.0)
            return first == sum(self.metric(port, "heartbeats_expedited_total") for port in ports)
        wait_until(stands_still, 30.0, "nobody asks at rest")
        counts = [len(owner.leading) for owner in fleet.live()]
        self.assertTrue(checker.balanced(counts), counts)


if __name__ == "__main__":
    case.main()
