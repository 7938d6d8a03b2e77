"""A PostgreSQL of the test's own, in a temporary folder, reached by a socket there."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .. import children


def _program(name):
    """One of the server's programs, which Debian keeps off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
                   key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0)
    path = str(found[-1]) if found else shutil.which(name)
    if not path:
        raise FileNotFoundError(f"no {name}: run scripts/setup --tests")
    return path


def _unprivileged():
    """Whom to run it as, since it refuses root: options for Popen, and the ids."""
    if os.getuid() != 0:
        return {}, os.getuid(), os.getgid()
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return ({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []},
                user.pw_uid, user.pw_gid)
    raise RuntimeError("neither a user postgres nor nobody here: PostgreSQL refuses root")


class Postgres:
    """The server while the `with` block lasts; `conninfo` is how libpq reaches it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="neliroute-postgres-"))
        self.conninfo = f"host={self.folder} user=postgres dbname=postgres connect_timeout=10"
        self._child = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        options, user, group = _unprivileged()
        os.chown(self.folder, user, group)
        data, log = self.folder / "data", self.folder / "log"
        made = subprocess.run(
            [_program("initdb"), "--pgdata", data, "--auth=trust", "--username=postgres",
             "--encoding=UTF8", "--locale=C", "--no-sync"],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False, **options)
        if made.returncode:
            raise RuntimeError(f"initdb: {made.stdout}{made.stderr}")
        # No durability: nothing here outlives the machine, let alone the test.
        with open(log, "wb") as out:
            self._child = children.spawn(
                [_program("postgres"), "-D", data, "-k", self.folder, "-c", "listen_addresses=",
                 "-c", "fsync=off"], stdout=out, stderr=out, cwd=self.folder, **options)
        children.wait_until(self._answers, 60, lambda: f"PostgreSQL answers\n{log.read_text()}",
                            poll=0.1)

    def __exit__(self, *_):
        if self._child and self._child.poll() is None:
            os.kill(self._child.pid, signal.SIGINT)  # "fast": clients are cut off, nothing is left
            try:
                self._child.wait(20)
            except subprocess.TimeoutExpired:
                pass
        if self._child:
            children.end(self._child)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _psql(self, sql):
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo,
                               "-c", sql], capture_output=True, text=True, timeout=60, check=False)

    def _answers(self):
        if self._child.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended\n{(self.folder / 'log').read_text()}")
        return self._psql("SELECT 1").returncode == 0

    def query(self, sql):
        """The rows, each a list of texts."""
        done = self._psql(sql)
        if done.returncode:
            raise RuntimeError(f"{sql}: {done.stderr}")
        return [line.split("|") for line in done.stdout.splitlines()]
