#!/usr/bin/python3
"""The counter service: no count is lost when owners leave, and none is counted by a former owner.

  counter_service_test.py EXAMPLE [TEST...]
"""
import fcntl
import os
import re
import signal
import sys
import threading
import unittest
from pathlib import Path

from http_calls import PARTITIONS, Callers, ExampleCase, ask
from harness import children
from harness.owners import free_port

EXAMPLE = Path(sys.argv.pop(1)).resolve()
NAMES = [f"counter{number}" for number in range(40)]


class CounterService(ExampleCase):
    """examples/04_counter_service.cc."""

    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.store.mkdir()
        self.ports = {}

    def start(self, name):
        """One process of the service."""
        self.ports[name] = free_port()
        return self.spawn(name, [EXAMPLE, f"127.0.0.1:{self.ports[name]}", self.brokers,
                                 self.store])

    def owned(self, name):
        """The counters that it serves. None: it does not answer, or does not know yet."""
        served = []
        for one in NAMES:
            try:
                status, _, fields = ask(self.ports[name], one)
            except OSError:
                return None
            if status == 503 or (status == 421 and "Neliroute-Owner" not in fields):
                return None
            if status == 200:
                served.append(one)
        return served

    def wait_shared(self, *names):
        """Until each of them serves some, and between them all: name -> its counters."""
        def shared():
            found = {name: self.owned(name) for name in names}
            everything = sorted(one for served in found.values() for one in served or [])
            return found if all(found.values()) and everything == sorted(NAMES) else None
        return children.wait_until(shared, 40, lambda: "".join(map(self.said, names)), poll=0.1)

    def test_each_counter_has_one_owner(self):
        """All others say who it is, and send nobody in a circle."""
        self.start("alpha"), self.start("beta")
        shared = self.wait_shared("alpha", "beta")
        for name, other in (("alpha", "beta"), ("beta", "alpha")):
            owner, stranger = self.ports[name], self.ports[other]
            one = shared[name][0]
            self.assertEqual(ask(owner, one, "POST")[:2], (200, "1"))
            self.assertEqual(ask(owner, one)[:2], (200, "1"))
            status, _, fields = ask(stranger, one, "POST")
            self.assertEqual(status, 421)
            self.assertEqual(fields["Neliroute-Owner"], f"127.0.0.1:{owner}")
            self.assertRegex(fields["Neliroute-Slot"], r"^\d+$")
            epoch = fields["Neliroute-Epoch"]
            sent = {"Neliroute-Epoch": epoch, "Neliroute-Hops": "1"}
            self.assertEqual(ask(owner, one, "POST", fields=sent)[:2], (200, "2"))
            # Nothing newer is known than what the caller knows; and it was sent on too often.
            self.assertEqual(ask(stranger, one, fields=sent)[0], 503)
            self.assertEqual(ask(stranger, one, fields={"Neliroute-Hops": "3"})[0], 508)
        for name, method in (("", "GET"), ("a/b", "POST"), ("a%20b", "POST"), ("a", "DELETE")):
            self.assertEqual(ask(self.ports["alpha"], name, method)[0], 400, (name, method))

    def test_it_takes_its_counters_before_anybody_asks(self):
        """When it leads, the store knows its epoch: no request has to wait for that."""
        self.start("alpha")

        def taken():
            heads = [path.read_text().split(" ")[0] for path in self.store.iterdir()]
            return len(heads) == PARTITIONS and all(re.fullmatch(r"\d+:\d+", one) for one in heads)
        children.wait_until(taken, 30, lambda: self.said("alpha"))

    def test_planned_moves_lose_nothing(self):
        """Callers notice nothing of owners that come and leave."""
        alpha = self.start("alpha")
        self.wait_shared("alpha")
        port = self.gateway()
        callers = Callers(port, NAMES)
        callers.wait_served(100)
        beta = self.start("beta")
        self.wait_shared("alpha", "beta")
        callers.wait_served(100)
        alpha.terminate()
        self.assertEqual(alpha.wait(30), 0, self.said("alpha"))
        self.wait_shared("beta")
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        counts = {one: str(len(callers.served[one])) for one in NAMES}
        self.assertEqual({one: ask(port, one)[1] for one in NAMES}, counts)
        # It is in memory and in the store: a process that begins from the store has it, too.
        beta.terminate()
        self.assertEqual(beta.wait(30), 0, self.said("beta"))
        self.start("gamma")
        self.wait_shared("gamma")
        self.assertEqual({one: ask(port, one)[1] for one in NAMES}, counts)

    def test_a_killed_owner_loses_nothing_that_was_answered(self):
        """What was not answered may have been counted or not."""
        alpha = self.start("alpha")
        self.start("beta")
        shared = self.wait_shared("alpha", "beta")
        port = self.gateway()
        callers = Callers(port, NAMES)
        callers.wait_served(200)
        alpha.kill()
        alpha.wait()
        self.wait_shared("beta")
        callers.wait_served(100)
        failed = callers.stop()
        for one in NAMES:
            answered = len(callers.served[one])
            unknown = sum(name == one for name, _, _ in failed)
            value = int(ask(port, one)[1])
            self.assertTrue(answered <= value <= answered + unknown, (one, answered, value, failed))
            if one in shared["beta"]:
                self.assertEqual(unknown, 0, failed)

    def test_the_one_that_assigns_is_killed(self):
        """The other one assigns, and serves every counter with what was counted."""
        alpha, beta = self.start("alpha"), self.start("beta")
        self.wait_shared("alpha", "beta")
        for one in NAMES:
            self.assertEqual(self.add(one, "alpha", "beta"), "1")
        left = self.kill_the_assigner(alpha=alpha, beta=beta)
        self.wait_shared(left)
        for one in NAMES:
            self.assertEqual(self.add(one, left), "2")

    def add(self, one, *names):
        """Adds 1 at whichever of them owns the counter: its value."""
        def added():
            answers = (ask(self.ports[name], one, "POST") for name in names)
            return next((text for status, text, _ in answers if status == 200), None)
        return children.wait_until(added, 20, lambda: "".join(map(self.said, names)))

    def test_a_late_write_is_refused(self):
        """An owner that was stopped between its check and its write, woken when another has
        counted."""
        alpha = self.start("alpha")
        self.wait_shared("alpha")
        one = NAMES[0]
        self.assertEqual(ask(self.ports["alpha"], one, "POST")[:2], (200, "1"))
        late = []
        with self.locked_store():
            caller = threading.Thread(daemon=True, target=lambda: late.append(
                ask(self.ports["alpha"], one, "POST", timeout=120)))
            caller.start()
            children.wait_until(lambda: self.waits_for_lock(alpha), 20, "it waits for the store")
            children.stop(alpha.pid)
            children.wait_until(lambda: not self.waits_for_lock(alpha), 20, "it is stopped there")
        self.start("beta")
        children.wait_until(lambda: self.owned("beta") == NAMES, 60, lambda: self.said("beta"),
                            poll=0.1)
        self.assertEqual(ask(self.ports["beta"], one, "POST")[:2], (200, "2"))
        os.kill(alpha.pid, signal.SIGCONT)
        caller.join(60)
        self.assertEqual([answer[0] for answer in late], [503], self.said("alpha"))
        alpha.kill()
        alpha.wait()
        children.wait_until(lambda: self.owned("beta") == NAMES, 60, lambda: self.said("beta"),
                            poll=0.1)
        self.assertEqual(ask(self.ports["beta"], one)[:2], (200, "2"))

    def test_a_store_that_is_ahead_heals(self):
        """Restored from another topic's time, say: nobody's epoch is as great as the store's."""
        self.start("alpha")
        self.wait_shared("alpha")
        one = NAMES[0]
        self.assertEqual(ask(self.ports["alpha"], one, "POST")[0], 200)
        path = next(path for path in self.store.iterdir() if f"\n{one} " in path.read_text())
        inc, _, offset = path.read_text().split()[0].partition(":")
        ahead = (int(inc) + 1_000_000, int(offset))
        with self.locked_store(), open(path, "r+", encoding="ascii") as file:
            file.write("{}:{}".format(*ahead).ljust(63) + "\n")
        self.assertEqual(ask(self.ports["alpha"], one, "POST")[0], 503)
        self.assertEqual(path.read_text().splitlines()[-1], f"{one} 1")
        children.wait_until(lambda: ask(self.ports["alpha"], one, "POST")[:2] == (200, "2"), 20,
                            lambda: self.said("alpha"), poll=0.1)
        healed = tuple(map(int, path.read_text().split()[0].split(":")))
        self.assertGreater(healed, ahead)

    def test_wrong(self):
        """What to give, or what is wrong with it; exit code 2."""
        self.assertEqual(self.run_to_its_end([EXAMPLE, "127.0.0.1:1"]),
                         (2, "use: HOST:PORT BROKERS FOLDER\n"))
        code, said = self.run_to_its_end([EXAMPLE, "127.0.0.1:nowhere", self.brokers, self.store])
        self.assertEqual(code, 2)
        self.assertIn("127.0.0.1:nowhere", said)
        code, said = self.run_to_its_end([EXAMPLE, "127.0.0.1:1", self.brokers, self.store],
                                         NELIROUTE_ASSIGNMENT="nobody")
        self.assertEqual(code, 2)
        self.assertIn("NELIROUTE_ASSIGNMENT", said)

    def locked_store(self):
        """Nobody else reads or writes any of its files meanwhile."""
        paths = sorted(self.store.iterdir())
        self.assertEqual(len(paths), PARTITIONS)
        return Locks(paths)

    @staticmethod
    def waits_for_lock(child):
        """Whether it is blocked in flock()."""
        waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return any(words[1] == "->" and words[5] == str(child.pid) for words in waiting)


class Locks:
    """flock() on some files."""

    def __init__(self, paths):
        self.files = []
        self.paths = paths

    def __enter__(self):
        for path in self.paths:
            self.files.append(open(path, "rb"))  # noqa: SIM115: closed below
            fcntl.flock(self.files[-1], fcntl.LOCK_EX)

    def __exit__(self, *_):
        for file in self.files:
            file.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
