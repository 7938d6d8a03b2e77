"""HTTP/2 without TLS, as far as a test of a proxy needs it: a caller with one request on a
connection, and an owner that answers all requests alike.

Of header fields neither reads more than a status of 200, which is one byte; so nothing here needs
HPACK's tables or its Huffman code.
"""
import socket
import socketserver
import struct
import threading

from harness.http_server import Server

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
OK = b"\x88"
GRPC_UNAVAILABLE = 14


def frame(kind, flags, stream, payload=b""):
    """A frame as it is sent."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A header field whose name and value are short."""
    words = name.encode(), value.encode()
    assert all(len(word) < 127 for word in words), (name, value)
    return b"\0" + b"".join(bytes([len(word)]) + word for word in words)


def frames_of(file):
    """Kind, flags, stream and payload of each frame, until the other side closes."""
    while len(head := file.read(9)) == 9:
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        yield kind, flags, stream & 0x7fffffff, file.read(int.from_bytes(head[:3], "big"))


def ask(port, fields, method="GET", path="/any/path?x=1", body=b""):
    """One request: the body of an answer with status 200."""
    head = {":method": method, ":path": path, ":scheme": "http", ":authority": "shop.example"}
    sent = b"".join(field(name, value) for name, value in [*head.items(), *fields])
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0)
                           + frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), 1, sent)
                           + (frame(DATA, END_STREAM, 1, body) if body else b""))
        answer, status = b"", None
        for kind, flags, stream, payload in frames_of(connection.makefile("rb")):
            if kind == GOAWAY:
                break
            if stream != 1 or kind not in (HEADERS, DATA):
                continue
            if kind == DATA:
                answer += payload
            elif status is None:
                status = payload[:1]
            if flags & END_STREAM:
                assert status == OK, (status, payload, answer)
                return answer.decode()
        raise OSError(f"the connection ended before the answer, after {answer!r}")


class GrpcOwner(Server):
    """An application that speaks HTTP/2 only. It says UNAVAILABLE as often as it is told to, and
    else its name."""

    def __init__(self, name):
        self.name = name
        self.refuses = 0
        self.asked = 0
        self.lock = threading.Lock()
        owner = self

        class Handler(socketserver.StreamRequestHandler):
            """One connection."""

            def handle(self):
                """Answers each request when it has come whole."""
                if self.rfile.read(len(PREFACE)) != PREFACE:
                    return  # HTTP/1.1
                self.wfile.write(frame(SETTINGS, 0, 0))
                for kind, flags, stream, payload in frames_of(self.rfile):
                    if kind in (SETTINGS, PING) and not flags & ACK:
                        self.wfile.write(frame(kind, ACK, 0, payload if kind == PING else b""))
                    elif kind in (HEADERS, DATA) and flags & END_STREAM:
                        self.wfile.write(owner.answer(stream))

        super().__init__(Handler)

    def answer(self, stream):
        """The frames of an answer."""
        with self.lock:
            self.asked += 1
            refused = self.refuses > 0
            self.refuses -= refused
        head = OK + field("content-type", "application/grpc")
        if refused:
            head += field("grpc-status", str(GRPC_UNAVAILABLE))
            return frame(HEADERS, END_HEADERS | END_STREAM, stream, head)
        return (frame(HEADERS, END_HEADERS, stream, head)
                + frame(DATA, 0, stream, self.name.encode())
                + frame(HEADERS, END_HEADERS | END_STREAM, stream, field("grpc-status", "0")))
