#!/usr/bin/python3
"""The owner in Python: its books move with their partitions, and callers of a gateway see nothing.

  owner_test.py EXAMPLE [TEST...]
"""
import json
import os
import shlex
import signal
import sys
import unittest
from pathlib import Path

from http_calls import PARTITIONS, Callers, ExampleCase, ask
from harness.owners import free_port, start_owner, wait_shares

EXAMPLE = Path(sys.argv.pop(1)).resolve()
BOOKS = [f"book{number}" for number in range(40)]


class PythonOwner(ExampleCase):
    """examples/05_owner.py, behind `neliroute run` and a gateway."""

    def setUp(self):
        super().setUp()
        self.shelf = self.folder / "shelf"
        self.shelf.mkdir()
        # Who only stands still for long must not count as dead.
        self.more = {"session": "2s"}

    def owner(self, name):
        """An owner with the program behind it."""
        upstream = f"127.0.0.1:{free_port()}"
        program = shlex.join(map(str, [sys.executable, EXAMPLE, upstream, PARTITIONS, self.shelf]))
        options = {"name": name, "brokers": self.brokers, "profile": "fast", "mode": "exclusive",
                   "partitions": PARTITIONS, "endpoint": f"127.0.0.1:{free_port()}",
                   "upstream": upstream, "key": "path:1", "exec": f"exec {program}",
                   "events": self.folder / f"{name}.events", **self.more}
        return start_owner(self, name, name, self.folder, options)

    def wait_led(self, *owners):
        """Until they lead everything between them, each its share."""
        wait_shares(self, owners, PARTITIONS, 40)

    @staticmethod
    def read(port, book):
        """Its lines, and the program that keeps it; waits for an owner if there is none now."""
        status, text, _ = ask(port, book)
        assert status == 200, (status, text)
        return json.loads(text)["lines"], json.loads(text)["kept_by"]

    def keepers(self, port):
        """The programs that keep books."""
        return {self.read(port, book)[1] for book in BOOKS}

    def test_books_move_with_their_partitions(self):
        """No line is lost or doubled when owners come and leave; callers notice nothing."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        port = self.gateway()
        first = self.keepers(port)
        self.assertEqual(len(first), 1)
        callers = Callers(port, BOOKS, body=lambda number: f"line {number}")
        callers.wait_served(200)
        beta = self.owner("beta")
        self.wait_led(alpha, beta)
        callers.wait_served(100)
        both = self.keepers(port)
        self.assertEqual((len(both), both > first), (2, True))
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.wait_led(beta)
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        self.assertEqual(self.keepers(port), both - first)
        for book in BOOKS:
            written = [f"line {number}" for number, _ in callers.served[book]]
            self.assertEqual(self.read(port, book)[0], written)
            self.assertEqual(json.loads(callers.served[book][-1][1])["lines"], written)

    def test_the_program_ends(self):
        """Its owner leaves with its status, and the other one goes on with what was saved."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        port = self.gateway()
        for book in BOOKS:
            self.assertEqual(ask(port, book, "POST", "first")[0], 200)
        (program,) = self.keepers(port)
        beta = self.owner("beta")
        self.wait_led(alpha, beta)
        (other,) = self.keepers(port) - {program}
        moved = {book for book in BOOKS if self.read(port, book)[1] == other}
        self.assertTrue(0 < len(moved) < len(BOOKS))
        os.kill(other, signal.SIGKILL)
        self.assertEqual(beta.wait_exit(), 128 + signal.SIGKILL, beta.error_tail())
        self.wait_led(alpha)
        self.assertEqual(self.keepers(port), {program})
        for book in BOOKS:
            self.assertEqual(self.read(port, book)[0], ["first"], book)

    def test_the_program_ends_with_a_group(self):
        """The same where Kafka's group assigns."""
        self.more = {"assignment": "group"}
        self.test_the_program_ends()

    def test_wrong(self):
        """What to give; exit code 2. And what a request lacks that did not come by neliroute."""
        for words in ((), ("127.0.0.1:1", "many", self.shelf), ("127.0.0.1:1", "4", self.shelf)):
            code, said = self.run_to_its_end([sys.executable, EXAMPLE, *words])
            self.assertEqual(code, 2)
            self.assertIn("use: neliroute run --exec", said)
        owner = self.owner("alpha")
        self.wait_led(owner)
        upstream = int(owner.command[owner.command.index("--upstream") + 1].rpartition(":")[2])
        status, text, _ = ask(upstream, "book")
        self.assertEqual(status, 400)
        self.assertIn("no Neliroute-Slot", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
