"""Voters of quorums, in a temporary folder on free ports, gone when the test is over.

A quorum has one lane's logs, so each topic of a test is a quorum of its own, whose voters are
started when it is first heard of.

    with QuorumCluster() as voters:
        run(["build/neliroute", "run", "--ledger", voters.place("shop")["ledger"], …])
"""
import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

from .. import children, kafka_config
from ..kafka_admin import as_bytes
from ..kafka_broker import free_ports
from ..metrics import metric
from ..process import environment, tool_path
from . import quorum_client
from .cluster import Cluster, Server

KEPT = "60m"  # for the longest leases of any test
# A test that slows everything down slows elections down, too.
ELECTION_MS = 300 * (6 if os.environ.get("NELIROUTE_TEST_SLOW") else 1)


class Voter(Server):
    """One of them."""

    def __init__(self, folder, topic, number, ports, room):
        super().__init__(folder, f"{topic}-{number}", ports[0], room)
        self.topic = topic
        self.http = f"{self.host}:{ports[1]}"  # its admin port

    @property
    def address(self):
        """As the quorum's address has it."""
        return f"{self.host}:{self.port}"

    def metric(self, name):
        """The sum of a metric's series over the logs; "voter_leads" and the like."""
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=10) as page:
            return metric(page.read().decode(), f"neliroute_{name}")

    def is_ready(self):
        """Whether it knows who leads."""
        try:
            with urllib.request.urlopen(f"http://{self.http}/readyz", timeout=10):
                return True
        except urllib.error.HTTPError:
            return False


class QuorumCluster(Cluster):
    """Three voters, or more, for each topic, as one context manager; every way out of the block
    ends them."""

    version = "1"

    def __init__(self, members=3, *, options=(), tls=False, keep_logs=None, rooms=()):
        """`tls`: voters and clients must have a certificate of its authority. Fewer than three are
        no quorum that survives anything, so there are three."""
        super().__init__("neliroute-quorum-", keep_logs, rooms)
        self._count = max(members, 3)
        self.options = list(options)
        self.tls = tls
        self._logs = {}  # how many, by topic
        self._up = False
        if tls:
            kafka_config.make_certificates(self.folder)

    def voters(self, topic):
        """Those of a quorum."""
        return [node for node in self.nodes if node.topic == topic]

    def _ledger(self, topic, *more):
        voters = ",".join(node.address for node in self.voters(topic))
        if self.tls:
            more = (f"authorities={self.folder}/ca.pem", f"certificate={self.folder}/server.crt",
                    f"key={self.folder}/server.key", *more)
        elif self.rooms:
            more = ("insecure=1", *more)
        query = "?" + "&".join(more) if more else ""
        return f"quorum{'s' if self.tls else ''}://{voters}/{topic}{query}"

    def place(self, topic):
        """The options by which a process finds the logs."""
        if topic not in self._logs:
            self.create_topic(topic, None)
        return {"ledger": self._ledger(topic)}

    def create_topic(self, topic, _partitions, logs=1):
        """Its voters, which begin to run if the others do."""
        if not self.voters(topic):
            ports = free_ports(2 * self._count)
            self.nodes += [Voter(self.folder, topic, number + 1, pair, self.room(number))
                           for number, pair in enumerate(zip(ports[::2], ports[1::2]))]
        self._logs[topic] = logs
        if self._up:
            self.start()

    def start_node(self, node):
        """Starts one voter; it may not serve yet."""
        with open(node.folder / "log", "ab") as log:
            node.child = children.spawn(
                [*node.prefix, tool_path(), "voter", "--voter", node.address,
                 "--ledger", self._ledger(node.topic, f"dir={node.data}"),
                 "--logs", self._logs[node.topic], "--election", f"{ELECTION_MS}ms",
                 "--kept", KEPT, "--http", node.http, *self.options],
                stdout=log, stderr=subprocess.STDOUT, env=environment(node.env))

    def start(self, timeout=30.0):
        """Starts every voter that does not run; returns when all logs have leaders."""
        self._up = True
        for node in self.nodes:
            if not node.child and node.topic in self._logs:
                self.start_node(node)
        for topic, logs in self._logs.items():
            for log in range(logs):
                children.wait_until(lambda topic=topic, log=log: self._is_led(topic, log), timeout,
                                    self.log_tail)

    def stop(self, grace=0):
        """Ends all of them."""
        self._up = False
        super().stop(grace)

    def _is_led(self, topic, log):
        for node in self.voters(topic):
            if node.child and node.child.poll() is not None:
                raise RuntimeError(f"{node.name} ended with {node.child.returncode}\n"
                                   f"{self.log_tail()}")
        try:
            with self._leader(topic, log) as channel:
                return channel.ask(quorum_client.NOTHING, 1)[2] > 0
        except OSError:
            return False

    def _context(self):
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        return context

    def _leader(self, topic, log):
        return quorum_client.to_leader([node.address for node in self.voters(topic) if node.child],
                                       topic, log, self._context())

    def leader(self, topic, log=0):
        """The voter that leads this log."""
        for node in self.voters(topic):
            try:
                with quorum_client.Channel(node.address, topic, log, context=self._context()):
                    return node
            except OSError:
                pass
        raise RuntimeError(f"no voter of {topic} leads")

    def read(self, topic, log, start=0, most=None):
        """The records of a log: dicts of offset, timestamp, value (bytes), as KafkaAdmin.read() has
        them."""
        rows = [{"offset": index, "timestamp": stamp, "value": what}
                for index, stamp, what in self._entries(topic, log, start)
                if isinstance(what, bytes)]
        return rows[:most]

    def members(self, topic):
        """Whose votes count in log 0: {address: id}; empty: of those that began it."""
        found = [what for _, _, what in self._entries(topic, 0, 0) if isinstance(what, dict)]
        return found[-1] if found else {}

    def _entries(self, topic, log, start):
        found = []
        with self._leader(topic, log) as channel:
            end = None
            while end is None or start < end:
                _, _, end, entries = channel.ask(max(start, 0), quorum_client.CHUNK)
                if not entries:
                    break
                found += entries
                start = entries[-1][0] + 1
        return found

    def produce(self, topic, log, *values, key=None):
        """Writes records as they are; their offsets. There is no null value: it is an empty one;
        and no key at all."""
        with self._leader(topic, log) as channel:
            return [channel.append(as_bytes(value or b"")) for value in values]

    def end_offsets(self, topic):
        """Where each log ends."""
        ends = []
        for log in range(self._logs[topic]):
            with self._leader(topic, log) as channel:
                ends.append(channel.ask(quorum_client.NOTHING, 0)[2])
        return ends

    def topic(self, topic):
        """{"id":…, "logs": how many}; empty: there are none."""
        try:
            with self._leader(topic, 0) as channel:
                return {"id": channel.ask(quorum_client.NOTHING, 0)[0], "logs": channel.logs}
        except OSError:
            return {}

    def delete_topic(self, topic):
        """All voters lose their disks, and do not come back before the topic is made again."""
        for node in self.voters(topic):
            self.stop_node(node)
            shutil.rmtree(node.data, ignore_errors=True)
        del self._logs[topic]
