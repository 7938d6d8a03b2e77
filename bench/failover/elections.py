"""Elections on etcd and on ZooKeeper, with the same kills as for neliroute.

A server and a few members in Java, each of which is a candidate for every role. A member itself
writes when it gains or loses a role (EventFile.java), so nothing is measured by polling.
"""
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from harness import children, deps
from harness.children import wait_until
from harness.kafka_broker import free_ports
from harness.process import LineFile

from group import peak

HERE = Path(__file__).resolve().parent
ZOOKEEPER, CURATOR, JETCD = "3.8.4", "5.7.1", "0.7.7"
# As for the Kafka brokers: quick to start, and steady on two busy cores.
JAVA_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]


def zookeeper_jars():
    """ZooKeeper's server needs two libraries that its pom does not bring."""
    return deps.maven_jars(f"zookeeper-{ZOOKEEPER}-{CURATOR}",
                           (f"org.apache.zookeeper:zookeeper:{ZOOKEEPER}",
                            "ch.qos.logback:logback-classic", "ch.qos.logback:logback-core"),
                           (f"org.apache.curator:curator-recipes:{CURATOR}",),
                           ("io.dropwizard.metrics:metrics-core:4.1.12.1",),
                           ("org.xerial.snappy:snappy-java:1.1.10.5",),
                           ("org.slf4j:slf4j-simple:1.7.36",))


def etcd_jars():
    """etcd's Java client."""
    return deps.maven_jars(f"jetcd-{JETCD}", (f"io.etcd:jetcd-core:{JETCD}",),
                           ("org.slf4j:slf4j-simple:2.0.9",))


def classes(member, jars):
    """The compiled member."""
    return deps.java_classes(member, jars, HERE / f"{member}.java", HERE / "EventFile.java")


