"""An application that answers with the bytes that a test gives it, cut where it says."""
import errno
import os
import socket
import struct
import sys
import threading

from harness import children
from messages import Ended, Malformed, Reader, Server


_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST, _ERROR = 20, 1, 2
_HEADER = struct.Struct("=IHHII")  # of netlink: size, type, flags, number, sender
_WHICH = struct.Struct("=BBBBI2s2s16s16sIQ")  # linux/inet_diag.h: inet_diag_req_v2
_ERRNO = struct.Struct("=i")
_QUEUE = struct.Struct("=I")
_QUEUE_AT = _HEADER.size + 56  # idiag_rqueue of inet_diag_msg
_ANY = 0xffffffff
_ANY_COOKIE = 0xffffffffffffffff


def is_taken(connection):
    """Whether the peer, on this machine, has read all that was sent to it, or has gone. The kernel
    is asked for this one socket: /proc/net/tcp costs as much as there are connections."""
    try:
        names = connection.getpeername(), connection.getsockname()
    except OSError:
        return True  # it was reset
    ends = [(socket.htons(port).to_bytes(2, sys.byteorder), socket.inet_aton(host).ljust(16, b"\0"))
            for host, port in names]
    (here, from_host), (there, to_host) = ends
    which = _WHICH.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY, here, there, from_host,
                        to_host, 0, _ANY_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(which), _BY_FAMILY, _REQUEST, 0, 0) + which)
        answer = kernel.recv(4096)
    if _HEADER.unpack_from(answer)[1] == _ERROR:
        error = -_ERRNO.unpack_from(answer, _HEADER.size)[0]
        if error != errno.ENOENT:
            raise OSError(error, os.strerror(error))
        return True
    return _QUEUE.unpack_from(answer, _QUEUE_AT)[0] == 0


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
