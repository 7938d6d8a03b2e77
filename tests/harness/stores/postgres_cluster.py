"""A real PostgreSQL of one server, or a primary and two standbys, in a temporary folder on free
ports, gone when the test is over. Debian's, with its own settings.

    with PostgresCluster(members=3) as postgres:
        run(["build/neliroute", "run", "--ledger", postgres.place("shop")["ledger"], …])
"""
import os
import shutil
import signal
import subprocess
from pathlib import Path

from .. import children, kafka_config
from ..kafka_admin import as_bytes
from ..kafka_broker import free_ports
from ..process import run_tool
from .cluster import Cluster, Server
from .postgres import make_data, program, rows_of, run_program, unprivileged

DATABASE = "shop"
USER = "keeper"  # has the rights that `neliroute schema` names, and no others


class _Database(Server):
    """One server with its children."""

    def conninfo(self, database=DATABASE, user="postgres"):
        """How libpq reaches it."""
        return (f"host={self.host} port={self.port} user={user} dbname={database} "
                "connect_timeout=5")

    def _children(self):
        text = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def freeze(self):
        """SIGSTOP: the one that makes the others first, so that no more of them come."""
        super().freeze()
        for pid in self._children():
            children.stop(pid)

    def thaw(self):
        """SIGCONT, if it was not killed meanwhile."""
        if self.child:
            for pid in self._children():
                os.kill(pid, signal.SIGCONT)
            super().thaw()

    def crash(self):
        """SIGKILL for all of it."""
        super().freeze()
        for pid in self._children():
            os.kill(pid, signal.SIGKILL)
        self.child.kill()

    def query(self, sql, **options):
        """As the superuser: the rows, each a list of texts."""
        return rows_of(self.conninfo(), sql, **options)

    def log_in_by(self, *lines):
        """Puts these lines of pg_hba.conf before the others."""
        path = self.data / "pg_hba.conf"
        path.write_text("\n".join([*lines, path.read_text()]))
        self.query("SELECT pg_reload_conf()")