class Server:
    """One server in a folder of its own, gone with the `with` block."""
    name = member = ""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.port = 0
        self._log = self.folder / "server.log"
        self._child = None

    def _command(self):
        raise NotImplementedError

    def _ready(self):
        raise NotImplementedError

    def jars(self):
        """The folder with what members need."""
        raise NotImplementedError

    def address(self):
        """What members connect to."""
        raise NotImplementedError

    def term(self, session_ms):
        """A member's argument for that session."""
        return session_ms

    def __enter__(self):
        with open(self._log, "wb") as log:
            self._child = children.spawn(self._command(), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(self._up, 60, lambda: f"{self.name} up\n{self.log_tail()}")
        except BaseException:
            children.end(self._child, grace=0)
            raise
        return self

    def __exit__(self, *_):
        children.end(self._child, grace=0)

    def _up(self):
        if self._child.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self._child.returncode}\n"
                               f"{self.log_tail()}")
        try:
            return self._ready()
        except OSError:
            return False

    def log_tail(self):
        """The end of what it said."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:]


class Zookeeper(Server):
    """A server alone. Its ticks are short, since sessions expire by the tick."""
    name, member = "ZooKeeper", "LatchMember"
    tick_ms = 20

    def _command(self):
        self.port, = free_ports(1)
        settings = {"tickTime": self.tick_ms, "maxSessionTimeout": 60_000,
                    "dataDir": self.folder / "data", "clientPort": self.port,
                    "clientPortAddress": "127.0.0.1", "maxClientCnxns": 0,
                    "admin.enableServer": "false"}
        file = self.folder / "zoo.cfg"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()),
                        encoding="utf-8")
        return [deps.need("java"), "-Xmx512m", *JAVA_OPTIONS, "-cp", f"{self.jars()}/*",
                "org.apache.zookeeper.server.ZooKeeperServerMain", file]

    def _ready(self):
        socket.create_connection(("127.0.0.1", self.port), 1).close()
        return True

    def jars(self):
        return zookeeper_jars()

    def address(self):
        return f"127.0.0.1:{self.port}"


class Etcd(Server):
    """A server alone, with the shortest election timeout, on which its smallest lease depends."""
    name, member = "etcd", "CampaignMember"
    heartbeat_ms, election_ms = 10, 100

    def _command(self):
        self.port, peer = free_ports(2)
        ours, peers = (f"http://127.0.0.1:{port}" for port in (self.port, peer))
        return [deps.need("etcd"), "--name", "one", "--data-dir", self.folder / "data",
                "--listen-client-urls", ours, "--advertise-client-urls", ours,
                "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                "--initial-cluster", f"one={peers}", "--heartbeat-interval", self.heartbeat_ms,
                "--election-timeout", self.election_ms, "--logger", "zap", "--log-level", "warn"]

    def _ready(self):
        with urllib.request.urlopen(f"{self.address()}/health", timeout=1) as answer:
            return json.load(answer)["health"] == "true"

    def jars(self):
        return etcd_jars()

    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def term(self, session_ms):
        """Leases are whole seconds; etcd raises what is below its least."""
        return 1


class Member:
    """One process that runs for every role."""

    def __init__(self, server, number, roles, term):
        self.key = f"member-{number}"
        self.holds = set()
        self.queued = False
        self.negotiated_ms = None
        self.lost = 0
        folder = server.folder
        self.events = LineFile(folder / f"{self.key}.events")
        self.errors = folder / f"{self.key}.err"
        self._spawned = time.monotonic()
        jars = server.jars()
        with open(self.errors, "wb") as errors:
            self.child = children.spawn(
                [deps.need("java"), "-Xmx128m", *JAVA_OPTIONS,
                 "-cp", f"{classes(server.member, jars)}:{jars}/*", server.member,
                 server.address(), term, roles, self.key, self.events.path],
                stdout=errors, stderr=subprocess.STDOUT)

    def refresh(self):
        """Reads what it says since the last call, and returns it."""
        new = self.events.read()
        for row in new:
            event = row["event"]
            if event == "started" and not self._spawned <= row["at"] <= time.monotonic():
                raise RuntimeError(f"{self.key} has another clock than this process")
            if event == "session":
                self.negotiated_ms = row["ms"]
            elif event in ("queued", "unqueued"):
                self.queued = event == "queued"
            elif event == "gained":
                self.holds.add(row["role"])
            elif event == "lost":
                self.holds.discard(row["role"])
                self.lost += 1
        return new

    def running(self):
        """Whether it is still there."""
        return self.child.poll() is None

    def kill(self):
        """SIGKILL; the instant is read before, when it certainly still held its roles."""
        instant = time.monotonic()
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait()
        return instant


class Members:
    """All members on one server."""

    def __init__(self, server, processes, roles, session_ms):
        self._server, self._processes, self.roles = server, processes, roles
        self._term = server.term(session_ms)
        self._all = []
        self.taken, self.peaks, self.held = [], [], []

    def __enter__(self):
        try:
            for _ in range(self._processes):
                self._start()
            self._rest()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """No member is left."""
        for member in self._all:
            children.end(member.child, grace=0)

    def _start(self):
        self._all.append(Member(self._server, len(self._all) + 1, self.roles, self._term))

    def _refresh(self):
        """What is new, with its member; fails at once if one ended that was not killed."""
        new = []
        for member in self._all:
            new += [(member, row) for row in member.refresh()]
            if not member.running() and member.child.returncode != -signal.SIGKILL:
                raise RuntimeError(f"{member.key} ended by itself\n"
                                   f"{member.errors.read_text(errors='replace')[-2000:]}")
        return new

    def live(self):
        """The members that run."""
        return [member for member in self._all if member.running()]

    def _at_rest(self):
        self._refresh()
        held = sorted(role for member in self.live() for role in member.holds)
        return held == list(range(self.roles)) and all(member.queued for member in self.live())

    def _rest(self):
        """Until every role has one holder, and everybody waits for every other role."""
        wait_until(self._at_rest, 60, lambda: "at rest: " + ", ".join(
            f"{member.key}{'' if member.queued else ' (not queued)'} holds {len(member.holds)}"
            for member in self.live()))
        self.peaks.append(peak(len(member.holds) for member in self.live()))

    def kills(self, count):
        """SIGKILL of the one that holds most, again and again, each replaced by a new one."""
        for turn in range(count):
            self._refresh()
            victim = max(self.live(), key=lambda member: len(member.holds))
            wanted, first = set(victim.holds), {}
            since = victim.kill()

            def held_again():
                for member, row in self._refresh():
                    if (member is not victim and row["event"] == "gained" and row["at"] > since
                            and row["role"] in wanted):
                        first.setdefault(row["role"], row["at"])
                return len(first) == len(wanted) and max(first.values())
            seconds = wait_until(held_again, 60, lambda: f"{len(wanted)} roles held again, "
                                 f"{len(first)} are") - since
            self.taken.append(seconds)
            self.held.append(len(wanted))
            print(f"kill {turn}: {len(wanted)} roles held again after {seconds * 1000:.0f} ms",
                  flush=True)
            self._start()
            self._rest()

    def result(self):
        """What was measured."""
        return {"times_ms": [seconds * 1000 for seconds in self.taken],
                "held_by_victim": self.held, "peaks": self.peaks,
                "lost_unprovoked": sum(member.lost for member in self._all),
                "negotiated_ms": sorted({member.negotiated_ms for member in self._all
                                         if member.negotiated_ms})}
