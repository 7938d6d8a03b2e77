#!/usr/bin/python3
"""`run --exec`: what the program is told, what is waited for, and programs that do not behave."""
import contextlib
import os
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

from owners_case import PARTITIONS, OwnersCase, admin_port, by_partition, call, free_port
from harness import children, process

UPON_A_START = ["prepare", "warm_up", "acquired"]
MANY = {"assignment": "assigner", "partitions": 8192, "slots": 8192, "logs": 4}


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

    def wait_program(self, owner):
        """Until the program serves: its process id."""
        def pid():
            try:
                return self.pid_of(owner)
            except OSError:
                return None
        return children.wait_until(pid, 20, owner.error_tail)

    def wait_said(self, owner, text):
        """Until the owner has logged it: when that was seen."""
        children.wait_until(lambda: text in owner.errors.read_text(), 30,
                            lambda: f"{text}\n{owner.error_tail()}")
        return children.boot_now()

    def wait_file(self, owner, kind):
        """Until the program has made it."""
        children.wait_until(self.path(owner.name, f"log.{kind}").exists, 20, owner.error_tail)

    @contextlib.contextmanager
    def asked(self, owner, front):
        """A request that is under way at the program: its answer, in the future."""
        self.wait_led(owner)
        self.wait_said(owner, "serves http://")
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(call, front, "GET", "/wait", None, {"X-Key": "k"})
            self.wait_file(owner, "asked")
            yield answer

    def wait_later(self, since):
        """Until a signal is not the same any more as one of then."""
        children.wait_until(lambda: children.boot_now() > since + 1.1, 5, "a second")

    def wait_saved(self, owner):
        """A program that was told to end gets the time that it needs, and the owner ends, too."""
        self.wait_file(owner, "told")
        self.assertTrue(owner.running())
        self.path(owner.name, "log.go").touch()
        self.assertEqual(owner.wait_exit(), 0, owner.error_tail())
        self.assertTrue(self.path(owner.name, "log.saved").exists())

    def wait_told_last(self, owner, partition, event):
        """Until that is the last that the program was told of the partition: all of it."""
        def told():
            owner.log.read()
            rows = [row for row in owner.log.rows if row["partition"] == partition]
            return rows and rows[-1]["event"] == event and rows
        return children.wait_until(told, 20, owner.error_tail)

    def wait_logged(self, owner, count, timeout=20):
        """Until the program has been told so much: all of it."""
        def enough():
            owner.log.read()
            return len(owner.log.rows) >= count and owner.log.rows
        return children.wait_until(enough, timeout,
                                   lambda: f"{count}, not {len(owner.log.rows)}")

    def test_events_and_answers_in_order(self):
        """Each step waits for the program's answer, at both ends of a move."""
        alpha = self.follower("alpha", "answers")
        self.wait_led(alpha)
        told = self.wait_logged(alpha, 3 * PARTITIONS)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in range(PARTITIONS)})
        first = told[0]["seq"]
        self.assertEqual([event["seq"] for event in told],
                         list(range(first, first + len(told))))
        self.assertEqual({event["process"] for event in told},
                         {row["id"] for row in alpha.events.rows}, "each says whose it is")
        self.assertTrue(all("predecessor" not in event for event in told
                            if event["event"] == "prepare"), "nobody led them before")
        beta = self.follower("beta", "answers")
        self.wait_led(alpha, beta)
        moved = by_partition(self.wait_logged(beta, 3 * PARTITIONS // 2))
        self.assertEqual(set(moved), set(beta.leading))
        predecessors = set()
        for partition, events in moved.items():
            self.assertEqual(events, UPON_A_START)
            tale = {row["event"]: row for row in beta.log.rows if row["partition"] == partition}
            # When it prepares it may not have read this log's owner yet; when it leads it has.
            for step in ("prepare", "warm_up"):
                if "predecessor" in tale[step]:
                    predecessors.add(tale[step]["predecessor"]["name"])
            acquired = self.wait_row(beta, event="acquired", partition=partition)
            self.assertGreaterEqual(acquired["boot"], tale["warm_up"]["boot"],
                                    "it leads once the program is warm")
            self.wait_row(alpha, event="released", partition=partition)
            left = self.wait_told_last(alpha, partition, "released")
            self.assertEqual([row["event"] for row in left][-2:], ["stopped", "released"])
            self.assertEqual(left[-2]["successor"]["name"], "beta")
        self.assertEqual(predecessors, {"alpha"})

    def test_a_program_that_is_not_waited_for(self):
        """One that awaits nothing still learns of everything."""
        alpha = self.follower("alpha", "mute")
        self.wait_led(alpha)
        told = self.wait_logged(alpha, 3 * PARTITIONS)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in range(PARTITIONS)})

    def test_only_its_program_may_make_control_calls(self):
        """At loopback, with the token that it was told."""
        alpha = self.follower("alpha", "answers")
        self.wait_led(alpha)
        self.assertIn("admin port: http://127.0.0.1:", alpha.errors.read_text())
        for headers in ({}, {"Authorization": "Bearer "}):
            status = call(admin_port(alpha.errors), "POST", "/v1/drain", {}, headers)[0]
            self.assertEqual(status, 401)
        self.assertTrue(alpha.running())

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
        alpha = self.follower("alpha", "silent", lease="6s", drain_timeout="2s", stop_timeout="1s")
        self.wait_led(alpha)
        beta = self.follower("beta", "answers", lease="6s")
        children.wait_until(lambda: beta.refresh() or beta.leading, 40, beta.error_tail)
        self.assert_leaves(alpha, drain_s=2, answer_s=6, stop_s=1)  # a barrier lasts for T at most
        self.wait_led(beta)

    def test_a_program_that_reads_nothing(self):
        """Its owner goes on after --prepare-timeout."""
        alpha = self.follower("alpha", "deaf", prepare_timeout="300ms")
        self.wait_led(alpha)
        self.assertTrue(alpha.running(), alpha.error_tail())

    def test_a_program_that_asks_for_nothing(self):
        """As most servers do."""
        alpha = self.follower("alpha", "server")
        self.wait_led(alpha)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(60), 0, alpha.error_tail())

    def test_a_program_that_reads_much_at_once(self):
        """Thousands of partitions at a time; it does not count as hung."""
        alpha = self.follower("alpha", "mute", **MANY)
        self.wait_logged(alpha, 3 * MANY["partitions"], timeout=120)
        alpha.refresh()
        self.assertTrue(alpha.running(), alpha.error_tail())

    def test_a_program_that_does_not_end(self):
        """SIGTERM, and SIGKILL after --stop-timeout."""
        alpha = self.follower("alpha", "stubborn", forked=True, stop_timeout="200ms")
        self.wait_led(alpha)
        pid = self.pid_of(alpha)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.assertFalse(exists(pid), "it was killed")
        self.assertIn("did not end within 200 ms, and was killed", alpha.error_tail())

    def test_a_program_that_fails_to_end(self):
        """Its status is the owner's."""
        alpha = self.start("alpha", exec="trap 'exit 5' TERM; while :; do sleep 0.05; done")
        self.wait_led(alpha)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 5, alpha.error_tail())

    def test_a_request_under_way_is_answered_first(self):
        """The program is told to end only after that."""
        front = free_port()
        alpha = self.follower("alpha", "server", endpoint=f"127.0.0.1:{front}", lease="5s",
                              drain_timeout="6s")
        with self.asked(alpha, front) as answer:
            alpha.leave()
            self.wait_later(self.wait_said(alpha, "left the group"))
            self.path("alpha", "log.answer").touch()
            self.assertEqual(answer.result()[0], 200)
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())

    def test_a_request_that_hangs(self):
        """It uses up --stop-timeout, and the program is told to end all the same."""
        front = free_port()
        alpha = self.follower("alpha", "saves", endpoint=f"127.0.0.1:{front}", lease="5s",
                              drain_timeout="6s", stop_timeout="1s")
        with self.asked(alpha, front):
            alpha.leave()
            self.wait_file(alpha, "told")

    def test_a_program_that_saves(self):
        """It may, also behind a shell that ends at once."""
        alpha = self.follower("alpha", "saves", forked=True)
        self.wait_led(alpha)
        alpha.leave()
        self.wait_saved(alpha)

    def test_a_program_dies_with_its_owner(self):
        """Whatever ends that one."""
        alpha = self.follower("alpha", "stubborn")
        self.wait_led(alpha)
        pid = self.pid_of(alpha)
        self.assertTrue(exists(pid))
        os.kill(alpha.pid, signal.SIGKILL)
        children.wait_until(lambda: not exists(pid), 10, "it ended")

    def test_a_second_signal_while_it_hands_over(self):
        """The owner stops at once, and so does its program."""
        slow = {"lease": "10s", "drain_timeout": "20s"}
        alpha = self.follower("alpha", "answers", forked=True, **slow)
        self.wait_led(alpha)
        beta = self.follower("beta", "answers", **slow)
        self.wait_led(alpha, beta)
        pid = self.pid_of(alpha)
        self.path("alpha", "log.hold").touch()
        alpha.leave()
        self.wait_said(alpha, "leaving, within")  # a busy machine may hand a signal over late
        self.wait_later(children.boot_now())
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 130, alpha.error_tail())
        self.assertFalse(exists(pid))

    def test_a_second_signal_while_its_program_ends(self):
        """The same, after it has handed over."""
        alpha = self.follower("alpha", "stubborn", forked=True, stop_timeout="60s")
        self.wait_led(alpha)
        pid = self.pid_of(alpha)
        alpha.leave()
        self.wait_said(alpha, "left the group")
        self.wait_later(children.boot_now())
        self.assertTrue(exists(pid))
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 130, alpha.error_tail())
        self.assertFalse(exists(pid))

    def test_a_signal_before_the_program_serves(self):
        """The program ends in its own time; nothing was owned."""
        alpha = self.follower("alpha", "saves", forked=True, upstream=f"127.0.0.1:{free_port()}")
        pid = self.wait_program(alpha)
        alpha.leave()
        self.wait_saved(alpha)
        self.assertFalse(exists(pid))

    def test_the_first_signal_after_the_program_has_ended(self):
        """It is the first: what is handed over is handed over."""
        slow = {"lease": "10s", "drain_timeout": "20s"}
        alpha = self.follower("alpha", "answers", http="0", control=True, **slow)
        self.wait_led(alpha)
        http = admin_port(alpha.errors)
        beta = self.follower("beta", "answers", **slow)
        self.wait_led(alpha, beta)
        answers = [call(http, "POST", "/v1/admit", {"slot": slot})[2]
                   for slot in range(PARTITIONS)]
        works = [answer["work"] for answer in answers if answer["answer"] == "serve"]
        self.assertEqual(len(works), len(alpha.leading))
        call(alpha.port, "GET", "/exit/7")
        ended = self.wait_said(alpha, "the program ended with status 7")
        self.wait_row(alpha, event="stopped")
        self.wait_later(ended)
        alpha.leave()
        self.wait_said(alpha, "a second signal, 1 s later or more, stops at once")
        for work in works:
            self.assertEqual(call(http, "POST", "/v1/done", {"work": work})[0], 200)
        self.assertEqual(alpha.wait_exit(), 7, alpha.error_tail())
        self.assertIn("left the group", alpha.error_tail())
        self.wait_led(beta)
        alpha.refresh()
        self.assertEqual(alpha.leading, {}, "it handed over, and was not fenced")

    def test_a_program_that_never_serves(self):
        """Nothing is owned, and it is said why; with its status, if that is no success."""
        for program, code, expected in (("exit 7", 7, "ended with status 7 before it accepted"),
                                        ("exit 0", 3, "ended with status 0 before it accepted"),
                                        ("exec sleep 60", 3, "accepts no connection")):
            done = process.run_tool("run", endpoint=f"127.0.0.1:{free_port()}", key="host",
                                    upstream=f"127.0.0.1:{free_port()}", exec=program,
                                    timeout="2s", **self.lane)
            self.assertEqual(done.code, code, done)
            self.assertIn(expected, done.err)


if __name__ == "__main__":
    unittest.main()
