"""Three brokers with Kafka's own timings, and the ways in which one or all of them go for a while.

Each has a network namespace of its own (tests/chaos/network.py), so that a link between two of them
can be cut. Broker 1 is the controller. Broker 3 leads every log of ours, broker 2 leads none.
"""
import contextlib
import os
import signal

from harness.children import wait_until
from harness.kafka_admin import AdminError
from harness.kafka_broker import KafkaBroker

import network

BROKERS, FOLLOWER, LEADER = 3, 2, 3
LOGS = 4
# The harness has shorter ones, under which no test would see the loss of a broker.
STOCK = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000,
         "default.replication.factor": BROKERS, "min.insync.replicas": 2,
         "offsets.topic.replication.factor": BROKERS}
WHOLE_S = 180  # until a broker that was away for ten minutes is in sync


def make_rooms(folder):
    """The network, once for a run: a link goes some time after its namespace has gone."""
    network.make_hub()
    return {node: network.Room(node, folder) for node in range(1, BROKERS + 1)}


class Cluster:
    """The brokers."""

    def __init__(self, rooms):
        self.rooms = rooms
        self.kafka = KafkaBroker(
            session_ms=None, brokers=BROKERS, properties=STOCK, hosts=network.BROKERS,
            prefixes={node: room.prefix() for node, room in rooms.items()})

    def make_ledger(self, topic):
        """A topic as docs/operating.md wants it."""
        self.kafka.admin.create_topic(topic, LOGS, replicas=[LEADER, 1, FOLLOWER],
                                      min_insync_replicas=2)

    def wait_whole(self, topics):
        """Until all brokers have everything, and lead what they led at first."""
        def whole():
            try:
                for topic in topics:
                    if min(self.kafka.admin.topic(topic)["in_sync"]) < BROKERS:
                        return False
                    for log, leader in enumerate(self.kafka.admin.topic(topic)["leaders"]):
                        if leader != LEADER:
                            self.kafka.admin.move_leader(topic, log, LEADER)
            except (AdminError, TimeoutError):
                return False
            return True
        wait_until(whole, WHOLE_S, lambda: f"all in sync\n{self.kafka.log_tail()}", poll=0.5)


@contextlib.contextmanager
def killed(cluster, nodes):
    """SIGKILL; they are started again at the end."""
    for node in nodes:
        cluster.kafka.stop_node(node, grace=0)
    yield
    cluster.kafka.start(timeout=WHOLE_S)


@contextlib.contextmanager
def frozen(cluster, nodes):
    """SIGSTOP, until SIGCONT."""
    children = [cluster.kafka.nodes[node - 1].child for node in nodes]
    for child in children:
        os.kill(child.pid, signal.SIGSTOP)
    yield
    for child in children:
        os.kill(child.pid, signal.SIGCONT)


@contextlib.contextmanager
def lagging(cluster, nodes):
    """They live for the controller and for clients, and can fetch nothing from the leader."""
    mends = [cluster.rooms[node].cut("both", (network.BROKERS[LEADER - 1],)) for node in nodes]
    yield
    for mend in mends:
        mend()


ALL = range(1, BROKERS + 1)
FAULTS = {"one-killed": (killed, [FOLLOWER]), "one-frozen": (frozen, [FOLLOWER]),
          "one-lagging": (lagging, [FOLLOWER]), "leader-killed": (killed, [LEADER]),
          "leader-frozen": (frozen, [LEADER]), "all-frozen": (frozen, ALL),
          "all-killed": (killed, ALL)}


def away(cluster, fault):
    """The fault, from `with` to its end."""
    make, nodes = FAULTS[fault]
    return make(cluster, nodes)
