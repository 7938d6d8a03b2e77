"""Real Apache Kafka brokers in a temporary folder on free ports, gone when the test is over.

    with KafkaBroker("4.1.1", session_ms=500, heartbeat_ms=50) as kafka:
        kafka.admin.create_topic("neliroute", 64)
        run(["build/neliroute", "run", "--brokers", kafka.bootstrap, …])

KRaft without ZooKeeper; the first `controllers` nodes are controllers as well.
"""
import fcntl
import os
import random
import shutil
import socket
import subprocess
import tempfile
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from . import children, class_archive, deps, kafka_config
from .kafka_admin import KafkaAdmin
from .stores.cluster import Freezable


_reserved = []  # files, each locked for a port that was given out here, until this process ends


def _reserve(port):
    """Whether no test that runs now, this one included, has been given this port."""
    folder = Path(tempfile.gettempdir()) / f"neliroute-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    file = open(folder / str(port), "w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _reserved.append(file)
    return True


def free_ports(count):
    """Ports below the kernel's ephemeral range, so no outgoing connection takes one meanwhile."""
    found = []
    while len(found) < count:
        port = random.randrange(15_000, 32_000)
        if not _reserve(port):
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found


class _Node(Freezable):
    """One broker process and its files."""

    def __init__(self, folder, node_id, host, port, controller_port, data, env, prefix):
        self.folder = folder / f"node{node_id}"
        self.folder.mkdir()
        self.node_id = node_id
        self.host = host
        self.data = Path(data) if data else self.folder / "data"
        self.env = env and {**os.environ, **env}
        self.port = port
        self.controller_port = controller_port  # None: it is no controller
        self.prefix = list(prefix)
        self.properties = self.folder / "server.properties"
        self.log_path = self.folder / "broker.log"
        self.child = None
        self._log_start = 0

    def launch(self, command):
        """Starts the broker; what it logged in an earlier life is not taken for this one's."""
        with open(self.log_path, "ab") as log:
            self._log_start = log.tell()
            self.child = children.spawn([*self.prefix, *command], stdout=log,
                                        stderr=subprocess.STDOUT, env=self.env)

    def started(self):
        """Whether this life of the broker says it is up.

        The cluster's list of brokers does not tell: a killed broker stays in it for its session.
        """
        with open(self.log_path, "rb") as log:
            log.seek(self._log_start)
            return b"Transition from STARTING to STARTED" in log.read()


