#!/usr/bin/python3
"""A service behind Forwarders: any process answers for any key, also while owners come and leave.

  behind_a_forwarder_test.py EXAMPLE [TEST...]
"""
import http.client
import sys
import unittest
from pathlib import Path

from http_calls import Callers, ExampleCase, ask
from harness import children
from harness.owners import free_port

EXAMPLE = Path(sys.argv.pop(1)).resolve()
NAMES = [f"counter{number}" for number in range(40)]


class BehindAForwarder(ExampleCase):
    """examples/07_behind_a_forwarder.cc."""

    def setUp(self):
        super().setUp()
        self.ports = {}

    def start(self, name):
        """One process of the service."""
        self.ports[name] = free_port()
        return self.spawn(name, [EXAMPLE, f"127.0.0.1:{self.ports[name]}", self.brokers])

    def owners(self, asked):
        """Whose answers that process gives; None: it does not serve yet."""
        try:
            answers = [ask(self.ports[asked], one) for one in NAMES]
        except (OSError, http.client.HTTPException):
            return None
        if any(status != 200 for status, _, _ in answers):
            return None
        return {text.partition(" by ")[2] for _, text, _ in answers}

    def wait_shared(self, *names):
        """Until each of them answers for each of them."""
        wanted = {f"127.0.0.1:{self.ports[name]}" for name in names}
        children.wait_until(lambda: all(self.owners(name) == wanted for name in names), 40,
                            lambda: "".join(map(self.said, names)), poll=0.1)

    def test_any_process_answers_for_any_counter(self):
        """Each counter is counted by one process, whoever is asked."""
        self.start("alpha"), self.start("beta")
        self.wait_shared("alpha", "beta")
        for one in NAMES[:8]:
            texts = [ask(self.ports[asked], one, "POST")[1]
                     for asked in ("alpha", "beta", "beta", "alpha")]
            counts, owners = zip(*(text.split(" by ") for text in texts))
            self.assertEqual(counts, ("1", "2", "3", "4"))
            self.assertEqual(len(set(owners)), 1)
        self.assertEqual(ask(self.ports["alpha"], "")[0], 400)

    def test_callers_notice_no_planned_move(self):
        """Neither of an owner that comes nor of one that leaves."""
        alpha = self.start("alpha")
        self.wait_shared("alpha")
        callers = Callers(self.ports["alpha"], NAMES)
        callers.wait_served(100)
        beta = self.start("beta")
        self.wait_shared("alpha", "beta")
        callers.wait_served(100)
        beta.terminate()
        self.assertEqual(beta.wait(30), 0, self.said("beta"))
        self.wait_shared("alpha")
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        alpha.terminate()
        self.assertEqual(alpha.wait(30), 0, self.said("alpha"))

    def test_the_one_that_assigns_is_killed(self):
        """The other one assigns, and answers for every counter."""
        alpha, beta = self.start("alpha"), self.start("beta")
        self.wait_shared("alpha", "beta")
        self.wait_shared(self.kill_the_assigner(alpha=alpha, beta=beta))

    def test_wrong(self):
        """What to give, or what is wrong with it; exit code 2."""
        self.assertEqual(self.run_to_its_end([EXAMPLE, "127.0.0.1:1"]),
                         (2, "use: HOST:PORT BROKERS\n"))
        code, said = self.run_to_its_end([EXAMPLE, "127.0.0.1:nowhere", self.brokers])
        self.assertEqual(code, 2)
        self.assertIn("127.0.0.1:nowhere", said)
        code, said = self.run_to_its_end([EXAMPLE, "127.0.0.1:1", self.brokers],
                                         NELIROUTE_ASSIGNMENT="nobody")
        self.assertEqual(code, 2)
        self.assertIn("NELIROUTE_ASSIGNMENT", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
