#!/usr/bin/python3
"""What proxies before ours say of their clients reaches the application if they are trusted, and
with all that came after them; from anybody else it is replaced."""
import socket
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness.owners import LaneOwners  # noqa: E402
from messages import Reader  # noqa: E402
from scripted import Scripted  # noqa: E402

SAID = {b"X-Forwarded-For": b"6.6.6.6", b"X-Forwarded-Proto": b"https",
        b"X-Forwarded-Host": b"shop.test", b"X-Forwarded-Port": b"8443", b"X-Real-IP": b"6.6.6.6",
        b"Forwarded": b"for=6.6.6.6;proto=https"}
HERE, ELSEWHERE = "127.0.0.0/8", "10.0.0.0/8"
HOP = b"for=127.0.0.1;proto=http"


class Forwarded(LaneOwners):
    """A client, a gateway or none, an owner and its application."""
    partitions = 1

    def setUp(self):
        super().setUp()
        self.application = Scripted(lambda *_: [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
        self.addCleanup(self.application.close)

    def owner(self, **options):
        """Its port."""
        options.setdefault("key", "header:X-Key")
        owner = self.start("alpha", upstream=self.application.address, **options)
        self.wait_led(owner)
        return owner.port

    def came(self, port, *more):
        """What the application gets of a request of a client that says all this, and claims to be
        one of ours."""
        lines = [b"GET / HTTP/1.1", b"Host: here.test", b"X-Key: k", b"Neliroute-Hops: 2",
                 *(b"%s: %s" % field for field in SAID.items()), *more]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
            self.assertEqual(Reader(connection).answer(b"GET").start[1], b"200")
        return self.application.requests[-1]

    def check(self, request, hops, kept):
        """`hops`: the proxies that it came through."""
        chain = [SAID[b"X-Forwarded-For"]] * kept + [b"127.0.0.1"] * hops
        self.assertEqual(request.values(b"X-Forwarded-For"), [b", ".join(chain)])
        self.assertEqual(request.values(b"X-Forwarded-Proto"), [b"https" if kept else b"http"])
        for name in (b"X-Forwarded-Host", b"X-Forwarded-Port", b"X-Real-IP"):
            self.assertEqual(request.values(name), [SAID[name]] * kept)
        hop = [SAID[b"Forwarded"], *[HOP] * hops]
        self.assertEqual(request.values(b"Forwarded"), hop if kept else [])
        self.assertEqual(request.values(b"Neliroute-Hops"), [b"%d" % hops], "it is none of ours")
        self.assertEqual([name for name, _ in request.fields if b"_" in name], [])

    def test_of_anybody(self):
        """Nobody is trusted: neither by a gateway, nor by an owner whose peers are elsewhere."""
        port = self.owner(trust_peers=ELSEWHERE)
        self.check(self.came(port, b"X_Real_IP: 7.7.7.7"), 1, False)

    def test_of_a_trusted_proxy_before_an_owner(self):
        """It is trusted with that, and not with fields of ours."""
        port = self.owner(trust_peers=ELSEWHERE, trust_forwarded=f"::1,{HERE}")
        self.check(self.came(port, b"X_Real_IP: 7.7.7.7"), 1, True)

    def test_through_a_gateway(self):
        """Which the owner believes, as a peer."""
        self.owner()
        _, trusting = self.gateway(key="header:X-Key", trust_forwarded=HERE)
        self.check(self.came(trusting), 2, True)
        _, careful = self.gateway(key="header:X-Key")
        self.check(self.came(careful), 2, False)

    def test_the_host_as_key(self):
        """What an untrusted client calls itself is no other key, and does not reach anybody."""
        port = self.owner(key="host", trust_peers=ELSEWHERE)
        self.assertEqual(self.came(port).values(b"X-Forwarded-Host"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
