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
import urllib.request

from .. import children, deps, kafka_config
from ..kafka_broker import free_ports
from .cluster import Cluster, Server


def encoded(text):
    """As etcd's JSON gateway has keys and values."""
    return base64.b64encode(text.encode()).decode()


def decoded(text):
    """The same, back."""
    return base64.b64decode(text).decode()


class _Member(Server):
    """One of them, with a port for the others."""

    def __init__(self, folder, number, scheme):
        port, self.peer_port = free_ports(2)
        super().__init__(folder, f"m{number}", port)
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

    def __init__(self, members=1, *, options=(), tls=False, keep_logs=None):
        """`tls`: clients must have a certificate of its authority."""
        super().__init__("neliroute-etcd-", keep_logs)
        self.tls = tls
        self.nodes = [_Member(self.folder, number + 1, "https" if tls else "http")
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
        return [deps.need("etcd"), "--name", node.name, "--data-dir", node.folder / "data",
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

    def leader(self):
        """The member that leads."""
        for node in self.nodes:
            if node.child:
                status = self.call("/v3/maintenance/status", {}, node)
                if status["leader"] == status["header"]["member_id"]:
                    return node
        raise RuntimeError("no member leads")

    def keys(self, prefix):
        """{key: its value and revision} of all below it."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.call("/v3/kv/range", {"key": encoded(prefix), "range_end": encoded(end)})
        return {decoded(one["key"]): (decoded(one.get("value", "")), int(one["mod_revision"]))
                for one in found.get("kvs", [])}

    def read(self, topic, log, start=0, most=None):
        """The newest record of each kind, as KafkaAdmin.read() has a log's records."""
        rows = [{"offset": revision, "value": value.partition(" ")[2]}
                for value, revision in self.keys(f"{topic}/log/{log}/").values()]
        rows = sorted((row for row in rows if row["offset"] >= start),
                      key=lambda row: row["offset"])
        return rows[:most]

    def topic(self, topic):
        """What says that the logs are there; nothing: they are not."""
        return self.keys(f"{topic}/id")

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
