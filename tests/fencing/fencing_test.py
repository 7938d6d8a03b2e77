#!/usr/bin/python3
"""An owner stopped between its check and its write, woken when another owns the key (section 6)."""
import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, owners, process  # noqa: E402
from harness.stores.postgres import Postgres  # noqa: E402
from harness.stores.postgres_cluster import PostgresCluster  # noqa: E402

STOPPER = Path(sys.argv.pop(2)).resolve()
EXAMPLE = Path(sys.argv.pop(1)).resolve()
KEY = "account-7"


class Teller:
    """One process of the example, asked by its stdin."""

    def __init__(self, folder, port, *places, assignment, before="write"):
        """`before`: what stop_before_booking() stops it at."""
        self.trigger = folder / f"{port}.stop"
        self.log = folder / f"{port}.log"
        env = process.environment({"LD_PRELOAD": str(STOPPER),
                                   "STOP_BEFORE_WRITE": str(self.trigger),
                                   "STOP_BEFORE": before,
                                   "NELIROUTE_ASSIGNMENT": assignment,
                                   "NELIROUTE_SESSION": "2s"})
        with open(self.log, "wb") as log:
            self.child = children.spawn(
                [EXAMPLE, f"127.0.0.1:{port}", *places], text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env)
        self.booked = []  # what it said it has written

    def send(self, amount):
        """Asks to add, and does not wait."""
        self.child.stdin.write(f"{KEY} {amount}\n")

    def answer(self, amount):
        """What it says to what was sent; an amount that it booked is remembered."""
        line = self.child.stdout.readline().rstrip("\n")
        key, _, text = line.partition(": ")
        assert key == KEY, f"{line!r}\n{self.log.read_text()}"
        if text.startswith("balance "):
            self.booked.append(amount)
        return text

    def add(self, amount):
        """Asks until it is booked here; the balance."""
        def booked():
            self.send(amount)
            text = self.answer(amount)
            return text if text.startswith("balance ") else None
        return int(children.wait_until(booked, 40, f"{amount} booked", poll=0.05).split()[1])

    def stop_before_booking(self, amount):
        """Asks until it has decided to write that, and is stopped there."""
        self.trigger.touch()

        def stopped():
            self.send(amount)
            children.wait_until(lambda: self._stopped() or self._answered(), 20, "an answer",
                                poll=0.005)
            if self._stopped():
                return True
            text = self.answer(amount)
            assert text.startswith("ask "), text
            return False
        children.wait_until(stopped, 40, lambda: f"stopped\n{self.log.read_text()}", poll=0.05)
        assert not self.trigger.exists(), "stopped, but not before a write"

    def _stopped(self):
        stat = Path(f"/proc/{self.child.pid}/stat").read_text(encoding="ascii", errors="replace")
        return stat.rpartition(")")[2].split()[0] == "T"

    def _answered(self):
        return select.select([self.child.stdout], [], [], 0)[0]

    def wake(self):
        """It goes on with the very write that it was about to send."""
        os.kill(self.child.pid, signal.SIGCONT)


