"""A real etcd of one member or three, in a temporary folder on free ports, gone when the test is
over. Debian's, with its own timings.

    with EtcdCluster(members=3) as etcd:
        run(["build/neliroute", "run", "--ledger", etcd.place("shop")["ledger"], …])
"""
import base64
import json
import os
import ssl
import subprocess
import time
import urllib.request

from .. import children, deps, kafka_config
from ..kafka_admin import as_bytes
from ..kafka_broker import free_ports
from .cluster import Cluster, Server


def encoded(value):
    """As etcd's JSON gateway has keys and values."""
    return base64.b64encode(as_bytes(value)).decode()


def decoded(text):
    """The same, back."""
    return base64.b64decode(text).decode()


def below(prefix):
    """All keys that begin so."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return {"key": encoded(prefix), "range_end": encoded(end)}


def row_of(stored):
    """A record as KafkaAdmin.read() has it."""
    stamp, _, value = base64.b64decode(stored.get("value", "")).partition(b" ")
    return {"offset": int(stored["mod_revision"]), "timestamp": int(stamp), "value": value}


class _Member(Server):
    """One of them, with a port for the others."""

    def __init__(self, folder, number, scheme, room):
        port, self.peer_port = free_ports(2)
        super().__init__(folder, f"m{number}", port, room)
        self.scheme = scheme

    @property
    def url(self):
        """For clients."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def peer_url(self):
        """For the other members."""
        return f"http://{self.host}:{self.peer_port}"


