#!/usr/bin/python3
"""Clients of every bad kind at once: a gateway serves the others, answers these honestly, keeps no
memory for them, and gives back their places when they are gone."""
import asyncio
import collections
import http.client
import os
import socket
import struct
import sys
import threading
import unittest
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children  # noqa: E402
from harness.http_server import Handler, Server  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402

LASTS_S = 16.0  # a header may take 10
EACH = 10  # clients of a kind
PAUSE_S = 0.25  # before a client comes again, and between two parts of what it sends
GROWTH = 32 << 20  # of one process, for all of them
KEYED = b"Host: g\r\nX-Key: k\r\n"
GET = b"GET / HTTP/1.1\r\n" + KEYED
BIG = b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\n" + KEYED + b"\r\n"  # its answer is as long
POST = b"POST / HTTP/1.1\r\n" + KEYED
OVER = "over"  # nothing had come when all was over
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: at once, and what was not sent is dropped


@dataclass(frozen=True)
class Kind:
    """What its clients send, and how it may end: a status, or None, which is without an answer."""
    first: bytes
    ends: tuple
    more: bytes = b""  # again and again
    leaves: str = ""  # after the first part: "half" ends sending, "reset" resets
    reads: bool = True


KINDS = {
    "silent": Kind(b"", ()),
    "header that comes slowly": Kind(GET, (408,), more=b"X"),
    "header without end": Kind(GET, (431,), more=b"X-More: " + b"x" * 2000 + b"\r\n"),
    "not HTTP": Kind(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (400,)),
    "HTTP/2": Kind(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (505,)),
    "two framings": Kind(POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                         (400,)),
    "two lengths": Kind(POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", (400,)),
    "malformed chunk": Kind(POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
    "no key": Kind(b"GET / HTTP/1.1\r\nHost: g\r\n\r\n", (400,)),
    "CONNECT": Kind(b"CONNECT other:443 HTTP/1.1\r\n" + KEYED + b"\r\n", (405,)),
    "fields of ours": Kind(GET + b"Neliroute-Hops: 99\r\nNeliroute-Epoch: x\r\n\r\n", (200,)),
    "body without end": Kind(POST + b"Transfer-Encoding: chunked\r\n\r\n", (),
                             more=b"2000\r\n" + b"x" * 0x2000 + b"\r\n"),
    "body that is cut": Kind(POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 100_000, (None,),
                             leaves="reset"),
    "half-closed": Kind(GET + b"\r\n", (200, None), leaves="half"),
    "many requests, reads nothing": Kind(BIG * 10, (), more=BIG * 10, reads=False),
    "many requests, and gone": Kind((GET + b"\r\n") * 100, (200,)),
}


class Application(Server):
    """Answers, and reads bodies for as long as they last."""

    class Answers(Handler):
        """One connection."""

        def do_GET(self):
            """With its path."""
            body = self.path.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            """None here has an end."""
            while self.rfile.read1(65536):
                pass
            self.close_connection = True

    def __init__(self):
        super().__init__(self.Answers)


async def status_in(reader):
    """Of the first answer; None: the connection ended without one."""
    try:
        words = (await reader.readline()).split()
    except OSError:
        return None
    return int(words[1]) if words else None


async def visit(kind, port, until):
    """One connection, and how it ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if not kind.reads:
        writer.transport.pause_reading()
    now = asyncio.get_running_loop().time
    answer = asyncio.ensure_future(status_in(reader))
    try:
        writer.write(kind.first)
        if kind.leaves == "half":
            writer.write_eof()
        while now() < until:
            await asyncio.wait({answer}, timeout=PAUSE_S)
            if answer.done():
                return answer.result()
            if kind.leaves == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                           RESET)
                return None
            if kind.more and writer.transport.get_write_buffer_size() < len(kind.more):
                writer.write(kind.more)
        return OVER
    finally:
        answer.cancel()
        writer.transport.abort()


async def attack(kind, port, until, seen):
    """Comes again and again."""
    now = asyncio.get_running_loop().time
    while now() < until:
        seen[await visit(kind, port, until)] += 1
        await asyncio.sleep(PAUSE_S)


class Hostile(LaneOwners):
    """A gateway and an owner with an application behind it."""
    partitions = 4

    def setUp(self):
        super().setUp()
        application = Application()
        self.addCleanup(application.close)
        alpha = self.start("alpha", key="header:X-Key", upstream=application.address)
        self.wait_led(alpha)
        child, self.port = self.gateway(key="header:X-Key")
        self.pids = {"gateway": child.pid, "owner": alpha.child.pid}
        self.over = threading.Event()
        self.good = collections.Counter()

    def descriptors(self):
        """{process: how many}."""
        return {name: len(os.listdir(f"/proc/{pid}/fd")) for name, pid in self.pids.items()}

    def resident(self):
        """{process: bytes}."""
        return {name: children.resident_bytes(pid) for name, pid in self.pids.items()}

    def call(self):
        """One client that means well, until it is over; its failures count in `good`, too."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self.over.is_set():
            try:
                connection.request("GET", "/good", headers={"X-Key": "k"})
                answer = connection.getresponse()
                self.good[answer.status, answer.read()] += 1
            except (OSError, http.client.HTTPException) as error:
                self.good[repr(error), b""] += 1
                connection.close()
            self.over.wait(0.02)
        connection.close()

    async def attack(self):
        """{kind: {end: how often}}; and how much each process grew, at most."""
        seen = collections.defaultdict(collections.Counter)
        before = self.resident()
        until = asyncio.get_running_loop().time() + LASTS_S
        clients = [asyncio.ensure_future(attack(kind, self.port, until, seen[name]))
                   for name, kind in KINDS.items() for _ in range(EACH)]
        grown = collections.Counter()
        pending = clients
        while pending:
            _, pending = await asyncio.wait(pending, timeout=0.5)
            for name, size in self.resident().items():
                grown[name] = max(grown[name], size - before[name])
        for client in clients:
            client.result()
        return seen, grown

    def test_all_kinds_at_once(self):
        """And one client that means well."""
        caller = threading.Thread(target=self.call, daemon=True)
        caller.start()
        children.wait_until(lambda: self.good, 30, "the first good answer")
        before = self.descriptors()
        seen, grown = asyncio.run(self.attack())
        self.over.set()
        caller.join(60)
        self.assertFalse(caller.is_alive(), "it waits for an answer")
        print({name: dict(statuses) for name, statuses in seen.items()}, flush=True)
        print(f"good: {dict(self.good)}; grown: {dict(grown)}", flush=True)
        self.assertEqual(set(self.good), {(200, b"/good")})
        for name, kind in KINDS.items():
            ends = set(seen[name]) - {OVER}
            if kind.leaves == "half":  # which of the two comes first differs
                self.assertTrue(ends and ends <= set(kind.ends), (name, seen[name]))
            else:
                self.assertEqual(ends, set(kind.ends), name)
        self.assertLess(max(grown.values()), GROWTH, grown)
        children.wait_until(
            lambda: all(count < before[name] + EACH
                        for name, count in self.descriptors().items()),
            150, lambda: f"places given back: {before}, {self.descriptors()}")


if __name__ == "__main__":
    unittest.main()
