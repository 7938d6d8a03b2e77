#!/usr/bin/python3
"""Clients and applications that take their time cost a gateway and an owner no memory."""
import socket
import sys
import threading
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children  # noqa: E402
from harness.http_server import Handler, Server  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402

CLIENTS = 12
SIZE = 32 << 20  # of an answer, or of a body: more than kernels keep on the way
PART = bytes(64 << 10)
# Of one process, for all of them: an eighth of what goes through it.
GROWTH = 48 << 20


class Application(Server):
    """Answers GET with SIZE bytes, and takes bodies when it is told to."""

    def __init__(self):
        self.sent = self.taken = 0
        self.lock = threading.Lock()
        self.takes = threading.Event()
        application = self

        class Answers(Handler):
            """One request."""

            def setup(self):
                """The kernel is to take little for it."""
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(PART))
                super().setup()

            def do_GET(self):
                """As fast as it is taken."""
                self.send_response(200)
                self.send_header("Content-Length", str(SIZE))
                self.end_headers()
                for _ in range(SIZE // len(PART)):
                    self.wfile.write(PART)
                    with application.lock:
                        application.sent += len(PART)

            def do_POST(self):
                """All of it, once it may."""
                left = int(self.headers["Content-Length"])
                application.takes.wait(60)
                while left and (part := self.rfile.read(min(left, len(PART)))):
                    left -= len(part)
                    with application.lock:
                        application.taken += len(part)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        super().__init__(Answers)

    def close(self):
        """Who is held up goes on."""
        self.takes.set()
        super().close()


class Slow(LaneOwners):
    """A gateway, an owner and an application, which all pass the same bytes on."""
    partitions = 4

    def setUp(self):
        super().setUp()
        self.application = Application()
        self.addCleanup(self.application.close)
        alpha = self.start("alpha", key="header:X-Key", upstream=self.application.address)
        self.wait_led(alpha)
        child, self.port = self.gateway(key="header:X-Key")
        self.pids = {"gateway": child.pid, "owner": alpha.child.pid}
        self.answer_to(self.client("GET", "/first"))
        self.application.sent = 0
        self.before = self.resident()

    def resident(self):
        """{process: bytes}."""
        return {name: children.resident_bytes(pid) for name, pid in self.pids.items()}

    def check_memory(self):
        """That it has not grown by much."""
        grown = {name: now - self.before[name] for name, now in self.resident().items()}
        self.assertLess(max(grown.values()), GROWTH, grown)

    def client(self, method, path, length=0):
        """A connection on which a request's header was sent."""
        one = socket.socket()
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(60)
        one.connect(("127.0.0.1", self.port))
        body = f"Content-Length: {length}\r\n" if length else ""
        one.sendall(f"{method} {path} HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\n{body}\r\n".encode())
        return one

    def answer_to(self, client):
        """All of a GET's."""
        received = 0
        while received < SIZE:
            part = client.recv(len(PART))
            self.assertTrue(part)
            received += len(part)

    @staticmethod
    def settle(progress):
        """Until nothing moves any more: the same figure in ten looks."""
        seen = []

        def is_still():
            seen.append(progress())
            return len(seen) > 10 and len(set(seen[-10:])) == 1
        children.wait_until(is_still, 60, lambda: seen[-3:], poll=0.1)

    def test_clients_that_read_slowly(self):
        """Their answers are fetched no faster than they are taken."""
        clients = [self.client("GET", "/") for _ in range(CLIENTS)]
        for _ in range(20):
            for one in clients:
                self.assertTrue(one.recv(1024))
            self.check_memory()
        self.settle(lambda: self.application.sent)
        self.check_memory()
        self.assertLess(self.application.sent, CLIENTS * SIZE, "it was not all fetched")
        self.answer_to(self.client("GET", "/another"))

    def test_bodies_that_come_slowly(self):
        """They are not kept, and nothing is set aside for what was announced."""
        self.application.takes.set()
        clients = [self.client("POST", "/", length) for length in (SIZE, 64 << 10)
                   for _ in range(5 * CLIENTS)]
        for _ in range(20):
            for one in clients:
                one.sendall(PART[:1024])
            self.check_memory()
        self.settle(lambda: self.application.taken)
        self.check_memory()
        self.answer_to(self.client("GET", "/another"))

    def test_bodies_that_are_taken_slowly(self):
        """They are read no faster than the application takes them."""
        clients = [self.client("POST", "/", SIZE) for _ in range(CLIENTS)]
        sent = dict.fromkeys(clients, 0)

        def push():
            for one in clients:
                one.settimeout(0)
                try:
                    sent[one] += one.send(PART[:SIZE - sent[one]])
                except BlockingIOError:
                    pass
            return sum(sent.values())
        self.settle(push)
        self.check_memory()
        self.assertLess(sum(sent.values()), CLIENTS * SIZE, "it was not all read")
        self.application.takes.set()
        children.wait_until(lambda: push() == CLIENTS * SIZE, 60, push)
        children.wait_until(lambda: self.application.taken == CLIENTS * SIZE, 60,
                            lambda: self.application.taken)
        self.check_memory()


if __name__ == "__main__":
    unittest.main()
