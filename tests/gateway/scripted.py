"""An application that answers with the bytes that a test gives it, cut where it says."""
import socket
import threading

from harness import children
from messages import Ended, Malformed, Reader, Server


def _of_proc(address):
    """As /proc/net/tcp writes it."""
    host, port = address
    return "%08X:%04X" % (int.from_bytes(socket.inet_aton(host), "little"), port)


def is_taken(connection):
    """Whether the peer, on this machine, has read all that was sent to it, or has gone."""
    here, there = map(_of_proc, (connection.getsockname(), connection.getpeername()))
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            fields = line.split()
            if fields[1] == there and fields[2] == here:
                return fields[4].endswith(":00000000")
    return True


def has_sent_unread(address):
    """Whether who listens there, on this machine, has sent what its peer has not read."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table]
    port = ":%04X" % int(address.rpartition(":")[2])
    return any(row[2].endswith(port) and not row[4].endswith(":00000000") for row in rows[1:])


class Scripted(Server):
    """`script(request, before)` yields what is written for it, part by part: each is sent when the
    one before was taken. An empty part closes the connection. `before`: the requests that came
    before it on its connection.
    """

    def __init__(self, script):
        self.script = script
        self.requests = []
        self._lock = threading.Lock()
        super().__init__()  # now that all is there

    def _serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader, before = Reader(connection), 0
        with connection:
            try:
                while self._answer(connection, reader.request(), before):
                    before += 1
            except (Ended, Malformed, OSError):
                pass  # what a proxy may do with a connection

    def _answer(self, connection, request, before):
        """Whether the connection goes on."""
        with self._lock:
            self.requests.append(request)
        for part in self.script(request, before):
            if not part:
                return False
            connection.sendall(part)
            children.wait_until(lambda: is_taken(connection), 20, lambda: f"{part!r} is not read",
                                poll=0.0002)
        return True
