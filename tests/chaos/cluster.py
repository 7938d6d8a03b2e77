"""Two or three brokers that can be hurt: the second one has a clock of its own and a small disk.

All of them keep every topic. Three are what production has: replication 3, two in-sync replicas to
write, and each a controller. Of two, one is the controller, and one in-sync replica suffices to
write. So one broker can always go. No acknowledged record may be lost with it (docs/protocol.md,
assumption 1): before a broker is hurt, all hold everything (`whole`).
"""
import time
from pathlib import Path

from harness.children import boot_now, wait_until
from harness.kafka_admin import AdminError
from harness.kafka_broker import KafkaBroker

import network

LOGS = 4
OFFSETS = "__consumer_offsets"
CLOCK = "chaos-clock"
SEEN_WITHIN_MS = 20  # a record that took longer to be written shows no skew of this size
DISK = "4g"  # only what is used of it takes memory
ALL_LOGS = list(range(LOGS))
PROBE = "not a record of ours"
# Kafka's own times; and by default shorter ones, so that a run sees many faults. Who finds a broker
# dead after `broker.session.timeout.ms`, or lagging after `replica.lag.time.max.ms`, has seen to it
# within LONGEST_CUT.
STOCK = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000,
         "replica.lag.time.max.ms": 30_000}
SHORT = {"broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 200,
         "replica.lag.time.max.ms": 5000}
LONGEST_CUT = {False: 8.0, True: 50.0}  # where times are stock


