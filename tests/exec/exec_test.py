#!/usr/bin/python3
"""`run --exec`: what the program is told, what is waited for, and programs that do not behave."""
import os
import unittest

from owners_case import PARTITIONS, OwnersCase, by_partition, call, free_port
from harness import children, process

UPON_A_START = ["prepare", "warm_up", "acquired"]


def exists(pid):
    """Whether there is such a process; a zombie is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Exec(OwnersCase):
    """Owners with tests/exec/follower.py behind them."""

    def pid_of(self, owner):
        """The program's."""
        return call(owner.port, "GET", "/pid")[2]

    def wait_logged(self, owner, count):
        """Until the program has been told so much: all of it."""
        def enough():
            owner.log.read()
            return len(owner.log.rows) >= count and owner.log.rows
        return children.wait_until(enough, 20, lambda: f"{count}\n{owner.log.rows}")

    def test_events_and_answers_in_order(self):
        """Each step waits for the program's answer, at both ends of a move."""
        alpha = self.follower("alpha", "answers")
        self.wait_led(alpha)
        told = self.wait_logged(alpha, 3 * PARTITIONS)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in range(PARTITIONS)})
        self.assertEqual([event["seq"] for event in told], list(range(1, len(told) + 1)))
        self.assertTrue(all("predecessor" not in event for event in told
                            if event["event"] == "prepare"), "nobody led them before")
        beta = self.follower("beta", "answers")
        self.wait_led(alpha, beta)
        moved = by_partition(self.wait_logged(beta, 3 * PARTITIONS // 2))
        self.assertEqual(set(moved), set(beta.leading))
        for partition, events in moved.items():
            self.assertEqual(events, UPON_A_START)
            tale = {row["event"]: row for row in beta.log.rows if row["partition"] == partition}
            self.assertEqual(tale["prepare"]["predecessor"]["name"], "alpha")
            acquired = self.wait_row(beta, event="acquired", partition=partition)
            self.assertGreaterEqual(acquired["boot"], tale["warm_up"]["boot"],
                                    "it leads once the program is warm")
            self.wait_row(alpha, event="released", partition=partition)
            left = [row for row in alpha.log.rows + alpha.log.read()
                    if row["partition"] == partition and row["seq"] > 3 * PARTITIONS]
            self.assertEqual([row["event"] for row in left][-2:], ["stopped", "released"])
            self.assertEqual(left[-2]["successor"]["name"], "beta")

    def test_a_program_that_is_not_waited_for(self):
        """One that writes nothing on descriptor 3 still learns of everything."""
        alpha = self.follower("alpha", "mute")
        self.wait_led(alpha)
        told = self.wait_logged(alpha, 3 * PARTITIONS)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in range(PARTITIONS)})

    def test_a_program_that_exits(self):
        """Its owner hands over, and ends with its status."""
        alpha = self.follower("alpha", "answers")
        self.wait_led(alpha)
        beta = self.follower("beta", "answers")
        self.wait_led(alpha, beta)
        call(alpha.port, "GET", "/exit/7")
        self.assertEqual(alpha.wait_exit(), 7, alpha.error_tail())
        self.assertIn("the program ended with status 7", alpha.error_tail())
        self.wait_led(beta)
        alpha.refresh()
        self.assertEqual(alpha.leading, {}, "it handed over, and was not fenced")

    def test_a_program_that_exits_while_its_owner_leaves(self):
        """It does not count as a second signal, at which nothing is handed over."""
        alpha = self.follower("alpha", "quits", lease="10s", drain_timeout="20s")
        self.wait_led(alpha)
        beta = self.follower("beta", "answers", lease="10s")
        self.wait_led(alpha, beta)
        self.path("alpha", "log.quit").touch()
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 5, alpha.error_tail())
        self.assertIn("left the group", alpha.error_tail())
        self.wait_led(beta)

    def test_a_program_that_never_answers(self):
        """Its owner leads all the same, and hands over, each within its bound."""
        alpha = self.follower("alpha", "silent")
        self.wait_led(alpha)
        beta = self.follower("beta", "answers")
        children.wait_until(lambda: beta.refresh() or beta.leading, 40, beta.error_tail)
        if alpha.running():
            alpha.leave()
        alpha.wait_exit(60)
        self.wait_led(beta)

    def test_a_program_that_reads_nothing(self):
        """It counts as hung: its owner leaves."""
        alpha = self.follower("alpha", "deaf", assignment="assigner", partitions=8192, slots=8192,
                              logs=4)
        self.assertEqual(alpha.wait_exit(60), 0, alpha.error_tail())
        self.assertIn("does not read its stdin: it counts as hung", alpha.errors.read_text())

    def test_a_program_that_does_not_end(self):
        """SIGTERM, and SIGKILL after --stop-timeout."""
        alpha = self.follower("alpha", "stubborn", stop_timeout="200ms")
        self.wait_led(alpha)
        pid = self.pid_of(alpha)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        children.wait_until(lambda: not exists(pid), 10, "it was killed")

    def test_a_program_dies_with_its_owner(self):
        """Whatever ends that one."""
        alpha = self.follower("alpha", "stubborn")
        self.wait_led(alpha)
        pid = self.pid_of(alpha)
        self.assertTrue(exists(pid))
        os.kill(alpha.pid, 9)
        children.wait_until(lambda: not exists(pid), 10, "it was killed")

    def test_a_program_that_never_serves(self):
        """Nothing is owned, and it is said why."""
        for program, expected in (("exit 3", "ended with status 3 before it accepted"),
                                  ("exec sleep 60", "accepts no connection")):
            done = process.run_tool("run", endpoint=f"127.0.0.1:{free_port()}", key="host",
                                    upstream=f"127.0.0.1:{free_port()}", exec=program,
                                    timeout="2s", **self.lane)
            self.assertNotEqual(done.code, 0, done)
            self.assertIn(expected, done.err)


if __name__ == "__main__":
    unittest.main()
