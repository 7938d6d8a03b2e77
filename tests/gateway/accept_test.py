#!/usr/bin/python3
"""A gateway that has as many connections as it may: who is let go, and who is served."""
import http.client
import re
import resource
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from gateway_test import Authority, ask  # noqa: E402
from harness import children, process  # noqa: E402
from harness.http_server import Handler, Server  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402

PLACES = 100
FILES = 3 * PLACES


class Holding(Server):
    """Answers at once, but for /held, which it holds until it is released."""

    def __init__(self):
        self.held = 0
        self.released = threading.Event()
        application = self

        class Answers(Handler):
            """One request."""

            def do_GET(self):
                """Says ok."""
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/held":
                    application.held += 1
                    application.released.wait(60)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            do_POST = do_GET

        super().__init__(Answers)
        self.server.request_queue_size = PLACES
        self.server.socket.listen(PLACES)


class Accepting(LaneOwners):
    """One owner, and a gateway that may open few files."""
    partitions = 4

    def full_gateway(self, tls=None, files=FILES, **options):
        """It has a third as many places; its port."""
        self.application = Holding()
        self.addCleanup(self.application.close)
        self.addCleanup(self.application.released.set)
        owner = self.start("alpha", key="header:X-Key", upstream=self.application.address)
        self.wait_led(owner)
        port, self.errors = free_port(), self.path("gateway", "err")
        options = {**self.lane, "key": "header:X-Key", "listen": f"127.0.0.1:{port}", **options,
                   **(tls or {})}
        with open(self.errors, "wb") as err:
            self.child = children.spawn(
                ["prlimit", f"--nofile={files}:{files}", process.tool_path(), "gateway",
                 *process.option_list(options)],
                stdout=subprocess.DEVNULL, stderr=err, env=process.environment())
        self.addCleanup(children.end, self.child)
        children.wait_until(lambda: "gateway: http" in self.errors.read_text(), 30,
                            self.errors.read_text)
        return port

    def connect(self, port, count, say=b"", source="127.0.0.1"):
        """Connections that say that, and nothing more."""
        made = []
        for _ in range(count):
            made.append(socket.create_connection(("127.0.0.1", port), 15, (source, 0)))
            self.addCleanup(made[-1].close)
            made[-1].sendall(say)
        return made

    def test_who_never_says_anything_keeps_nobody_out(self):
        """Nor does who stalls in its header."""
        port = self.full_gateway()
        for say in (b"", b"GET / HTTP/1.1\r\nHost: h\r\n"):
            self.connect(port, PLACES + 20, say)
            for _ in range(3):
                self.assertEqual(ask(port, "k"), (200, "ok"), say)

    def test_who_never_begins_with_tls_keeps_nobody_out(self):
        """A handshake that does not come is worth no more than a header."""
        authority = Authority(self.folder, "ca")
        files = {"tls-cert": self.folder / "own.pem", "tls-key": self.folder / "own.key"}
        authority.sign("gateway", *files.values())
        port = self.full_gateway(tls=files)
        self.connect(port, PLACES + 20)
        for _ in range(3):
            self.assertEqual(ask(port, "k", tls=authority.client()), (200, "ok"))

    def test_one_address_does_not_get_all_places(self):
        """Though each of its requests is at work."""
        port = self.full_gateway()
        self.connect(port, PLACES * 3 // 4, b"GET /held HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n")
        children.wait_until(lambda: self.application.held == PLACES * 3 // 4, 30,
                            lambda: f"{self.application.held} are at work")
        status, text = ask(port, "k")
        self.assertEqual(status, 503, text)
        self.assertIn("too many connections", text)
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=15,
                                           source_address=("127.0.0.2", 0))
        self.addCleanup(other.close)
        other.request("GET", "/", headers={"X-Key": "k"})
        self.assertEqual(other.getresponse().status, 200)

    def test_bodies_that_stall_take_a_bounded_memory(self):
        """64 MiB over all connections; 2,500 of them would take 160."""
        count, size = 2500, 65536
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        port = self.full_gateway(files=12_000)
        self.assertEqual(ask(port, "k"), (200, "ok"))
        at_rest = children.resident_bytes(self.child.pid)
        said = (f"POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: {size}\r\n\r\n".encode()
                + bytes(size - 10))
        for _ in range(count):
            try:
                self.connect(port, 1, said)
            except ConnectionError:  # it was let go while it sent
                pass
        self.assertEqual(ask(port, "k", body="x" * 60_000), (200, "ok"))
        self.assertLess(children.resident_bytes(self.child.pid) - at_rest, 130 << 20)

    def test_no_descriptor_is_left(self):
        """That is said once, and ends with the want."""
        port = self.full_gateway()
        self.assertEqual(ask(port, "k"), (200, "ok"))
        before = resource.prlimit(self.child.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.child.pid, resource.RLIMIT_NOFILE, (1, before[1]))
        waiting = self.connect(port, 5, b"GET / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n")

        def told():
            return re.findall("cannot accept connections: (.*)", self.errors.read_text())
        children.wait_until(told, 20, "it says so")
        resource.prlimit(self.child.pid, resource.RLIMIT_NOFILE, before)
        for connection in waiting:
            self.assertIn(b"200 OK", connection.recv(1000))
        self.assertEqual(told(), ["Too many open files; it tries again"])


if __name__ == "__main__":
    unittest.main()
