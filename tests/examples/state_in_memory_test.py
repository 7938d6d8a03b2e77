#!/usr/bin/python3
"""State in memory: planned moves lose nothing, whatever is under way when a partition stops.

  state_in_memory_test.py EXAMPLE [TEST...]
"""
import sys
import threading
import unittest
from pathlib import Path

from http_calls import Callers, ExampleCase, ask
from harness import children
from harness.owners import free_port

EXAMPLE = Path(sys.argv.pop(1)).resolve()
NAMES = [f"counter{number}" for number in range(40)]
WORK_MS = 700  # of a request that is under way when its partition stops


class StateInMemory(ExampleCase):
    """examples/08_state_in_memory.cc."""
    variables = {"NELIROUTE_ASSIGNMENT": "assigner", "NELIROUTE_PARTITIONS": "16"}

    def setUp(self):
        super().setUp()
        self.ports = {}

    def start(self, name):
        """One process of the service."""
        self.ports[name] = free_port()
        return self.spawn(name, [EXAMPLE, f"127.0.0.1:{self.ports[name]}", self.brokers])

    def owned(self, name):
        """The counters that it serves."""
        try:
            return [one for one in NAMES if ask(self.ports[name], one)[0] == 200]
        except OSError:
            return []

    def wait_shared(self, *names):
        """Until each of them serves some, and between them all: name -> its counters."""
        def shared():
            found = {name: self.owned(name) for name in names}
            everything = sorted(one for served in found.values() for one in served)
            return found if all(found.values()) and everything == sorted(NAMES) else None
        return children.wait_until(shared, 40, lambda: "".join(map(self.said, names)), poll=0.1)

    def test_planned_moves_lose_nothing(self):
        """Of quick requests and of slow ones, of owners that come and leave."""
        alpha = self.start("alpha")
        self.wait_shared("alpha")
        port = self.gateway()
        callers = Callers(port, NAMES, lambda sent: "150" if sent % 5 == 0 else "0")
        callers.wait_served(100)
        self.start("beta")
        self.wait_shared("alpha", "beta")
        callers.wait_served(100)
        alpha.terminate()
        self.assertEqual(alpha.wait(30), 0, self.said("alpha"))
        self.wait_shared("beta")
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        counts = {one: str(len(callers.served[one])) for one in NAMES}
        self.assertEqual({one: ask(port, one)[1] for one in NAMES}, counts)

    def test_what_is_under_way_is_handed_over_too(self):
        """A request that ends after its partition stopped has counted at the next owner."""
        self.start("alpha")
        self.wait_shared("alpha")
        port = self.gateway()
        self.assertEqual({ask(port, one, "POST")[1] for one in NAMES}, {"1"})
        answers = []
        ends = threading.Event()

        def call(one):
            while not ends.is_set():
                answers.append((one, ask(port, one, "POST", str(WORK_MS))[:2]))
        threads = [threading.Thread(target=call, args=(one,), daemon=True) for one in NAMES]
        for thread in threads:
            thread.start()
        self.start("beta")
        shared = self.wait_shared("alpha", "beta")
        ends.set()
        for thread in threads:
            thread.join(20)
        for one in NAMES:
            served = [text for name, (status, text) in answers
                      if name == one and status == 200]
            self.assertEqual(served, [str(2 + number) for number in range(len(served))],
                             f"{one} of {shared}\n{self.said('alpha')}\n{self.said('beta')}")
        self.assertNotIn("lost", self.said("beta"))

    def test_a_killed_owner_loses_its_counters(self):
        """And the next one says so."""
        alpha = self.start("alpha")
        self.start("beta")
        one = self.wait_shared("alpha", "beta")["alpha"][0]
        self.assertEqual(ask(self.ports["alpha"], one, "POST")[1], "1")
        alpha.kill()
        alpha.wait()
        self.wait_shared("beta")
        self.assertEqual(ask(self.ports["beta"], one)[1], "0")
        self.assertIn("its counters are lost", self.said("beta"))

    def test_wrong(self):
        """What to give; exit code 2."""
        self.assertEqual(self.run_to_its_end([EXAMPLE, "127.0.0.1:1"]),
                         (2, "use: HOST:PORT BROKERS\n"))
        code, said = self.run_to_its_end([EXAMPLE, "127.0.0.1:nowhere", self.brokers])
        self.assertEqual(code, 2)
        self.assertIn("127.0.0.1:nowhere", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
