#!/usr/bin/python3
"""An owner that leaves, and clients that ask it without a gateway."""
import http.client
import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from gateway_test import Application  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402


class Leaving(LaneOwners):
    """Two owners, of which one leaves."""
    connections = 200

    def owner(self, name):
        """Before an application of its own."""
        application = Application(name)
        self.addCleanup(application.close)
        return self.start(name, key="header:X-Key", upstream=application.address)

    @staticmethod
    def ask(connection, key):
        """Who served it, or the status; and whether the connection is closed."""
        connection.request("GET", "/", headers={"X-Key": key})
        answer = connection.getresponse()
        text = answer.read().decode()
        said = json.loads(text)["served_by"] if answer.status == 200 else (answer.status, text)
        return said, answer.headers["Connection"] == "close"

    def test_who_leaves_serves_clients_until_it_closes(self):
        """It sends them to those who took over, as it knew when it stopped reading."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        open_ones = [http.client.HTTPConnection("127.0.0.1", alpha.port, timeout=15)
                     for _ in range(self.connections)]
        for connection in open_ones:
            self.addCleanup(connection.close)
            connection.connect()
            self.assertIn(self.ask(connection, "k")[0], ("alpha", "beta"))
        alpha.leave()
        served, last = [], []
        for number, connection in enumerate(open_ones):
            closes = False
            while not closes:
                try:
                    said, closes = self.ask(connection, f"k{number}")
                except OSError:  # it has closed it, as it may
                    said = None
                    break
                served.append(said)
            if said is None:
                break
            last.append(said)
        self.assertEqual([said for said in served if said not in ("alpha", "beta")], [])
        self.assertGreater(len(last), 0, "it was asked when it had handed over")
        self.assertEqual(set(last), {"beta"})
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())


if __name__ == "__main__":
    unittest.main()
