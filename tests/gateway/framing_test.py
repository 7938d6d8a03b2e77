#!/usr/bin/python3
"""An answer means the same to a client in whatever pieces it comes from the application, and what
an application sends behind it is nobody's answer; which requests are framed well."""
import os
import re
import signal
import socket
import sys
import threading
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402
from messages import Malformed, Reader  # noqa: E402
from scripted import Scripted, has_sent_unread, is_taken  # noqa: E402

TRIES = 5  # of each kind
LATE = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nSet-Cookie: stolen=1\r\n\r\npoison"
# {name: (method, what the application sends, what the client gets of the body)}
ANSWERS = {
    "sized": (b"GET", b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "chunked": (b"GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"3\r\nhel\r\n2;a=\"b\"\r\nlo\r\n0\r\n\r\n", b"hello"),
    "trailers": (b"GET", b"HTTP/1.1 200 OK\r\nTrailer: Location\r\nTransfer-Encoding: chunked\r\n"
                 b"\r\n5\r\nhello\r\n0;x=y\r\nSet-Cookie: sid=stolen\r\nLocation: /there\r\n"
                 b"X-Trailer: 1\r\n\r\n", b"hello"),
    "trailers alone": (b"POST", b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"0\r\nLocation: /there\r\n\r\n", b""),
    "hints": (b"GET", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
              b"Link: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "continue": (b"GET", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                 b"\r\nhi", b"hi"),
    "head": (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\n", b""),
    "no content": (b"DELETE", b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", b""),
    "no content, sized": (b"PUT", b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", b""),
    "not modified": (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
    "until close": (b"GET", b"HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello", b"hello"),
    "old": (b"GET", b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nhello", b"hello"),
}
# What frames a body that the status forbids; behind it there may come one.
FRAMED = {
    "204 sized": b"HTTP/1.1 204 No Content\r\nContent-Length: %d\r\n\r\n",
    "204 chunked": b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
    "304 sized": b"HTTP/1.1 304 Not Modified\r\nContent-Length: %d\r\n\r\n",
    "304 chunked": b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
    "103 sized": b"HTTP/1.1 103 Early Hints\r\nContent-Length: %d\r\n\r\n",
    "100 sized": b"HTTP/1.1 100 Continue\r\nContent-Length: %d\r\n\r\n",
    "103 chunked": b"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
}
# Of a HEAD, whose body some servers send all the same (gunicorn does).
HEADS = {
    "sized": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "unframed": b"HTTP/1.1 200 OK\r\n\r\n",
}
OF_A_BODY = {b"content-length", b"transfer-encoding"}
NOTES = 4096  # bytes of chunk extensions and trailers that a message may have
GET = b"GET /own HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
POST = b"POST /own HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n" + CHUNKED
HOSTS = {b"h": True, b"H.b-c_d:80": True, b"h:": True, b"h:65535": True, b"[::1]:80": True,
         b"": False, b":80": False, b"u@h": False, b"h:x": False, b"h:65536": False,
         b"h:99999999999999999999": False, b"h h": False, b"h/x": False, b"[::1": False,
         b"::1": False}


class Framing(LaneOwners):
    """One owner before the application."""
    partitions = 1

    def setUp(self):
        super().setUp()
        self.application = Scripted(self.script)
        self.addCleanup(self.application.close)
        self.parts, self.late = (), b""
        self.alpha = self.start("alpha", key="header:X-Key", upstream=self.application.address)
        self.wait_led(self.alpha)
        self.port = self.alpha.port
        self.client = None

    def script(self, request, before):
        """What the test wants, or the path. A body that was announced comes when the next request
        is there."""
        if request.start[1] == b"/":
            return self.parts
        body = request.start[1]
        own = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        return [self.late + own] if before and self.late else [own]

    def ask(self, method, path=b"/"):
        """The informational answers, and the last one, each as (status, fields, body)."""
        if self.client is None:
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
            self.addCleanup(connection.close)
            self.client = Reader(connection)
        self.client.connection.sendall(
            b"%s %s HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: 0\r\n\r\n" % (method, path))
        answers = []
        while not answers or answers[-1][0].startswith(b"1"):
            one = self.client.answer(method)
            answers.append((one.start[1], one.fields, one.body))
        if any(value == b"close" for name, value in answers[-1][1] if name == b"Connection"):
            self.client = None
        return answers

    def test_at_every_byte(self):
        """In one piece, in two, and byte by byte."""
        self.assertEqual([], [name for name in ANSWERS if not self.is_the_same(name)])

    def is_the_same(self, name):
        """Whether the client got what it should have, in all of them."""
        method, wire, body = ANSWERS[name]
        closes = [b""] if name in ("until close", "old") else []
        ways = [[wire], *([wire[:at], wire[at:]] for at in range(1, len(wire))),
                [wire[at:at + 1] for at in range(len(wire))]]
        got = []
        for way in ways:
            self.parts = [*way, *closes]
            try:
                got.append(self.ask(method))
            except Malformed as cut:
                got.append(f"cut: {cut}, sent as {way}")
                self.client = None
        seen = {repr(one) for one in got}
        if len(seen) != 1:
            print(f"{name}: differs by how it is cut:", *sorted(seen)[:3], sep="\n  ")
            return False
        head = wire[:wire.rindex(b"HTTP/1.")].count(b"103"), wire[wire.rindex(b"HTTP/1."):]
        promised = {line.partition(b":")[0].lower() for line in
                    head[1].partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]} - OF_A_BODY
        fields = {field.lower() for field, _ in got[0][-1][1]} - OF_A_BODY - {b"via"}
        return (got[0][-1][2] == body and len(got[0]) == 1 + head[0] and
                fields == promised - {b"trailer"})

    def test_a_body_where_none_may_be(self):
        """It is no answer to the next request, whenever it comes."""
        bad = {}
        for method, heads in ((b"GET", FRAMED), (b"HEAD", HEADS)):
            for name, head in heads.items():
                head = head % len(LATE) if b"%d" in head else head
                poisoned = sum(self.is_poisoned(method, head) for _ in range(TRIES))
                if poisoned:
                    bad[method, name] = poisoned
        self.assertEqual(bad, {})

    def is_poisoned(self, method, head):
        """Whether the body that comes late is taken for the next answer."""
        self.parts, self.late = [head], LATE
        first = self.ask(method)
        second = self.ask(b"GET", b"/own")
        status, fields, _ = first[-1]
        if method == b"HEAD":
            self.assertEqual(status, b"200")
            return second[-1][0] != b"200" or second[-1][2] != b"/own"
        framed = {name.lower() for name, _ in fields} & OF_A_BODY
        if status == b"200":
            return True
        self.assertIn(status, (b"204", b"304", b"502"))
        self.assertTrue(status != b"204" or not framed, first)
        return second[-1][0] != b"200" or second[-1][2] != b"/own"

    def test_what_comes_behind_an_answer(self):
        """Is no answer to a request that came meanwhile, and ends that connection."""
        behind = threading.Event()

        def parts():
            yield b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
            behind.wait(20)
            yield LATE
        self.parts = parts()
        self.assertEqual(self.ask(b"GET")[-1][2], b"hi")
        children.stop(self.alpha.pid)
        try:  # it finds both at the same time, the request first
            self.client.connection.sendall(GET)
            behind.set()
            children.wait_until(lambda: has_sent_unread(self.application.address), 20,
                                "nothing comes behind")
        finally:
            os.kill(self.alpha.pid, signal.SIGCONT)
        self.assertEqual(self.client.answer(b"GET").body, b"/own")

    def sent(self, *parts):
        """The status of the answer to these bytes, each sent when the one before was taken."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in parts:
                connection.sendall(part)
                children.wait_until(lambda: is_taken(connection), 20, "nobody reads it",
                                    poll=0.0002)
            return int(Reader(connection).answer(b"GET").start[1])

    def test_chunk_extensions_and_trailers(self):
        """Up to a limit, in requests and in answers, in whatever pieces; a long one has no end."""
        one, end = b"1;%s\r\na\r\n", b"0\r\n\r\n"
        trailer = b"0\r\nX: %s\r\n\r\n"
        endless = b"x" * (NOTES + 100)
        for body, fits in ((one % (b"x" * (NOTES - 1)) + end, True),
                           (one % (b"x" * NOTES) + end, False),
                           (one % b"xx" * (NOTES // 3 + 1) + end, False),
                           (trailer % b"y", True), (trailer % (b"x" * NOTES), False),
                           (b"1;" + endless, False), (b"0\r\nX: " + endless, False)):
            for parts in ([body], [body[:NOTES // 2], body[NOTES // 2:]]):
                self.assertEqual(self.sent(POST, *parts), 200 if fits else 400, body[:20])
                self.assertEqual(self.sent(POST + parts[0], *parts[1:]), 200 if fits else 400)
                self.parts = [b"HTTP/1.1 200 OK\r\n" + CHUNKED + parts[0], *parts[1:]]
                self.assertEqual(self.is_whole(), fits, body[:20])

    def is_whole(self):
        """Whether the answer that the application has now comes to its end."""
        try:
            return self.ask(b"GET")[-1][0] == b"200"
        except Malformed:
            return False
        finally:
            self.client = None

    def test_an_empty_line_before_a_request(self):
        """One is ignored, also behind another request."""
        self.assertEqual(self.sent(b"\r\n" + GET), 200)
        self.assertEqual(self.sent(b"\r", b"\n", GET), 200)
        self.assertEqual(self.sent(b"\r\n", GET[:3], GET[3:]), 200)
        for bad in (b"\r\n\r\n", b"\n", b"\r\r\n", b"\r\n\r"):
            self.assertEqual(self.sent(bad + GET), 400, bad)
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(GET + b"\r\n" + GET + b"\r\n")
            reader = Reader(connection)
            for _ in range(2):
                self.assertEqual(reader.answer(b"GET").start[1], b"200")
            connection.sendall(GET)
            self.assertEqual(reader.answer(b"GET").start[1], b"200")

    def test_hosts(self):
        """RFC 9112, section 3.2; a target with a host counts more than the field."""
        line = b"GET %s HTTP/1.1\r\nX-Key: k\r\n%s\r\n"
        for host, fits in HOSTS.items():
            status = 200 if fits else 400
            self.assertEqual(self.sent(line % (b"/own", b"Host: %s\r\n" % host)), status, host)
            if re.search(rb"[ /]", host):
                continue  # it ends there
            target = b"http://%s/own" % host
            self.assertEqual(self.sent(line % (target, b"Host: other\r\n")), status, target)
            if fits:
                self.assertEqual(self.application.requests[-1].values(b"Host"), [host])
                self.assertEqual(self.application.requests[-1].start[1], b"/own")
        self.assertEqual(self.sent(line % (b"/own", b"")), 400)
        self.assertEqual(self.sent(line % (b"http://h/own", b"Host: :80\r\n")), 400)
        self.assertEqual(self.sent(b"GET /own HTTP/1.0\r\nX-Key: k\r\n\r\n"), 200)
        self.assertEqual(self.application.requests[-1].values(b"Host"),
                         [self.application.address.encode()])

    def test_lengths(self):
        """Numbers that each server can hold."""
        post = b"POST /own HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: %d\r\n\r\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
        for length in (1 << 63, 1 << 64, 10 ** 30):
            self.assertEqual(self.sent(post % length), 400)
            self.parts = [head % length, b""]
            self.assertEqual(self.ask(b"GET")[-1][0], b"502")
        self.parts = [head % ((1 << 63) - 1)]
        self.assertEqual(self.ask(b"HEAD")[-1][0], b"200")


if __name__ == "__main__":
    unittest.main(verbosity=2)
