"""HTTP/1.1 messages on a connection, as bytes, read as strictly as RFC 9112 lets a reader be."""
import dataclasses
import re
import select
import socket
import threading

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST = re.compile(rb"(" + TOKEN + rb") ([\x21-\x7e\x80-\xff]+) (HTTP/1\.1)")
_ANSWER = re.compile(rb"(HTTP/1\.[01]) ([1-9][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)")
_FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_BITS = 65536


class Malformed(Exception):
    """What came is no message."""


class Ended(Exception):
    """The connection ended between two messages."""


@dataclasses.dataclass
class Message:
    """The three parts of its first line, its fields in order, and what they frame."""
    start: tuple
    fields: list
    head: bytes
    body: bytes = b""
    chunked: bool = False

    def values(self, name):
        """Of every field of this name."""
        return [value for one, value in self.fields if one.lower() == name.lower()]

    def value(self, name):
        """Of the first one; None: there is none."""
        return next(iter(self.values(name)), None)


class Server:
    """Listens from the start. Who derives from it serves each connection by _serve()."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        """HOST:PORT"""
        return "127.0.0.1:%d" % self._listener.getsockname()[1]

    def close(self):
        """Nobody can connect any more."""
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        raise NotImplementedError


def first_segment(request):
    """Of its path, as text."""
    return b"".join(request.start[1].partition(b"?")[0].split(b"/")[1:2]).decode("latin-1")


class Reader:
    """One side of a connection: message after message."""

    def __init__(self, connection):
        self.connection = connection
        self._kept = b""

    def _more(self):
        data = self.connection.recv(_BITS)
        if not data:
            raise Malformed(f"it ends within a message: {self._kept[-200:]!r}")
        self._kept += data

    def _take(self, size):
        while len(self._kept) < size:
            self._more()
        taken, self._kept = self._kept[:size], self._kept[size:]
        return taken

    def _until(self, end):
        while end not in self._kept:
            self._more()
        return self._take(self._kept.index(end) + len(end))

    def unasked(self):
        """Bytes that are there between two messages; None: the connection has ended."""
        if not self._kept:
            if not select.select([self.connection], [], [], 0)[0]:
                return b""
            try:
                self._kept = self.connection.recv(_BITS)
            except ConnectionError:
                return None
        return self._kept or None

    def _head(self):
        if not self._kept:
            self._kept = self.connection.recv(_BITS)
            if not self._kept:
                raise Ended
        return self._until(b"\r\n\r\n")

    def request(self, strict=True, on_head=lambda message: None):
        """The next request. Not `strict`: its parts may consist of anything."""
        message = _parsed(self._head(), _REQUEST if strict else None)
        on_head(message)
        self._body(message, None)
        return message

    def answer(self, method):
        """The next answer, also an informational one."""
        message = _parsed(self._head(), _ANSWER)
        status = int(message.start[1])
        if status >= 200 and status not in (204, 304) and method != b"HEAD":
            self._body(message, method)
        return message

    def _body(self, message, method):
        codings, lengths = message.values(b"Transfer-Encoding"), message.values(b"Content-Length")
        if len(codings) + len(lengths) > 1:
            raise Malformed(f"its end is ambiguous: {message.head!r}")
        if codings:
            if codings != [b"chunked"]:
                raise Malformed(f"it is coded: {message.head!r}")
            message.chunked = True
            message.body = b"".join(iter(self._chunk, b""))
        elif lengths:
            if not re.fullmatch(rb"[0-9]+", lengths[0]):
                raise Malformed(f"its length is no number: {message.head!r}")
            message.body = self._take(int(lengths[0]))
        elif method is not None:
            message.body = self._rest()

    def _chunk(self):
        line = re.fullmatch(rb"([0-9A-Fa-f]+)(;[^\r\n]*)?\r\n", self._until(b"\r\n"))
        if not line:
            raise Malformed("a chunk has no size")
        data = self._take(int(line[1], 16))
        if self._take(2) != b"\r\n":
            raise Malformed("a chunk is longer than it says, or there are trailers")
        return data

    def _rest(self):
        while data := self.connection.recv(_BITS):
            self._kept += data
        return self._take(len(self._kept))


def _parsed(head, start):
    lines = head[:-4].split(b"\r\n")
    if start is None:
        fields = [(name, value.strip(b" \t")) for name, _, value in
                  (line.partition(b":") for line in lines[1:])]
        return Message(tuple(lines[0].split(b" ", 2)), fields, head)
    matched = start.fullmatch(lines[0])
    rows = [_FIELD.fullmatch(line) for line in lines[1:]]
    if not matched or not all(rows):
        raise Malformed(f"{head!r}")
    return Message(matched.groups(), [(row[1], row[2].rstrip(b" \t")) for row in rows], head)
