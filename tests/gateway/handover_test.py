#!/usr/bin/python3
"""Exclusive mode: a request that does not end holds up its partition's hand-over for the grace."""
import http.client
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

# Without a bound of its own, a barrier would last for what is left of it.
LEASE_S = 10
# The grace, and what a machine that others use as well may need besides.
MOST_MS = 6000
KEYS = [f"k{n}" for n in range(32)]
SIZE = 64 << 20  # of an answer: more than kernels keep on the way


class Application(Server):
    """GET /long answers SIZE bytes, /late nothing until it may, and any other path its name."""

    def __init__(self, name):
        self.may_answer = threading.Event()
        self.late = []  # one for each request that waits, or waited
        application = self

        class Answers(Handler):
            """One request."""

            def do_GET(self):
                """As the path wants it."""
                if self.path == "/late":
                    application.late.append(self.path)
                    application.may_answer.wait(120)
                body = bytes(SIZE) if self.path == "/long" else name.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

        super().__init__(Answers)

    def close(self):
        """Who is held up goes on."""
        self.may_answer.set()
        super().close()


class HandOver(LaneOwners):
    """Two owners with an application each; the second comes while requests are under way."""
    partitions = 4

    def owner(self, name, **options):
        """In exclusive mode."""
        application = Application(name)
        self.addCleanup(application.close)
        owner = self.start(name, **{"mode": "exclusive", "lease": f"{LEASE_S}s",
                                    "session": f"{LEASE_S + 5}s",
                                    "key": "header:X-Key", "upstream": application.address,
                                    "assignment": "assigner", "partitions": self.partitions,
                                    **options})
        owner.application = application
        return owner

    def stuck(self, owner, key):
        """A client that has read the beginning of a long answer, and reads no more."""
        one = socket.socket()
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(60)
        one.connect(("127.0.0.1", owner.port))
        one.sendall(f"GET /long HTTP/1.1\r\nHost: h\r\nX-Key: {key}\r\n\r\n".encode())
        self.assertIn(b"200", one.recv(64))
        return one

    def assert_cut(self, client):
        """Its answer ends before its end."""
        received = 0
        try:
            while part := client.recv(1 << 20):
                received += len(part)
        except ConnectionResetError:
            pass
        self.assertLess(received, SIZE)

    def assert_short_barriers(self, owner):
        """Of all partitions that it gave up."""
        owner.refresh()
        took = [row["barrier_ms"] for row in owner.events.rows if row["event"] == "released"]
        print(f"{owner.name}: barriers of {took} ms", flush=True)
        self.assertTrue(took)
        self.assertLess(max(took), MOST_MS)

    def test_a_client_that_reads_nothing_costs_a_move_the_grace(self):
        """And no more: its connection is cut."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        clients = {key: self.stuck(alpha, key) for key in KEYS}
        beta = self.owner("beta")
        self.wait_led(alpha, beta)
        self.assert_short_barriers(alpha)
        moved = [key for key in KEYS if self.by_whom(beta, key)[2] == "beta"]
        self.assertTrue(moved)
        for key in moved[:3]:
            self.assert_cut(clients[key])

    def test_a_leave_takes_no_longer_either(self):
        """Of a process with such clients, which may set another bound."""
        alpha = self.owner("alpha", handover_grace="300ms")
        self.wait_led(alpha)
        beta = self.owner("beta")
        self.wait_led(alpha, beta)
        clients = [self.stuck(alpha, key) for key in KEYS
                   if self.by_whom(alpha, key)[2] == "alpha"]
        self.assertTrue(clients)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(60), 0, alpha.error_tail())
        self.assert_short_barriers(alpha)

    def by_whom(self, owner, key, path="/", method="GET", timeout=60):
        """Status, Content-Length and the body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", owner.port, timeout=timeout)
        try:
            connection.request(method, path, headers={"X-Key": key, "Content-Length": "0"})
            answer = connection.getresponse()
            body = answer.read().decode()
            return answer.status, len(body), body
        finally:
            connection.close()

    def test_what_is_not_answered_goes_to_the_next_owner_or_ends(self):
        """By its method, as after a connection that broke."""
        alpha = self.owner("alpha", deadline="60s")
        self.wait_led(alpha)
        found = {}

        def ask(method, key):
            found[method, key] = self.by_whom(alpha, key, "/late", method)
        threads = [threading.Thread(target=ask, args=(method, key), daemon=True)
                   for key in KEYS for method in ("GET", "POST")]
        for one in threads:
            one.start()
        children.wait_until(lambda: len(alpha.application.late) == len(threads), 60,
                            lambda: f"{len(alpha.application.late)} requests are with alpha")
        beta = self.owner("beta", deadline="60s")
        beta.application.may_answer.set()
        self.wait_led(alpha, beta)
        moved = [key for key in KEYS if self.by_whom(beta, key)[2] == "beta"]
        self.assertTrue(moved)
        children.wait_until(
            lambda: all((method, key) in found for key in moved for method in ("GET", "POST")),
            60, lambda: found)
        for key in moved:
            self.assertEqual(found["GET", key][::2], (200, "beta"))
            self.assertEqual(found["POST", key][0], 504, found["POST", key])
        alpha.application.may_answer.set()
        for one in threads:
            one.join(60)
        for key in set(KEYS) - set(moved):
            self.assertEqual(found["POST", key][::2], (200, "alpha"), "it stayed")


if __name__ == "__main__":
    unittest.main()
