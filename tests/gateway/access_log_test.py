#!/usr/bin/python3
"""--access-log: what it says of each request, and that nobody waits for who reads it."""
import http.client
import json
import os
import signal
import socket
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tool"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from case import run_raw  # noqa: E402
from gateway_test import Application, ask  # noqa: E402
from harness import children  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402


class AccessLog(LaneOwners):
    """One owner before an application, and a gateway."""
    partitions = 4

    def setUp(self):
        super().setUp()
        self.file = self.path("gateway", "access")

    def owner(self, **options):
        """It owns everything."""
        self.application = Application("alpha")
        self.addCleanup(self.application.close)
        owner = self.start("alpha", key="header:X-Key", upstream=self.application.address,
                           **options)
        self.wait_led(owner)
        return owner

    def logging(self, **options):
        """A gateway that writes one: its process and its port."""
        return self.gateway(**{"key": "header:X-Key", "access-log": self.file, **options})

    def rows(self, count, path=None):
        """So many lines, once they are there."""
        def read():
            lines = (path or self.file).read_text().splitlines()
            return lines if len(lines) >= count else None
        lines = children.wait_until(read, 20, "they are written")
        self.assertEqual(len(lines), count, lines)
        return [json.loads(line) for line in lines]

    def test_what_became_of_each_request(self):
        """At a gateway and at an owner."""
        own = self.path("alpha", "access")
        owner = self.owner(**{"access-log": own})
        _, port = self.logging(deadline="500ms")
        self.assertEqual(ask(port, "k", "/cart?token=secret")[0], 200)
        self.assertEqual(ask(port, "", "/none?token=secret")[0], 400)
        forwarded, refused = self.rows(2)
        slot = forwarded.pop("slot")
        self.assertRegex(forwarded.pop("time"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertGreater(forwarded.pop("duration_ms"), 0)
        self.assertGreater(forwarded.pop("bytes"), 40)
        self.assertEqual(forwarded, {
            "client": "127.0.0.1", "method": "GET", "path": "/cart", "tries": 1, "status": 200,
            "owner": f"127.0.0.1:{owner.port}", "result": "forwarded"})
        self.assertEqual({name: refused.get(name) for name in
                          ("path", "slot", "owner", "tries", "status", "result")},
                         {"path": "/none", "slot": None, "owner": None, "tries": 0, "status": 400,
                          "result": "refused"})
        (served,) = self.rows(1, own)
        self.assertEqual((served["slot"], served["owner"], served["result"]),
                         (slot, self.application.address, "served"))
        self.assertNotIn("secret", self.file.read_text() + own.read_text())
        owner.leave()
        self.assertEqual(owner.wait_exit(), 0, owner.error_tail())
        self.assertEqual(ask(port, "k", "/cart")[0], 503)
        unowned = self.rows(3)[-1]
        self.assertEqual((unowned["status"], unowned["result"], unowned["slot"]),
                         (503, "unowned", slot))

    def test_an_owner_that_cannot_be_reached(self):
        """Is no owner that is missing."""
        owner = self.start("alpha", endpoint=f"127.0.0.1:{free_port()}")
        self.wait_led(owner)
        _, port = self.logging(deadline="300ms")
        self.assertEqual(ask(port, "k")[0], 503)
        (row,) = self.rows(1)
        self.assertEqual((row["result"], row["tries"]), ("unreachable", 0))

    def test_a_client_that_goes(self):
        """Has got no answer."""
        self.owner()
        self.application.delay.clear()
        _, port = self.logging()
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /gone HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n")
            children.wait_until(lambda: self.application.requests, 20, "it is under way")
        (row,) = self.rows(1)
        self.assertEqual((row["path"], row["status"], row["result"], row["tries"]),
                         ("/gone", 0, "broken", 1))

    def test_it_is_rotated(self):
        """SIGHUP: what comes then is in a new file."""
        self.owner()
        gateway, port = self.logging()
        ask(port, "k", "/first")
        self.rows(1)
        rotated = self.path("gateway", "rotated")
        self.file.rename(rotated)
        os.kill(gateway.pid, signal.SIGHUP)
        children.wait_until(self.file.exists, 20, "it is opened anew")
        ask(port, "k", "/second")
        self.assertEqual([row["path"] for row in self.rows(1)], ["/second"])
        self.assertEqual([row["path"] for row in self.rows(1, rotated)], ["/first"])

    def many(self, port, count):
        """Requests with long lines, all of which are answered."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        self.addCleanup(connection.close)
        for _ in range(count):
            connection.request("GET", "/" + "x" * 2000, headers={"X-Key": "k"})
            answer = connection.getresponse()
            self.assertEqual((answer.status, len(answer.read()) > 0), (200, True))

    def test_nobody_reads_it(self):
        """Requests are served on, and the log says how many lines are lost."""
        self.owner()
        os.mkfifo(self.file)
        _, port = self.logging()
        self.many(port, 1300)  # some 1.5 MB of lines
        errors = self.path("gateway", "err")
        self.assertIn("its reader has stalled", errors.read_text())
        with open(self.file, "rb") as pipe:
            ask(port, "k")
            first = json.loads(pipe.readline())
            self.assertEqual(first["path"], "/" + "x" * 1023)

            def lost():
                os.set_blocking(pipe.fileno(), False)
                pipe.read()
                return "lines were lost" in errors.read_text()
            children.wait_until(lost, 20, "it takes the rest")

    def test_its_disk_is_full(self):
        """The same."""
        self.owner()
        self.file.symlink_to("/dev/full")
        _, port = self.logging()
        self.many(port, 3)
        self.assertIn("No space left", self.path("gateway", "err").read_text())

    def test_it_cannot_be_written(self):
        """Before anything else: the option, the path, and what to do."""
        refused = run_raw("gateway", "--key", "host", "--listen", "1", "--access-log", "/none/x")
        self.assertEqual(refused.code, 2, refused)
        self.assertIn("--access-log: /none/x cannot be written", refused.err)


if __name__ == "__main__":
    unittest.main()
