#!/usr/bin/python3
"""Subscribers over WebSockets follow their instruments when owners come, leave and die.

  pricing_websockets_test.py EXAMPLE [TEST...]
"""
import re
import sys
import unittest
from pathlib import Path

from http_calls import ExampleCase
from harness import children
from harness.owners import free_port

EXAMPLE = Path(sys.argv.pop(1)).resolve()
INSTRUMENTS = 18


class PricingWebSockets(ExampleCase):
    """examples/06_pricing_websockets.cc."""
    topic = "neliroute-websockets"

    def owner(self, name):
        """One that publishes what it owns."""
        return self.spawn(name, [EXAMPLE, "owner", name, f"127.0.0.1:{free_port()}", self.brokers])

    def lines(self, name):
        """What a subscriber said, a line for each change: instrument, owner, missing, gap."""
        text = self.said_all(name)
        return [(instrument, by, int(missing), float(gap)) for instrument, by, missing, gap in
                re.findall(r"(?m)^(\w+) from (\w+): quote \d+ is \d+, missing (\d+), gap (\S+) s$",
                           text)]

    def said_all(self, name):
        """All of its output."""
        return (self.folder / f"{name}.out").read_text()

    def sources(self, name):
        """instrument -> from whom it receives it."""
        return {instrument: by for instrument, by, _, _ in self.lines(name)}

    def wait_from(self, name, *owners):
        """Until all instruments come from these, each of which publishes some."""
        def settled():
            found = self.sources(name)
            return found if len(found) == INSTRUMENTS and set(found.values()) == set(owners) \
                else None
        return children.wait_until(settled, 60,
                                   lambda: f"all from {owners}\n{self.said_all(name)[-3000:]}")

    def test_a_subscriber_follows(self):
        """One owner comes, one leaves, one is killed: no quote is missing."""
        alpha = self.owner("alpha")
        subscriber = self.spawn("subscriber", [EXAMPLE, "subscriber", self.brokers])
        self.wait_from("subscriber", "alpha")
        bravo = self.owner("bravo")
        self.wait_from("subscriber", "alpha", "bravo")
        alpha.terminate()
        self.assertEqual(alpha.wait(30), 0, self.said("alpha"))
        self.wait_from("subscriber", "bravo")
        planned = self.lines("subscriber")[INSTRUMENTS:]
        self.owner("charlie")
        self.wait_from("subscriber", "bravo", "charlie")
        until_then = len(self.lines("subscriber"))
        bravo.kill()
        bravo.wait()
        self.wait_from("subscriber", "charlie")
        killed = self.lines("subscriber")[until_then:]
        self.assertEqual({by for _, by, _, _ in killed}, {"charlie"})
        subscriber.terminate()
        self.assertEqual(subscriber.wait(20), 0, self.said("subscriber"))
        self.assertEqual(self.said_all("subscriber").splitlines()[-1], "missing 0")
        self.assertEqual({missing for _, _, missing, _ in planned + killed}, {0})
        print(f"longest gap: {max(gap for _, _, _, gap in planned):.2f} s when owners come and "
              f"leave, {max(gap for _, _, _, gap in killed):.2f} s when one is killed")

    def test_with_a_group(self):
        """The same where Kafka's group assigns."""
        self.variables = {"NELIROUTE_ASSIGNMENT": "group"}
        self.test_a_subscriber_follows()

    def test_wrong(self):
        """What to give, or what is wrong with it; exit code 2."""
        for words in ((), ("owner", "alpha"), ("listener", self.brokers)):
            code, said = self.run_to_its_end([EXAMPLE, *words])
            self.assertEqual(code, 2)
            self.assertIn("use: owner NAME HOST:PORT BROKERS", said)
        code, said = self.run_to_its_end([EXAMPLE, "owner", "a", "127.0.0.1:nowhere", self.brokers])
        self.assertEqual(code, 2)
        self.assertIn("127.0.0.1:nowhere", said)
        for words in (("owner", "a", "127.0.0.1:1", self.brokers), ("subscriber", self.brokers)):
            code, said = self.run_to_its_end([EXAMPLE, *words], NELIROUTE_SLOTS="many")
            self.assertEqual(code, 2)
            self.assertIn("NELIROUTE_SLOTS", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