class KafkaBroker:
    """One or more brokers as one context manager; every way out of the block ends them.

    With `security` (kafka_config.Security) clients come by SASL_SSL and ACLs are in force.
    `keep_logs` is a folder: set `failed = True` and the brokers' logs are copied there on exit.
    `hosts` are the addresses the brokers listen on, one each; `data` and `envs` give a node id's
    broker a log folder and more environment (a small disk, another clock), `prefixes` a command
    that ends by executing the broker in its own place, as nsenter does.
    """

    def __init__(self, version=deps.DEFAULT_VERSION, *, session_ms=500, heartbeat_ms=50,
                 classic_min_session_ms=50, brokers=1, port=None, properties=None, security=None,
                 keep_logs=None, hosts=(), data=None, envs=None, controllers=1, prefixes=None,
                 heap="512m"):
        self.version = version
        self.security = security
        self.failed = False
        self._keep_logs = keep_logs
        self._admin = None
        self._admin_log = None
        self._heap = heap
        self.folder = Path(tempfile.mkdtemp(prefix="neliroute-kafka-"))
        ports = free_ports(brokers + controllers)
        controller_ports = [*ports[brokers:], *[None] * (brokers - controllers)]
        if port:
            ports[0] = port
        hosts = hosts or ["127.0.0.1"] * brokers
        self.nodes = [_Node(self.folder, i + 1, hosts[i], ports[i], controller_ports[i],
                            (data or {}).get(i + 1), (envs or {}).get(i + 1),
                            (prefixes or {}).get(i + 1, ()))
                      for i in range(brokers)]
        self.bootstrap = ",".join(f"{node.host}:{node.port}" for node in self.nodes)
        self._cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if security:
            security.make_files(self.folder)
        settings = kafka_config.group_settings(version, session_ms, heartbeat_ms,
                                               classic_min_session_ms)
        settings.update(properties or {})
        for node in self.nodes:
            text = kafka_config.server_properties(node, self.nodes, settings, security)
            node.properties.write_text(text, encoding="utf-8")
            os.chmod(node.properties, 0o600)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.failed = True
            self.close()
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.failed = self.failed or (kind is not None and not issubclass(kind, SystemExit))
        self.close()

    def place(self, topic):
        """The options by which a process finds the logs."""
        return {"brokers": self.bootstrap, "topic": topic}

    def start(self, timeout=60.0, only=None):
        """Starts every node that does not run, or `only` one; returns when they accept clients."""
        self.format()
        for node in self.nodes:
            if only in (None, node.node_id):
                self._launch(node)
        self.wait_ready(timeout)

    def format(self):
        """Writes the storage folders of the nodes that have none yet (also done by start)."""
        waiting = []
        for node in self.nodes:
            if not node.data.exists():
                command = [*self._java("256m"), "kafka.tools.StorageTool", "format",
                           f"--cluster-id={self._cluster_id}", "-c", node.properties]
                if self.security:
                    command += self.security.format_arguments()
                log = open(node.log_path, "ab")
                waiting.append((children.spawn(command, stdout=log, stderr=log), log))
        for child, log in waiting:
            code = child.wait(60)
            children.end(child)
            log.close()
            if code:
                raise RuntimeError(f"format: exit {code}\n{self.log_tail()}")

    def _java(self, heap):
        """C1 only and the serial collector: half the start time, and steady on two busy cores."""
        jars = deps.kafka_jars(self.version)
        return [deps.need("java"), *self.archive_options(), f"-Xmx{heap}",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
                "-Dorg.slf4j.simpleLogger.showDateTime=true",
                "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
                "-Dorg.slf4j.simpleLogger.showThreadName=false", "-cp", f"{jars}/*"]

    def archive_options(self):
        """The JVM's options; the archive is made before this version's first broker here."""
        return class_archive.use(self.version, lambda file: _Recorder(self.version, file).record())

    def _launch(self, node):
        if not node.child or node.child.poll() is not None:
            node.launch([*self._java(self._heap), "kafka.Kafka", node.properties])

    def wait_ready(self, timeout=60.0):
        """Returns when all brokers are registered and unfenced; fails early if one died."""
        running = [node for node in self.nodes if node.child]

        def all_started():
            for node in running:
                if node.child.poll() is not None:
                    raise RuntimeError(f"broker {node.node_id} ended with "
                                       f"{node.child.returncode}\n{self.log_tail()}")
            return all(node.started() for node in running)

        # The helper starts meanwhile: its JVM takes as long as the broker's does.
        admin = self.admin
        children.wait_until(all_started, timeout, lambda: f"brokers up\n{self.log_tail()}")
        admin.wait_ready(len(running), timeout=10)

    @property
    def admin(self):
        """The administration helper; started at first use."""
        if self._admin is None:
            properties = None
            if self.security:
                properties = self.security.admin_properties(self.folder)
            self._admin_log = open(self.folder / "admin.log", "ab")
            self._admin = KafkaAdmin(self.version, self.bootstrap, self._admin_log, properties,
                                     self.archive_options())
        return self._admin

    def stop_node(self, node_id, grace=10.0):
        """Stops one broker and keeps its data; start() brings it back. grace=0 is a crash."""
        node = self.nodes[node_id - 1]
        children.end(node.child, grace)
        node.child = None

    def stop(self, grace=10.0):
        """Stops all brokers and keeps their data, the controller last."""
        for node in reversed(self.nodes):
            if node.child:
                self.stop_node(node.node_id, grace)

    def log_tail(self, lines=40):
        """The end of every broker's log, for a failure's message."""
        parts = []
        for node in self.nodes:
            if node.log_path.exists():
                text = node.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
                parts += [f"--- {node.log_path}", *text[-lines:]]
        return "\n".join(parts)

    def close(self):
        """Ends everything. The data is thrown away, so there is nothing to shut down in order."""
        if self._admin:
            self._admin.close()
            self._admin_log.close()
            self._admin = None
        for node in reversed(self.nodes):
            if node.child:
                children.end(node.child, grace=0)
                node.child = None
        if self.failed and self._keep_logs:
            self._copy_logs(Path(self._keep_logs))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _copy_logs(self, target):
        target.mkdir(parents=True, exist_ok=True)
        for node in self.nodes:
            if node.log_path.exists():
                shutil.copy(node.log_path, target / f"broker{node.node_id}.log")
        if (self.folder / "admin.log").exists():
            shutil.copy(self.folder / "admin.log", target)


class _Recorder(KafkaBroker):
    """A broker that writes the archive of its classes when it ends."""

    def __init__(self, version, file):
        super().__init__(version)
        self._file = file

    def archive_options(self):
        return []

    def _launch(self, node):
        java, *rest = self._java(self._heap)
        node.launch([java, f"-XX:ArchiveClassesAtExit={self._file}", "-Xlog:disable", *rest,
                     "kafka.Kafka", node.properties])

    def record(self):
        """Starts it and lets it end by itself."""
        with self:
            self.stop(grace=60.0)