def faketime():
    """The library that gives a JVM another clock."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise RuntimeError("libfaketime not found: run `scripts/setup --tests`")
    return found[0]


class Cluster:
    """The brokers, where their leaders are, and the second one's clock and disk."""

    def __init__(self, folder, speaks, session_ms, topic, partitions, brokers, stock=False):
        """`session_ms` None: brokers as they come, and no group on them. `stock`: Kafka's times."""
        self.longest_cut = LONGEST_CUT[stock]
        self.topic, self.partitions = topic, partitions
        self.grouped = session_ms is not None
        self.nodes = range(1, brokers + 1)
        self.rooms = {node: network.Room(node, folder) for node in self.nodes}
        self._clock = Path(folder) / "clock"
        self._disk = Path(folder) / "disk"
        self._disk.mkdir()
        network.run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "chaos", self._disk)
        self.skew_ms = 0
        self._write_clock(0)
        # Its monotonic clocks stay true: timeouts are not what is tested. Without the second switch
        # every timed wait of the JVM would spin. The file is read anew once a second, so the clock
        # steps while the broker runs.
        clock = {"LD_PRELOAD": str(faketime()), "DONT_FAKE_MONOTONIC": "1",
                 "FAKETIME_FORCE_MONOTONIC_FIX": "0",
                 "FAKETIME_TIMESTAMP_FILE": str(self._clock), "FAKETIME_CACHE_DURATION": "1"}
        self.kafka = KafkaBroker(
            speaks.version, session_ms=session_ms, brokers=brokers,
            heartbeat_ms=session_ms // 10 if self.grouped else None,
            controllers=brokers if brokers > 2 else 1, heap="256m",
            hosts=network.BROKERS, data={2: self._disk / "data"}, envs={2: clock},
            prefixes={node: room.prefix() for node, room in self.rooms.items()},
            keep_logs=Path(folder) / "brokers",
            # Leaders move when this run moves them, and never by themselves.
            properties={"auto.leader.rebalance.enable": "false",
                        "min.insync.replicas": self.least_in_sync,
                        **(STOCK if stock else SHORT)})

    @property
    def least_in_sync(self):
        """How many brokers must have a record before it is acknowledged."""
        return len(self.nodes) - 1

    def others(self, node):
        """The brokers beside this one."""
        return [other for other in self.nodes if other != node]

    def is_only_controller(self, node):
        """Whether nobody can elect leaders without this broker."""
        return len(self.nodes) == 2 and node == 1

    @property
    def admin(self):
        """Kafka's administration."""
        return self.kafka.admin

    def make_topics(self):
        """The ledger, and a topic to see the second broker's clock by."""
        self.make_ledger()
        self.admin.create_topic(CLOCK, 1, replication=len(self.nodes))

    def make_ledger(self):
        """Its logs led by all brokers in turn."""
        self.admin.create_topic(self.topic, self.partitions, replication=len(self.nodes),
                                min_insync_replicas=self.least_in_sync)

    def coordinator(self):
        """The broker that coordinates the group."""
        return self.admin.topic(OFFSETS)["leaders"][0]

    def coordinates(self, group):
        """Whether there is a coordinator; who asks for the first time has one made."""
        try:
            self.admin.group(group)
        except AdminError:
            pass  # there is no such group yet
        try:
            return self.coordinator() > 0
        except AdminError:
            return False

    def leaders(self):
        """The broker that leads each log."""
        return self.admin.topic(self.topic)["leaders"][:LOGS]

    def all_leaders(self):
        """The brokers that lead a log, or coordinate the group if there is one."""
        return [*self.leaders(), *([self.coordinator()] if self.grouped else [])]

    def move_log(self, log, broker):
        """Another leader for a log."""
        self.admin.move_leader(self.topic, log, broker)

    def move_coordinator(self, broker):
        """Another coordinator for the group."""
        self.admin.move_leader(OFFSETS, 0, broker)

    def apart(self):
        """Whether one broker coordinates and another one leads all logs."""
        leaders = set(self.leaders())
        return len(leaders) == 1 and self.coordinator() not in leaders

    def whole(self):
        """Whether all brokers have everything that was acknowledged."""
        try:
            topics = (self.topic, OFFSETS) if self.grouped else (self.topic,)
            return all(count == len(self.nodes) for topic in topics
                       for count in self.admin.topic(topic)["in_sync"])
        except AdminError:
            return False

    def wait_whole(self, timeout=60):
        """Until all have everything."""
        wait_until(self.whole, timeout, "all brokers in sync", poll=0.1)

    def wait_writable(self, timeout=60):
        """Until a record is acknowledged in each log: brokers that lost each other retry ever more
        rarely, and who is in sync by the controller's word may not be reached yet."""
        def written(log):
            try:
                return bool(self.admin.produce(self.topic, log, PROBE))
            except AdminError:
                return False
        for log in ALL_LOGS:
            wait_until(lambda log=log: written(log), timeout, f"log {log} can be written")

    def left(self, broker):
        """Whether no log, nor the group, is led by this broker any more."""
        try:
            return broker not in self.all_leaders()
        except AdminError:
            return False

    def _write_clock(self, skew_ms):
        fresh = self._clock.with_suffix(".new")
        fresh.write_text(f"{skew_ms / 1000:+.3f}\n", encoding="ascii")
        fresh.replace(self._clock)

    def seen_skew_ms(self):
        """How far the second broker's clock is from ours, by the stamp of a record it leads."""
        if self.admin.topic(CLOCK)["leaders"][0] != 2:
            self.admin.move_leader(CLOCK, 0, 2)
        before = time.time()
        offset, = self.admin.produce(CLOCK, 0, "tick")
        after = time.time()
        stamp = self.admin.read(CLOCK, 0, offset, most=1)[0]["timestamp"] / 1000
        # A stamp that lies between the two readings, to the millisecond, shows no skew at all.
        return round(1000 * (stamp - (before + after) / 2)), round(1000 * (after - before) / 2 + 1)

    def step_clock(self, skew_ms):
        """Sets the second broker's clock, and returns what it is seen to be."""
        self.skew_ms = skew_ms
        self._write_clock(skew_ms)

        give_up_at = boot_now() + 10

        def stepped():
            seen, error = self.seen_skew_ms()
            # A busy machine may not answer as quickly as that; then it is seen less exactly.
            exact = error <= SEEN_WITHIN_MS or boot_now() > give_up_at
            return (seen,) if exact and abs(seen - skew_ms) <= error else None
        return wait_until(stepped, 60, f"a clock {skew_ms} ms off", poll=0.2)[0]

    def close(self):
        """The disk is no more; call it when the brokers have ended."""
        network.run("umount", self._disk)
        self._disk.rmdir()
        for room in self.rooms.values():
            room.close()

    def fill_disk(self):
        """Not a byte more fits on the second broker's disk."""
        def full():
            used = network.run("df", "--output=used", self._disk).split()[-1]
            try:
                network.run("mount", "-o", f"remount,size={used}k", self._disk)
            except RuntimeError:
                return False  # the broker has written meanwhile: no disk is smaller than its data
            return True
        wait_until(full, 10, "a full disk", poll=0.001)

    def empty_disk(self):
        """There is room again."""
        network.run("mount", "-o", f"remount,size={DISK}", self._disk)

    def ended(self, broker):
        """Whether the broker has ended by itself."""
        return self.kafka.nodes[broker - 1].child.poll() is not None
