"""A pgbouncer before a PostgreSQL, in its folder: a connection of the server's for each
transaction."""
import os
from pathlib import Path

from .. import children
from ..kafka_broker import free_ports
from .postgres import psql, unprivileged
from .postgres_cluster import DATABASE, USER

PROGRAM = Path("/usr/sbin/pgbouncer")  # which is not in every user's PATH


class PgBouncer:
    """It runs while the `with` block lasts; `uri` is where."""

    def __init__(self, postgres):
        if not PROGRAM.exists():
            raise FileNotFoundError(f"no {PROGRAM}: run scripts/setup --tests")
        self.folder = postgres.folder / "pgbouncer"
        self.folder.mkdir()
        self._server = postgres.leader()
        self._port, = free_ports(1)
        self.uri = f"postgres://{USER}@127.0.0.1:{self._port}/{DATABASE}"
        self._child = None

    def _write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def __enter__(self):
        options, user, group = unprivileged()
        users = self._write("users.txt", f'"{USER}" ""\n')
        server = self._server
        settings = self._write("pgbouncer.ini", f"""\
[databases]
{DATABASE} = host={server.host} port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self._port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
""")
        os.chown(self.folder, user, group)
        log = self.folder / "log"
        with open(log, "wb") as out:
            self._child = children.spawn([PROGRAM, settings], stdout=out, stderr=out,
                                         cwd=self.folder, **options)
        children.wait_until(lambda: psql(self.uri, "SELECT 1").returncode == 0, 20,
                            lambda: f"pgbouncer serves\n{log.read_text()}")
        return self

    def __exit__(self, *_):
        children.end(self._child)
