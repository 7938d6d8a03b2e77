#!/usr/bin/python3
"""A group whose heartbeats are slow: who leaves or joins need not wait for them, and many who start
at once do not ask in a storm."""
import statistics
import time

import case
from harness import checker
from harness.children import boot_now, wait_until
from harness.kafka_broker import free_ports
from harness.metrics import metric
from harness.stream import fetch

HEARTBEAT_MS = 4500
# Heartbeats that one process may want early within one interval.
MOST = 8
CONNECTING = 30  # requests by which a client finds brokers and its group; half of it is usual


def page_of(port):
    """A process's metrics."""
    return fetch(f"http://127.0.0.1:{port}/metrics")


def intervals_in(seconds):
    """How many heartbeat intervals began in this time."""
    return int(seconds * 1000 / HEARTBEAT_MS) + 1


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
        # Without early heartbeats a leave takes 4.2 s; the bench measures it on a machine at rest.
        self.assertLess(statistics.median(leaves), 2.0)
        self.assertLess(statistics.median(joins), 2.0)
        self.assert_clean(fleet, began, boot_now())

    @staticmethod
    def asked(ports):
        """How many heartbeats each process wanted early."""
        return [metric(page_of(port), "neliroute_heartbeats_expedited_total") for port in ports]

    @staticmethod
    def sent(ports):
        """How many requests each group's client sent; librdkafka counts, and reports every 10 s."""
        return [metric(page_of(port), "neliroute_kafka_requests_total", 'client="group"')
                for port in ports]

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
        intervals = intervals_in(took)
        asked = self.asked(ports)
        self.note(f"{count} at rest after {took:.1f} s; heartbeats wanted early: {sum(asked):.0f}, "
                  f"at most {max(asked):.0f} a process, in {intervals} intervals")
        self.assertLessEqual(max(asked), MOST * intervals)
        # Nothing changes any more: what is under way ends, and the counters stand still.
        def stands_still():
            first = self.asked(ports)
            time.sleep(1.0)
            return first == self.asked(ports)
        wait_until(stands_still, 30.0, "nobody asks at rest")
        wait_until(lambda: min(self.sent(ports)) > 0, 60.0, "each client's requests counted",
                   poll=0.5)
        requests = self.sent(ports)
        took = boot_now() - began
        self.note(f"the group's clients sent {sum(requests):.0f} requests in {took:.1f} s, at most "
                  f"{max(requests):.0f} a process")
        self.assertLessEqual(sum(requests), count * (CONNECTING + MOST * intervals_in(took)))
        counts = [len(owner.leading) for owner in fleet.live()]
        self.assertTrue(checker.balanced(counts), counts)


if __name__ == "__main__":
    case.main()