class Fencing(unittest.TestCase):
    """examples/02_fencing_with_postgres.cc."""

    assignment = "assigner"

    @classmethod
    def setUpClass(cls):
        cls.database = cls.enterClassContext(Postgres())

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.database.query("DROP TABLE IF EXISTS balances")
        self.brokers = process.embedded_broker(self.folder, self.addCleanup)["brokers"]

    def start(self, port, *more):
        """One more process."""
        teller = Teller(self.folder, port, self.brokers, self.database.conninfo, *more,
                        assignment=self.assignment)
        self.addCleanup(children.end, teller.child)
        return teller

    def row(self):
        """(balance, epoch) as they are stored."""
        (balance, inc, off), = self.database.query("SELECT balance, inc, off FROM balances")
        return int(balance), (int(inc), int(off))

    def stopped_owner(self, *more):
        """One who booked 5, and was stopped when about to book 1 more."""
        first = self.start(7001, *more)
        self.assertEqual(first.add(5), 5)
        first.stop_before_booking(1)
        self.assertEqual(self.row()[0], 5, "stopped before the write, not after")
        return first

    def test_late_write_is_refused_and_nothing_is_lost(self):
        """Another took over and wrote: the row has its epoch."""
        first = self.stopped_owner()
        _, old = self.row()
        second = self.start(7002)
        self.assertEqual(second.add(10), 15)
        balance, new = self.row()
        self.assertGreater(new, old)
        first.wake()
        self.assertEqual(first.answer(1), "refused, somebody newer owns it")
        self.assertEqual(self.row(), (15, new))
        # It may be asked again: it sends to the owner, or is the owner by now and reads again.
        first.send(0)
        text = first.answer(0)
        self.assertTrue(text.startswith(("ask ", "balance 15")), text)
        children.end(first.child)
        self.assertEqual(second.add(1), 16)
        self.assertEqual(self.row()[0], sum(first.booked + second.booked))

    def test_late_write_is_refused_with_a_group(self):
        """The same where Kafka's group assigns."""
        self.assignment = "group"
        self.test_late_write_is_refused_and_nothing_is_lost()
        self.assertIsNone(owners.assigner(brokers=self.brokers))

    def test_late_write_is_refused_as_soon_as_the_new_owner_has_read(self):
        """Else it would be overwritten by the new owner, who has read the balance before it."""
        first = self.stopped_owner()
        second = self.start(7002)
        second.stop_before_booking(10)
        self.assertEqual(self.row()[0], 5)
        first.wake()
        self.assertEqual(first.answer(1), "refused, somebody newer owns it")
        second.wake()
        self.assertEqual(second.answer(10), "balance 15")
        self.assertEqual(self.row()[0], sum(first.booked + second.booked))

    def test_a_store_that_is_ahead_heals(self):
        """Restored from another topic's time, say: nobody's epoch is as great as the row's."""
        owner = self.start(7001)
        self.assertEqual(owner.add(5), 5)
        _, (inc, off) = self.row()
        ahead = (inc + 1_000_000, off)
        self.database.query(f"UPDATE balances SET inc = {ahead[0]}")
        owner.send(1)
        self.assertEqual(owner.answer(1),
                         "refused, the store knows a greater epoch; ask again soon")
        self.assertEqual(self.row(), (5, ahead), "it refused")
        self.assertEqual(owner.add(1), 6)
        _, healed = self.row()
        self.assertGreater(healed, ahead)
        # And who comes next knows it from the topic.
        second = self.start(7002)
        children.end(owner.child)
        self.assertEqual(second.add(1), 7)
        self.assertGreater(self.row()[1], healed)

    def test_without_the_epoch_an_update_is_lost(self):
        """The same story, and a store that compares nothing."""
        first = self.stopped_owner("unfenced")
        second = self.start(7002, "unfenced")
        self.assertEqual(second.add(10), 15)
        self.assertEqual(self.row()[0], 15)
        first.wake()
        self.assertEqual(first.answer(1), "balance 6")
        self.assertEqual(self.row()[0], 6, "the 10 that were booked are gone")
        self.assertEqual(sum(first.booked + second.booked), 16)


class InOneTransaction(unittest.TestCase):
    """The ledger is in the store's database: the transaction that writes asks it first."""

    @classmethod
    def setUpClass(cls):
        cls.database = cls.enterClassContext(PostgresCluster())

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.database.query("DROP TABLE IF EXISTS balances")
        self.database.delete_topic("tellers")

    def start(self, port, before="write"):
        """One more process."""
        teller = Teller(self.folder, port, self.database.uri("postgres"), assignment="assigner",
                        before=before)
        self.addCleanup(children.end, teller.child)
        return teller

    def balance(self):
        """As it is stored."""
        (balance,), = self.database.query("SELECT balance FROM balances")
        return int(balance)

    def refuses_the_first(self, before):
        """It is stopped there, and wakes up when another has taken over and written. Returns how
        many transactions the server has ended."""
        first = self.start(7001, before)
        self.assertEqual(first.add(5), 5)
        ended = self.ended_transactions()
        first.stop_before_booking(1)
        second = self.start(7002)
        self.assertEqual(second.add(10), 15)
        first.wake()
        self.assertEqual(first.answer(1), "refused, somebody newer owns it")
        self.assertEqual(self.balance(), 15)
        children.end(first.child)
        self.assertEqual(second.add(1), 16)
        self.assertEqual(self.balance(), sum(first.booked + second.booked))
        return self.ended_transactions() - ended

    def ended_transactions(self):
        """How many the server has ended because their clients stood still."""
        return self.database.primary.log_text().count("due to idle-in-transaction timeout")

    def test_one_that_stopped_before_its_transaction_is_refused_by_the_ledger(self):
        """Its check is in the transaction: begin() came before."""
        self.assertEqual(self.refuses_the_first("BEGIN"), 0)

    def test_one_that_stopped_between_check_and_write_is_refused_by_the_server(self):
        """Which ends its transaction, or its successor could not claim."""
        self.assertEqual(self.refuses_the_first("write"), 1)


if __name__ == "__main__":
    if not EXAMPLE.is_file():
        raise FileNotFoundError(f"{EXAMPLE}: run scripts/setup --tests, configure and build")
    unittest.main(verbosity=2)
