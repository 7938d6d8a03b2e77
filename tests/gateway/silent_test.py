#!/usr/bin/python3
"""Kafka falls silent while owners, their applications and a gateway live on."""
import http.client
import json
import sys
import tempfile
import time
import unittest
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests")]
from gateway_test import Application, Authority, ask  # noqa: E402
from harness import children, process  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402
from scripted import Scripted  # noqa: E402

KEYS = [f"key {number}" for number in range(40)]
STALE = "Neliroute-Stale"
# What the owners of profile `fast` have, with an assigner: long over when the calls begin.
LEASE_S = 1.5


class Silent(LaneOwners):
    """Each test has a broker of its own, which it ends."""
    partitions = 4

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.brokers = None

    def broker(self):
        """The test's own: its process."""
        made = []

        def note(end, child):
            made.append(child)
            self.addCleanup(end, child)
        row = process.embedded_broker(self.folder, note, "--topic", self.topic,
                                      "--partitions", self.partitions)
        self.use(self.topic, brokers=row["brokers"], assignment="assigner")
        return made[0]

    def owner(self, name, **options):
        """An owner before an application of its own."""
        application = Application(name)
        self.addCleanup(application.close)
        return self.start(name, key="header:X-Key", upstream=application.address, **options)

    def ask(self, port, key, deadline=10):
        """One request: its status, its stale field and its text."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=deadline)
        try:
            connection.request("GET", "/", headers={"X-Key": key})
            answer = connection.getresponse()
            return answer.status, answer.headers[STALE], answer.read().decode()
        finally:
            connection.close()

    def look(self, port, path):
        """JSON of an admin port: status and object."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def call_all(self, port):
        """Every key once, each of which must be served as if nothing were."""
        for key in KEYS:
            status, stale, text = self.ask(port, key)
            self.assertEqual((status, stale), (200, None), (key, text))

    def test_calls_are_served_on_and_it_is_shown(self):
        """200 for each; a dead owner's keys get a 503 that says why."""
        broker = self.broker()
        admin = free_port()
        alpha = self.owner("alpha", http=f"127.0.0.1:{admin}")
        beta = self.owner("beta")
        self.wait_led(alpha, beta)
        _, port = self.gateway(key="header:X-Key", deadline="1s")
        children.wait_until(lambda: self.ask(port, KEYS[0])[0] == 200, 30, alpha.error_tail)
        broker.kill()
        broker.wait()
        children.wait_until(lambda: self.look(admin, "/readyz")[1].get("stale"), 30,
                            alpha.error_tail)
        silent = children.boot_now()
        ends = time.monotonic() + 4 * LEASE_S
        while time.monotonic() < ends:
            self.call_all(port)
            self.call_all(alpha.port)
        status, ready = self.look(admin, "/readyz")
        self.assertEqual((status, ready["ready"]), (200, True), ready)
        status, route = self.look(admin, "/v1/route?slot=0")
        self.assertEqual((status, route["stale"]), (200, True), route)
        self.assertEqual(alpha.error_tail().count("as stale, for at most"), 1, alpha.error_tail())
        for owner in (alpha, beta):
            owner.refresh()
            self.assertFalse([row for row in owner.events.rows
                              if row["event"] == "stopped" and row["boot"] > silent])
        beta.kill()
        refused = [answer for answer in (self.ask(port, key) for key in KEYS)
                   if answer[0] != 200]
        self.assertTrue(refused)
        for status, stale, text in refused:
            self.assertEqual((status, stale), (503, "1"), text)
            self.assertEqual(text, "the log is silent, and this key's last owner cannot be "
                                   "reached: it refuses connections; try again\n")

    def silence(self, broker, admin, key):
        """Ends the broker, and waits until the gateway knows a stale owner of the key only."""
        broker.kill()
        broker.wait()
        path = f"/v1/route?{urllib.parse.urlencode({'key': key})}"
        children.wait_until(lambda: self.look(admin, path)[1].get("stale"), 30,
                            lambda: self.look(admin, path))

    def test_another_owner_reaches_whom_the_gateway_cannot(self):
        """It passes requests on, once each."""
        broker, admin = self.broker(), free_port()
        mine, theirs = Authority(self.folder, "mine"), Authority(self.folder, "theirs")

        def owner(name, authority, believes):
            files = {"tls_cert": self.folder / f"{name}.pem",
                     "tls_key": self.folder / f"{name}.key"}
            authority.sign(name, *files.values())
            return self.owner(name, upstream_tls=True, upstream_ca=believes.certificate, **files)
        alpha, beta = owner("alpha", mine, theirs), owner("beta", theirs, mine)
        self.wait_led(alpha, beta)
        _, port = self.gateway(key="header:X-Key", deadline="1s", upstream_tls=True,
                               upstream_ca=mine.certificate, http=f"127.0.0.1:{admin}")
        far = next(key for key in KEYS if json.loads(ask(
            alpha.port, key, tls=mine.client())[1])["served_by"] == "beta")
        self.assertEqual(self.ask(port, far)[0], 503)
        self.silence(broker, admin, far)
        status, _, text = self.ask(port, far)
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)["served_by"], "beta")

    def test_a_redirect_moves_a_stale_route(self):
        """To whom records have named, and to nobody else; other requests follow it at once."""
        broker, admin = self.broker(), free_port()
        to = []  # where beta sends its callers, once it does

        def of_beta(request, _):
            if not to:
                return [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbeta"]
            return [b"HTTP/1.1 421 Misdirected Request\r\nNeliroute-Slot: %s\r\n"
                    b"Neliroute-Owner: %s\r\nNeliroute-Epoch: %d:0\r\nContent-Length: 0\r\n\r\n"
                    % (request.value(b"Neliroute-Slot"), to[0].encode(), 10 ** 15)]
        servers = [Scripted(of_beta), *(Scripted(lambda request, _, name=name: [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + name])
            for name in (b"alpha", b"other"))]
        for server in servers:
            self.addCleanup(server.close)
        beta, alpha, stranger = servers
        self.wait_led(self.start("alpha", endpoint=alpha.address),
                      self.start("beta", endpoint=beta.address))
        _, port = self.gateway(key="header:X-Key", deadline="1s", http=f"127.0.0.1:{admin}")
        key = next(key for key in KEYS if self.ask(port, key)[2] == "beta")
        self.silence(broker, admin, key)
        self.assertEqual(self.ask(port, key)[2], "beta")
        to[:] = [stranger.address]
        self.assertEqual(self.ask(port, key)[0], 503)
        self.assertEqual(stranger.requests, [])
        to[:] = [alpha.address]
        self.assertEqual(self.ask(port, key)[2], "alpha")
        asked = len(beta.requests)
        self.assertEqual(self.ask(port, key)[2], "alpha")
        self.assertEqual(len(beta.requests), asked)

    def test_zero_serves_no_longer_than_the_lease(self):
        """As it was before."""
        broker = self.broker()
        alpha = self.owner("alpha", serve_stale="0s")
        self.wait_led(alpha)
        broker.kill()
        broker.wait()
        children.wait_until(lambda: (alpha.refresh(), not alpha.leading)[1], 30, alpha.error_tail)


if __name__ == "__main__":
    unittest.main()