class EtcdCluster(Cluster):
    """One or more members as one context manager; every way out of the block ends them."""

    version = "3.4"

    def __init__(self, members=1, *, options=(), tls=False, keep_logs=None, rooms=()):
        """`tls`: clients must have a certificate of its authority."""
        super().__init__("neliroute-etcd-", keep_logs, rooms)
        self.tls = tls
        scheme = "https" if tls else "http"
        self.nodes = [_Member(self.folder, number + 1, scheme, self.room(number))
                      for number in range(members)]
        if tls:
            kafka_config.make_certificates(self.folder)
        self.options = list(options)

    def place(self, topic):
        """The options by which a process finds the logs."""
        servers = ",".join(f"{node.host}:{node.port}" for node in self.nodes)
        if not self.tls:
            return {"ledger": f"etcd://{servers}/{topic}"}
        files = (f"authorities={self.folder}/ca.pem&certificate={self.folder}/server.crt"
                 f"&key={self.folder}/server.key")
        return {"ledger": f"etcds://{servers}/{topic}?{files}"}

    def _command(self, node):
        cluster = ",".join(f"{one.name}={one.peer_url}" for one in self.nodes)
        return [*node.prefix, deps.need("etcd"), "--name", node.name, "--data-dir", node.data,
                "--listen-client-urls", node.url, "--advertise-client-urls", node.url,
                "--listen-peer-urls", node.peer_url, "--initial-advertise-peer-urls",
                node.peer_url, "--initial-cluster", cluster, "--log-level", "warn",
                *self._tls_options(), *self.options]

    def _tls_options(self):
        if not self.tls:
            return []
        return ["--cert-file", self.folder / "server.crt", "--key-file",
                self.folder / "server.key", "--client-cert-auth", "--trusted-ca-file",
                self.folder / "ca.pem"]

    def _context(self):
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "server.crt", self.folder / "server.key")
        return context

    def start_node(self, node):
        """Starts one member; it may not serve yet."""
        with open(node.folder / "log", "ab") as log:
            node.child = children.spawn(self._command(node), stdout=log,
                                        stderr=subprocess.STDOUT)

    def start(self, timeout=30.0):
        """Starts every member that does not run; returns when all serve."""
        for node in self.nodes:
            if not node.child:
                self.start_node(node)
        for node in self.nodes:
            children.wait_until(lambda node=node: self._serves(node), timeout, self.log_tail)

    def _serves(self, node):
        if node.child.poll() is not None:
            raise RuntimeError(f"etcd {node.name} ended with {node.child.returncode}\n"
                               f"{self.log_tail()}")
        try:
            # Linearizable: it has a leader.
            self.call("/v3/kv/range", {"key": encoded("x")}, node)
        except OSError:
            return False
        return True

    def call(self, path, body, node=None, timeout=5):
        """A request to the JSON gateway, and its answer."""
        node = node or next(node for node in self.nodes if node.child)
        request = urllib.request.Request(node.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout, context=self._context()) as answer:
            return json.load(answer)

    def leader(self, _topic=None):
        """The member that leads."""
        for node in self.nodes:
            if node.child:
                status = self.call("/v3/maintenance/status", {}, node)
                if status.get("leader") == status["header"]["member_id"]:
                    return node
        raise RuntimeError("no member leads")

    def keys(self, prefix):
        """{key: its value and revision} of all below it."""
        found = self.call("/v3/kv/range", below(prefix))
        return {decoded(one["key"]): (decoded(one.get("value", "")), int(one["mod_revision"]))
                for one in found.get("kvs", [])}

    def read(self, topic, log, start=0, most=None):
        """The records that were not compacted, also those that newer ones have replaced: dicts of
        offset, timestamp, value (bytes), as KafkaAdmin.read() has them."""
        records = below(f"{topic}/log/{log}/")
        newest = self.call("/v3/kv/range", {**records, "sort_order": "DESCEND",
                                            "sort_target": "MOD", "limit": 1}).get("kvs", [])
        rows = []
        while newest and start <= int(newest[0]["mod_revision"]):
            rows, start = self._watch(records, start, int(newest[0]["mod_revision"]))
            if start is None:
                break
        return rows[:most]

    def _watch(self, records, start, end):
        """What was put from `start` to `end`, and nothing; or, if that was compacted, to where."""
        node = next(node for node in self.nodes if node.child)
        body = {"create_request": {**records, "start_revision": max(start, 1)}}
        request = urllib.request.Request(f"{node.url}/v3/watch", json.dumps(body).encode())
        rows = []
        with urllib.request.urlopen(request, timeout=20, context=self._context()) as answer:
            while not rows or rows[-1]["offset"] < end:
                told = json.loads(answer.readline())["result"]
                if told.get("canceled"):
                    return [], int(told["compact_revision"])
                rows += [row_of(event["kv"]) for event in told.get("events", [])
                         if event.get("type") != "DELETE"]
        return rows, None

    def produce(self, topic, log, *values, key=None):
        """Writes records as they are, each at a key of its own, with the time of now; their
        offsets. `key`: what that begins with. There is no null value: it is an empty one."""
        offsets = []
        for value in values:
            place = (f"{topic}/log/{log}/".encode() + as_bytes(key or "") +
                     os.urandom(8).hex().encode())
            stored = f"{time.time_ns() // 1_000_000} ".encode() + as_bytes(value or b"")
            done = self.call("/v3/kv/put", {"key": encoded(place), "value": encoded(stored)})
            offsets.append(int(done["header"]["revision"]))
        return offsets

    def end_offsets(self, topic):
        """Where each log ends: behind all that is stored."""
        revision = self.call("/v3/kv/range", {"key": encoded("x")})["header"]["revision"]
        return [int(revision) + 1] * self.topic(topic)["logs"]

    def topic(self, topic):
        """{"id":…, "logs": how many}; empty: there are none."""
        about, _ = self.keys(f"{topic}/id").get(f"{topic}/id", ("{}", 0))
        return json.loads(about)

    def delete_topic(self, topic):
        """All keys below it."""
        self.call("/v3/kv/deleterange",
                  {"key": encoded(topic + "/"), "range_end": encoded(topic + "0")})

    def create_topic(self, topic, _partitions, logs=1):
        """The logs, empty."""
        about = {"id": os.urandom(8).hex(), "logs": logs}
        self.call("/v3/kv/put", {"key": encoded(f"{topic}/id"),
                                 "value": encoded(json.dumps(about))})

    def compact(self):
        """Drops all history but what stands now."""
        revision = self.call("/v3/kv/range", {"key": encoded("x")})["header"]["revision"]
        self.call("/v3/kv/compaction", {"revision": revision})
