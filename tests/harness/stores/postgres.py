"""A PostgreSQL of the test's own, in a temporary folder, reached by a socket there."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .. import children


def program(name):
    """One of the server's programs, which Debian keeps off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
                   key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0)
    path = str(found[-1]) if found else shutil.which(name)
    if not path:
        raise FileNotFoundError(f"no {name}: run scripts/setup --tests")
    return path


def unprivileged():
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


def run_program(name, *arguments, folder):
    """Runs one of them to its end, unprivileged."""
    done = subprocess.run([program(name), *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=120, check=False, **unprivileged()[0])
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stdout}{done.stderr}")


def make_data(data):
    """What a server keeps, of a user postgres whom it trusts. Nothing of it is on a disk yet, since
    no machine crashes here."""
    run_program("initdb", "--pgdata", data, "--auth=trust", "--username=postgres",
                "--encoding=UTF8", "--locale=C", "--no-sync", folder=data.parent)


def psql(conninfo, sql, env=None, **options):
    """The finished psql: what it prints are rows with a bar between their texts."""
    return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-f", "-"],
                          input=sql, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})}, **{"timeout": 60, **options})


def rows_of(conninfo, sql, **options):
    """The rows, each a list of texts."""
    done = psql(conninfo, sql, **options)
    if done.returncode:
        raise RuntimeError(f"{sql}: {done.stderr}")
    return [line.split("|") for line in done.stdout.splitlines()]


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
        options, user, group = unprivileged()
        os.chown(self.folder, user, group)
        data, log = self.folder / "data", self.folder / "log"
        make_data(data)
        # No durability: nothing here outlives the machine, let alone the test.
        with open(log, "wb") as out:
            self._child = children.spawn(
                [program("postgres"), "-D", data, "-k", self.folder, "-c", "listen_addresses=",
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

    def _answers(self):
        if self._child.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended\n{(self.folder / 'log').read_text()}")
        return psql(self.conninfo, "SELECT 1").returncode == 0

    def query(self, sql):
        """The rows, each a list of texts."""
        return rows_of(self.conninfo, sql)
