"""What a client of a quorum says to its voters and hears, without a key or TLS: enough to read logs
and to write into them what no owner would."""
import os
import socket
import ssl
import struct

MAGIC = b"NELICHAN"
PROTOCOL = b"neliroute quorum 1"
PREAMBLE_BYTES = len(MAGIC) + 32 + 1 + 32
NOTHING = -1
CHUNK = 64
# As quorum/client_message.h numbers them.
HELLO, ASK, FOLLOW, APPEND = range(4)
WELCOME, REFUSED, RESIGNED, ANSWER, ENTRIES, APPENDED = range(6)
BEGINS, RECORD, CONFIGURATION = range(3)


class Unserved(OSError):
    """This voter does not serve: `leader` is where to ask, if it knows that."""

    def __init__(self, why, leader=""):
        super().__init__(why)
        self.leader = leader


class _Reader:
    """Takes a message apart."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def numbers(self, layout):
        """As struct has them, little endian."""
        found = struct.unpack_from("<" + layout, self._data, self._at)
        self._at += struct.calcsize("<" + layout)
        return found

    def text(self, layout):
        """Its length, in this layout, and then the bytes."""
        length, = self.numbers(layout)
        self._at += length
        return self._data[self._at - length:self._at]

    def entries(self, index):
        """[(index, stamp, what)]: a record is bytes, who votes {address: id}, where a leader begins
        None."""
        found = []
        count, = self.numbers("I")
        for at in range(index, index + count):
            _term, stamp, kind = self.numbers("QqB")
            what = None
            if kind == RECORD:
                what = self.text("I")
            elif kind == CONFIGURATION:
                what = dict(self._member() for _ in range(self.numbers("B")[0]))
            found.append((at, stamp, what))
        return found

    def _member(self):
        """Where it is, and its id."""
        voter, = self.numbers("Q")
        address = self.text("B").decode()
        self.numbers("B")
        return address, voter


class Channel:
    """To a voter, about one log; a context manager."""

    def __init__(self, address, name, log, timeout=5, context=None):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout)
        self._number = 0
        try:
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
            self.logs = self._open(name, log)
        except BaseException:
            self._socket.close()
            raise

    def _open(self, name, log):
        """How many logs there are."""
        self._socket.sendall(MAGIC + PROTOCOL.ljust(32, b"\0") + b"0" + os.urandom(32))
        if not self._take(PREAMBLE_BYTES).startswith(MAGIC):
            raise Unserved("it is no voter")
        self._send(struct.pack("<BH", HELLO, len(name)) + name.encode() +
                   struct.pack("<BI", 0, log))
        said = self._hear(WELCOME)
        logs, _, _, leads = said.numbers("IqqB")
        leader = said.text("H").decode()
        if not leads:
            raise Unserved("it does not lead", leader)
        return logs

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _take(self, count):
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise Unserved("it ended the connection")
            data += more
        return data

    def _send(self, message):
        self._socket.sendall(struct.pack("<I", len(message)) + message)

    def _hear(self, wanted):
        """The next message, which must be of this kind, or say that the voter still leads."""
        kind = ENTRIES
        while kind == ENTRIES:
            said = _Reader(self._take(struct.unpack("<I", self._take(4))[0]))
            kind, = said.numbers("B")
        if kind == REFUSED:
            raise Unserved(said.text("H").decode())
        if kind != wanted:
            raise Unserved(f"it says {kind}")
        return said

    def ask(self, index, count):
        """(the log's id, its first position, its end, entries)."""
        self._number += 1
        self._send(struct.pack("<BQqBI", ASK, self._number, index, 0, count))
        said = self._hear(ANSWER)
        _, log_id, first, end, index, _ = said.numbers("QQqqqQ")
        return log_id, first, end, said.entries(index)

    def append(self, record):
        """Its position."""
        self._number += 1
        self._send(struct.pack("<BQI", APPEND, self._number, len(record)) + record)
        return self._hear(APPENDED).numbers("Qq")[1]


def to_leader(addresses, name, log, context=None):
    """A Channel to the voter that leads. Unserved: none does just now."""
    trouble = None
    left = list(addresses)
    while left:
        try:
            return Channel(left.pop(0), name, log, context=context)
        except (OSError, ssl.SSLError) as error:
            trouble = error
            leader = getattr(error, "leader", "")
            if leader in left:
                left.remove(leader)
                left.insert(0, leader)
    raise Unserved(f"no voter of {', '.join(addresses)} leads: {trouble}")
