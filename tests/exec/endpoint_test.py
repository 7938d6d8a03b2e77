#!/usr/bin/python3
"""Endpoints: where an owner serves, which ones are refused, and who shares one."""
import json
import socket
import threading
import unittest
import urllib.request

from owners_case import KEY_COUNT, OwnersCase, admin_port, free_port
from application import Application
from harness import children, process


class PortMapping:
    """What comes to one port of this machine goes to another one, as with a container's."""

    def __init__(self, to):
        self.to = to
        self.used = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            self.used += 1
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one, other):
        try:
            while part := one.recv(4096):
                other.sendall(part)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Endpoint(OwnersCase):
    """Owners that callers reach at other addresses than those where they listen, or not at all."""

    def test_an_owner_serves_where_it_listens(self):
        """And its callers connect to its endpoint."""
        listens = free_port()
        mapping = PortMapping(listens)
        self.addCleanup(mapping.listener.close)
        application = Application(free_port())
        self.addCleanup(application.close)
        alpha = self.start("alpha", endpoint=f"127.0.0.1:{mapping.port}",
                           listen=f"127.0.0.1:{listens}", upstream=application.address,
                           key="header:X-Key")
        self.wait_led(alpha)
        children.wait_until(
            lambda: f"serves http://127.0.0.1:{listens}/" in alpha.errors.read_text(), 20,
            alpha.error_tail)
        _, port = self.gateway(key="header:X-Key")
        for n in range(KEY_COUNT):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/",
                                             headers={"X-Key": f"k{n}"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                self.assertEqual(answer.status, 200)
        self.assertGreater(mapping.used, 0)

    def test_what_nobody_can_connect_to_is_refused(self):
        """With what to write."""
        for endpoint in ("0.0.0.0:8080", "[::]:8080", "224.0.0.1:1", "255.255.255.255:1"):
            done = process.run_tool("run", endpoint=endpoint)
            self.assertEqual(done.code, 2, done)
            self.assertIn(f'"{endpoint}"', done.err)
            self.assertIn("write what callers connect to, as in 10.0.0.7:8080", done.err)
        for options, text in (
                ({"listen": "127.0.0.1:1"}, "--listen is of the application behind --upstream"),
                ({"listen": "nowhere", "upstream": "127.0.0.1:1", "key": "host"}, '"nowhere"'),
                ({"handover_grace": "1s"}, "--handover-grace is of the application behind"),
                ({"handover_grace": "0s", "upstream": "127.0.0.1:1", "key": "host"},
                 "--handover-grace: expected more than 0")):
            done = process.run_tool("run", endpoint="127.0.0.1:1", **options)
            self.assertEqual(done.code, 2, done)
            self.assertIn(text, done.err)

    def shared(self, http, path, rows):
        """Who of that list shares an endpoint."""
        with urllib.request.urlopen(f"http://127.0.0.1:{http}{path}", timeout=10) as answer:
            return sorted(row["name"] for row in json.loads(answer.read())[rows]
                          if row.get("endpoint_shared"))

    def who_shares_is_told(self, **options):
        """By both logs, by `watch`, and by the admin port."""
        endpoint = f"127.0.0.1:{free_port()}"
        alpha, beta = (self.start(name, endpoint=endpoint, http="0", **options)
                       for name in ("alpha", "beta"))
        gamma = self.start("gamma", **options)
        self.wait_led(alpha, beta, gamma)
        for owner, other in ((alpha, "beta"), (beta, "alpha")):
            children.wait_until(
                lambda owner=owner, other=other:
                    f"process {other} (" in owner.errors.read_text()
                    and f"states this process's endpoint {endpoint}" in owner.errors.read_text(),
                60, owner.error_tail)
        http = admin_port(alpha.errors)
        children.wait_until(
            lambda: self.shared(http, "/v1/processes", "processes") == ["alpha", "beta"], 20,
            lambda: self.shared(http, "/v1/processes", "processes"))
        if options.get("assignment") == "assigner":
            self.assertEqual(self.shared(http, "/v1/assignment", "members"), ["alpha", "beta"])
        text = process.run_tool("watch", once=True, **self.lane).out
        self.assertEqual(text.count(f"{endpoint} (shared)"), 2, text)
        self.assertNotIn("states this process's endpoint", gamma.errors.read_text())

    def test_who_shares_one_is_told_with_a_group(self):
        """Of those that own something."""
        self.who_shares_is_told()

    def test_who_shares_one_is_told_with_an_assigner(self):
        """Of all members."""
        self.who_shares_is_told(assignment="assigner", partitions=self.partitions)


if __name__ == "__main__":
    unittest.main(verbosity=2)