class PostgresCluster(Cluster):
    """One or more servers as one context manager; every way out of the block ends them.

    Of several each has the others as its standbys, one of which must have what is committed.
    """

    version = "15"

    def __init__(self, members=1, *, options=(), tls=False, keep_logs=None):
        """`tls`: it has a certificate."""
        super().__init__("neliroute-postgres-", keep_logs)
        self.options = list(options)
        self.tls = tls
        self.nodes = [_Database(self.folder, name, port)
                      for name, port in zip("abcdefgh"[:members], free_ports(members))]
        self.primary = self.nodes[0]
        self._start_options, user, group = unprivileged()
        if tls:
            kafka_config.make_certificates(self.folder)
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, user, group)
        if tls:
            (self.folder / "server.key").chmod(0o600)

    def uri(self, user=USER, nodes=None):
        """As libpq has it, with any password behind a colon. `nodes`: those that it names."""
        hosts = ",".join(f"{node.host}:{node.port}" for node in nodes or self.nodes)
        return f"postgres://{user}@{hosts}/{DATABASE}"

    def place(self, topic, query="", nodes=None):
        """The options by which a process finds the logs."""
        return {"ledger": f"{self.uri(nodes=nodes)}?topic={topic}{query}"}

    def _command(self, node):
        settings = {"listen_addresses": node.host, "unix_socket_directories": self.folder}
        others = ", ".join(one.name for one in self.nodes if one is not node)
        if others:
            settings["synchronous_standby_names"] = f"ANY 1 ({others})"
        if self.tls:
            settings |= {"ssl": "on", "ssl_cert_file": self.folder / "server.crt",
                         "ssl_key_file": self.folder / "server.key"}
        named = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [program("postgres"), "-D", node.data, "-p", str(node.port), *named, *self.options]

    def start_node(self, node):
        """Starts one server; it may not serve yet."""
        with open(node.folder / "log", "ab") as log:
            node.child = children.spawn(self._command(node), stdout=log, stderr=log,
                                        cwd=self.folder, **self._start_options)

    def start(self, timeout=60.0):
        """Starts every server that does not run; returns when all serve. A primary whose place
        another one took comes back as a standby."""
        first = not self.primary.data.exists()
        if first:
            make_data(self.primary.data)
        self._start([self.primary], timeout)
        if first:
            self._make_database()
        for node in self._standbys():
            if not node.child and not (node.data / "standby.signal").exists():
                self._copy_primary(node)
        self._start(self._standbys(), timeout)
        self._await_standbys(timeout)

    def _start(self, nodes, timeout):
        for node in nodes:
            if not node.child:
                self.start_node(node)
        for node in nodes:
            children.wait_until(lambda node=node: self._serves(node), timeout, self.log_tail)

    def _standbys(self):
        return [node for node in self.nodes if node is not self.primary]

    def _source(self, node):
        return (f"host={self.primary.host} port={self.primary.port} user=postgres "
                f"application_name={node.name}")

    def _copy_primary(self, node):
        shutil.rmtree(node.data, ignore_errors=True)
        run_program("pg_basebackup", "-D", node.data, "-d", self._source(node), "-R",
                    "--checkpoint=fast", "--no-sync", folder=self.folder)

    def _serves(self, node):
        if node.child.poll() is not None:
            raise RuntimeError(f"PostgreSQL {node.name} ended with {node.child.returncode}\n"
                               f"{self.log_tail()}")
        try:
            in_recovery = rows_of(node.conninfo("postgres"), "SELECT pg_is_in_recovery()")
            return in_recovery == [["f" if node is self.primary else "t"]]
        except RuntimeError:
            return False

    def _await_standbys(self, timeout):
        wanted = str(sum(bool(node.child) for node in self._standbys()))
        children.wait_until(
            lambda: self.query("SELECT count(*) FROM pg_stat_replication"
                               " WHERE state = 'streaming'") == [[wanted]], timeout, self.log_tail)

    def _make_database(self):
        """As docs/operating.md says, before there are standbys that a commit would wait for."""
        schema = run_tool("schema").out
        grants = [line.partition("GRANT ")[2].replace("role;", f"{USER};")
                  for line in schema.splitlines() if line.startswith("--") and "GRANT" in line]
        local = {"env": {"PGOPTIONS": "-c synchronous_commit=local"}}
        rows_of(self.primary.conninfo("postgres"), f"CREATE DATABASE {DATABASE}", **local)
        self.primary.query(f"CREATE ROLE {USER} LOGIN;\n{schema}\n" +
                           "".join(f"GRANT {one}\n" for one in grants), **local)

    def stop_node(self, node, grace=0):
        """Ends one server and keeps its data; start() brings it back. grace=0 is a crash; else
        clients are cut off and it shuts down."""
        if node.child.poll() is None and grace:
            os.kill(node.child.pid, signal.SIGINT)
            try:
                node.child.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        if node.child.poll() is None:
            node.crash()
        super().stop_node(node)

    def leader(self, _topic=None):
        """The server that takes writes."""
        return self.primary

    def promote(self, node=None):
        """Makes that standby the primary, or the one that has received most; the others follow it.
        Who was it before is not told."""
        old, running = self.primary, [one for one in self._standbys() if one.child]
        node = node or max(running, key=self._received)
        self.primary = node
        node.query("SELECT pg_promote()")
        for other in running:
            if other is not node:
                other.query(f"ALTER SYSTEM SET primary_conninfo = '{self._source(other)}';\n"
                            "SELECT pg_reload_conf()")
        assert old is not node, "it is the primary"
        return node

    @staticmethod
    def _received(node):
        (row,), = node.query("SELECT pg_last_wal_receive_lsn() - '0/0'")
        return int(row)

    def query(self, sql, **options):
        """Of the primary, as the superuser: the rows, each a list of texts."""
        return self.primary.query(sql, **options)

    def read(self, topic, log, start=0, most=None):
        """The records of a log: dicts of offset, timestamp, value (bytes), as KafkaAdmin.read() has
        them."""
        rows = self.query(
            "SELECT position, stamped, encode(value, 'hex') FROM neliroute.record"
            f" WHERE topic = '{topic}' AND log = {log} AND position >= {start}"
            f" ORDER BY position LIMIT {most or 'ALL'}")
        return [{"offset": int(position), "timestamp": int(stamped), "value": bytes.fromhex(value)}
                for position, stamped, value in rows]

    def produce(self, topic, log, *values, key=None):
        """Writes records as they are; their offsets. There is no null value: it is an empty one;
        and no key at all."""
        array = ", ".join(f"'\\x{as_bytes(value or b'').hex()}'" for value in values)
        (first,), = self.query(
            f"SELECT neliroute.append(topic, log, id, 600000, 1000, ARRAY[{array}]::bytea[], false)"
            f" FROM neliroute.log WHERE topic = '{topic}' AND log = {log}")
        return list(range(int(first), int(first) + len(values)))

    def end_offsets(self, topic):
        """Where each log ends."""
        rows = self.query(f"SELECT next FROM neliroute.log WHERE topic = '{topic}' ORDER BY log")
        return [int(end) for end, in rows]

    def topic(self, topic):
        """{"id":…, "logs": how many}; empty: there are none."""
        rows = self.query(f"SELECT id FROM neliroute.log WHERE topic = '{topic}' ORDER BY log")
        return {"id": rows[0][0], "logs": len(rows)} if rows else {}

    def delete_topic(self, topic):
        """All its rows."""
        self.query("BEGIN;" + "".join(f"DELETE FROM neliroute.{table} WHERE topic = '{topic}';"
                                      for table in ("log", "record")) + "COMMIT")

    def create_topic(self, topic, _partitions, logs=1):
        """The logs, empty."""
        self.query(f"SELECT neliroute.make_logs('{topic}', {logs})")
