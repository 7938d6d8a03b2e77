"""An HTTP server that takes nothing malformed, keeps what it got, and answers as its caller asks.

`framing` and `size` in the query say how, and with how much.
"""
import json
import re
import threading
from urllib.parse import parse_qs

from messages import Ended, Malformed, Message, Reader, Server, first_segment

SIZE_MOST = 200_000
FRAMINGS = ("sized", "chunked", "until_close", "old", "hints", "empty", "unmodified")
_HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
_CHUNKS = (1, 7, 4096, 16384, 65536)


class Exchange:
    """A request as it came, and the answer as it was made."""

    def __init__(self, request, made, framing):
        self.request, self.made, self.framing = request, made, framing


class Application(Server):
    """`methods`: {first segment of a path: the methods it takes}."""

    def __init__(self, methods):
        self.methods = methods
        self.exchanges = []
        self.faults = []
        self._lock = threading.Lock()
        super().__init__()  # now that all is there

    def _serve(self, connection):
        reader = Reader(connection)

        def on_head(message):
            if message.values(b"Expect") == [b"100-continue"]:
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        with connection:
            try:
                while self._answer(connection, reader.request(on_head=on_head)):
                    pass
            except Ended:
                pass
            except (Malformed, OSError) as fault:
                self.faults.append(repr(fault))

    def _answer(self, connection, request):
        """Whether the connection goes on."""
        framing, size = _asked(request)
        segment = first_segment(request)
        status = (b"200", b"Fine")
        if segment not in self.methods:
            status = (b"404", b"Not Found")
        elif request.start[0].decode() not in self.methods[segment]:
            status = (b"405", b"Method Not Allowed")
        framing = framing if status[0] == b"200" else "sized"
        with self._lock:
            serial = len(self.exchanges)
            made, wire = _made(request, status, framing, size, serial)
            if status[0] == b"405":
                allowed = (b"Allow", ", ".join(sorted(self.methods[segment])).encode())
                made.fields.append(allowed)
            self.exchanges.append(Exchange(request, made, framing))
        hint = _HINT if framing == "hints" else b""
        head = b"".join(b"%s: %s\r\n" % field for field in made.fields)
        without = request.start[0] == b"HEAD" or made.start[1] in (b"204", b"304")
        connection.sendall(hint + b" ".join(made.start) + b"\r\n" + head + b"\r\n" +
                           (b"" if without else wire))
        return framing not in ("until_close", "old")


def _asked(request):
    asked = parse_qs(request.start[1].partition(b"?")[2].decode("latin-1"))
    framing, size = (asked.get(name, [""])[0] for name in ("framing", "size"))
    number = int(size) if re.fullmatch("[0-9]{1,6}", size) else 0
    return framing if framing in FRAMINGS else "sized", min(number, SIZE_MOST)


def _made(request, status, framing, size, serial):
    """The answer, and its body as it is written."""
    filler = "".join(f"{number:07d} " for number in range(size // 8 + 1))[:size]
    body = json.dumps({"serial": serial, "method": request.start[0].decode(),
                       "target": request.start[1].decode("latin-1"), "filler": filler}).encode()
    fields = [(b"Content-Type", b"application/json"), (b"X-Serial", b"%d" % serial),
              (b"Set-Cookie", b"a=1"), (b"set-cookie", b"b=\"2\""), (b"X-Empty", b""),
              (b"X-Latin", b"caf\xe9"), (b"X-Of-Connection", b"1"), (b"Keep-Alive", b"timeout=9"),
              (b"Neliroute-Owner", b"127.0.0.1:1"), (b"Via", b"1.1 behind")]
    options, version, wire = [b"X-Of-Connection"], b"HTTP/1.1", body
    if framing == "empty":
        status, body = (b"204", b"No Content"), b""
    elif framing == "unmodified":
        # As long as the body that there would be.
        status, body = (b"304", b"Not Modified"), b""
        fields.append((b"Content-Length", b"%d" % len(wire)))
    elif framing == "chunked":
        fields.append((b"Transfer-Encoding", b"chunked"))
        wire = _chunked(body)
    elif framing != "until_close":
        fields.append((b"Content-Length", b"%d" % len(body)))
    if framing in ("until_close", "old"):
        options.append(b"close")
        version = b"HTTP/1.0" if framing == "old" else version
    fields.append((b"Connection", b", ".join(options)))
    if request.start[0] == b"HEAD":
        body = b""
    return Message((version, *status), fields, b"", body), wire


def _chunked(body):
    chunks, number = [], 0
    while body:
        part, body = body[:_CHUNKS[number % len(_CHUNKS)]], body[_CHUNKS[number % len(_CHUNKS)]:]
        chunks.append(b"%x;part=%d\r\n%s\r\n" % (len(part), number, part))
        number += 1
    return b"".join(chunks) + b"0\r\n\r\n"
