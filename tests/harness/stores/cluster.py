"""What stores of one server or several share, whatever they are: their life, and their logs."""
import os
import shutil
import signal
import tempfile
from pathlib import Path

from .. import children


class Freezable:
    """A server that is one process."""
    child = None

    def freeze(self):
        """SIGSTOP."""
        children.stop(self.child.pid)

    def thaw(self):
        """SIGCONT."""
        os.kill(self.child.pid, signal.SIGCONT)


class Server(Freezable):
    """One of a store's servers and its files. `room`: a link (tests/chaos/network.py) to run at, in
    place of this machine's own address."""
    topic = None  # if it keeps the logs of one only

    def __init__(self, folder, name, port, room=None):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.room = room
        self.host = room.address if room else "127.0.0.1"
        self.prefix = room.prefix() if room else []
        self.port = port
        self.env = {}
        self.disk = None  # if a test gave it one of its own

    @property
    def data(self):
        """What it keeps."""
        return self.folder / "data"

    def log_text(self):
        """All that it wrote."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


class Cluster:
    """The servers as one context manager; every way out of the block ends them.

    A store says how one is started (`start_node`), when all serve (`start`) and how one is ended
    (`stop_node`).
    """

    def __init__(self, prefix, keep_logs, rooms=()):
        """`rooms`: one for each server, if they do not share this machine's address."""
        self.folder = Path(tempfile.mkdtemp(prefix=prefix))
        self.rooms = rooms
        self.nodes = []
        self.failed = False
        self._keep_logs = keep_logs

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

    @property
    def admin(self):
        """Itself: what KafkaBroker has a helper for. Of KafkaAdmin's calls it has topic(),
        create_topic(), delete_topic(), produce(), read() and end_offsets(), by logs instead of
        partitions."""
        return self

    def room(self, number):
        """Where that server runs."""
        return self.rooms[number] if self.rooms else None

    def voters(self, _topic):
        """The servers that keep a topic's logs."""
        return self.nodes

    def leader(self, topic=None):
        """Which of them all writes go through."""
        raise NotImplementedError

    def start(self, timeout=60.0):
        """Starts every server that does not run; returns when all serve."""
        raise NotImplementedError

    def stop_node(self, node, grace=0):
        """Ends one server and keeps its data; start() brings it back. grace=0 is a crash."""
        children.end(node.child, grace)
        node.child = None

    def stop(self, grace=0):
        """Ends all of them."""
        for node in self.nodes:
            if node.child:
                self.stop_node(node, grace)

    def log_tail(self, lines=20):
        """The end of every server's log, for a failure's message."""
        parts = []
        for node in self.nodes:
            parts += [f"--- {node.name}", *node.log_text().splitlines()[-lines:]]
        return "\n".join(parts)

    def close(self):
        """Ends everything."""
        self.stop()
        if self.failed and self._keep_logs:
            target = Path(self._keep_logs)
            target.mkdir(parents=True, exist_ok=True)
            for node in self.nodes:
                (target / f"{node.name}.log").write_text(node.log_text(), encoding="utf-8")
        for node in self.nodes:
            if node.disk:
                node.disk.close()
        shutil.rmtree(self.folder, ignore_errors=True)
