#!/usr/bin/python3
"""Operators' overrides, by the command: on the embedded broker, or on another store."""
import json
import signal
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

from case import LONG_SESSION, STORE, LaneCase, run_raw
from harness import children, process
from harness.owners import free_port

FOLLOWER = Path(__file__).resolve().parents[1] / "exec" / "follower.py"
PARTITIONS = 16
SLOTS = 64


class OperateCase(LaneCase):
    """Members of a lane, and commands for it."""

    def member(self, name, **options):
        """A process of the lane; its address is `self.url` from then on."""
        options = {**self.lane, "name": name, "endpoint": f"{name or 'x'}:7001", "http": "0",
                   "slots": SLOTS, "assignment": "assigner", "partitions": PARTITIONS,
                   **LONG_SESSION, **options}
        child, self.url = self.spawn("run", name, options)
        return child

    def assignment(self):
        with urllib.request.urlopen(self.url + "v1/assignment", timeout=10) as answer:
            return json.load(answer)

    def shares(self):
        """{name: partitions} of those that live, once nothing is on the way."""
        told = self.assignment()
        if told.get("moves", True):
            return {}
        return {one["name"]: one["partitions"] for one in told["members"]
                if one["state"] == "living"}

    def wait_shares(self, **shares):
        children.wait_until(lambda: self.shares() == shares, 30,
                            lambda: f"{shares}: {self.assignment()}")

    def order(self, *words, code=0, **options):
        """A command of the family, without any setting of the lane's slots."""
        done = process.run_tool(*words, **{**self.lane, **options})
        self.assertEqual(done.code, code, done)
        return done

    def spawn_order(self, *words, **options):
        """One that goes on meanwhile."""
        child = children.spawn(
            [process.tool_path(), words[0], *process.option_list({**self.lane, **options}),
             *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=process.environment())
        self.addCleanup(children.end, child)
        return child

    def row(self, *words, **options):
        return self.order(*words, json=True, **options).rows()[0]

    def standing(self):
        return self.order("overrides", json=True).rows()

    def start(self):
        """alpha and beta share all."""
        self.member("alpha")
        self.wait_shares(alpha=16)
        self.member("beta")
        self.wait_shares(alpha=8, beta=8)

    def start_one_that_prepares(self):
        """alpha has all, and half of it is beta's to be once its program has prepared: never."""
        self.member("alpha")
        self.wait_shares(alpha=16)
        port, listens = free_port(), free_port()
        self.member("beta", upstream=f"127.0.0.1:{port}", key="host",
                    listen=f"127.0.0.1:{listens}", prepare_timeout="60s",
                    exec=f"exec {sys.executable} -B {FOLLOWER} {port} /dev/null silent")
        children.wait_until(lambda: self.assignment().get("moves"), 30, self.assignment)

    def wait_cordoned(self, name):
        children.wait_until(lambda: name in self.assignment()["overrides"]["cordoned"], 20,
                            self.assignment)


class Operate(OperateCase):
    """What becomes of overrides, and of those that are refused."""

    def test_cordon_and_uncordon(self):
        """Dry run, moves, the list, withdrawing it; no slot is without a leader meanwhile."""
        self.start()
        self.assertEqual(self.order("overrides").out, "no overrides stand\n")
        dry = self.row("cordon", "beta", dry_run=True)
        self.assertTrue(dry["dry_run"])
        move, = dry["moves"]
        self.assertEqual((move["from"], move["to"], move["why"]), ("beta", "alpha", "cordon"))
        self.assertEqual(self.standing(), [])
        done = self.row("cordon", "beta")
        self.assertTrue(done["taken_in"] and done["carried_out"], done)
        moved, = done["moved"]
        self.assertEqual({key: moved[key] for key in ("from", "to", "partitions")},
                         {key: move[key] for key in ("from", "to", "partitions")},
                         "as the dry run said")
        self.assertEqual(done["unowned_ms"], 0)
        self.assertEqual(self.shares(), {"alpha": 16, "beta": 0})
        told = {one["name"]: one["cordoned"] for one in self.assignment()["members"]}
        self.assertEqual(told, {"alpha": False, "beta": True})
        self.assertEqual(self.standing(), [{"override": "cordon", "name": "beta", "processes": 1}])
        again = self.row("cordon", "beta")
        self.assertEqual((again["carried_out"], again["moved"]), (True, []))
        back = self.order("uncordon", "beta")
        self.assertRegex(back.out, r"(?s)^uncordon beta: carried out in .*8 partitions from alpha "
                                   r"to beta: .*nobody led them for 0\.0 ms")
        self.assertEqual(self.shares(), {"alpha": 8, "beta": 8})
        self.assertEqual(self.standing(), [])

    def test_weight(self):
        """Another weight than its own, which `own` gives back."""
        self.start()
        self.assertTrue(self.row("weight", "beta", "3")["carried_out"])
        self.assertEqual(self.shares(), {"alpha": 4, "beta": 12})
        self.assertEqual(self.standing(),
                         [{"override": "weight", "name": "beta", "processes": 1, "weight": 3}])
        self.assertEqual(self.row("weight", "beta", "own")["override"], "unweight")
        self.assertEqual(self.shares(), {"alpha": 8, "beta": 8})
        for words, expected in ((("weight", "beta", "1001"), "from 0, nothing, to 1000"),
                                (("weight", "beta"), "expected NAME and N"),
                                (("weight", "beta", "-1"), "to 1000")):
            self.assertIn(expected, self.order(*words, code=2).err)

    def test_an_idle_member_counts(self):
        """It owns nothing and renews rarely: only its renewals tell that it is there."""
        self.start()
        self.order("resume-moves")  # so that lists come, and nothing else is waited for
        self.member("gamma", weight=0, session="4s", lease="9s", interval="1300ms")
        self.wait_shares(alpha=8, beta=8, gamma=0)
        self.assertTrue(self.row("weight", "gamma", "2")["carried_out"])
        self.assertEqual(self.shares(), {"alpha": 4, "beta": 4, "gamma": 8})

    def test_pin_and_unpin(self):
        """Whole partitions, by slots; a pin holds against an even share."""
        self.start()
        owned = {one["name"]: one["partitions"] for one in self.assignment()["members"]}
        self.assertEqual(owned, {"alpha": 8, "beta": 8})
        part = self.order("pin", "0-3", "beta", code=2)
        self.assertIn("only some of the slots of partitions 0-3", part.err)
        self.assertIn("partition 0 has the slots 0, 16, 32, 48.", part.err)
        self.assertIn("slot 64 does not exist: the lane has 64 slots, 0 to 63",
                      self.order("pin", "60-64", "beta", code=2).err)
        for words in (("pin", "x", "beta"), ("pin", "beta", "0-3"), ("unpin", "")):
            self.assertIn("as in 0-9,12", self.order(*words, code=2).err)
        done = self.row("pin", "0-9", "beta", whole=True)
        self.assertEqual((done["partitions"], done["carried_out"]), ("0-9", True), done)
        self.assertEqual(self.shares(), {"alpha": 6, "beta": 10})
        listed, = self.standing()
        self.assertEqual(listed["slots"], "0-9,16-25,32-41,48-57")
        self.assertEqual(self.row("unpin", listed["slots"])["carried_out"], True)
        self.assertEqual(self.shares(), {"alpha": 8, "beta": 8})
        self.assertEqual(self.standing(), [])

    def test_pause_and_resume(self):
        """While moves are paused a cordon stands and nothing moves."""
        self.start()
        self.assertTrue(self.row("pause-moves")["carried_out"])
        done = self.row("cordon", "beta")
        self.assertEqual((done["taken_in"], done["moves_paused"], done["moved"]),
                         (True, True, []), done)
        self.assertIn("moves are paused", self.order("cordon", "beta").out)
        self.assertEqual(self.shares(), {"alpha": 8, "beta": 8})
        self.assertTrue(self.assignment()["overrides"]["moves_paused"])
        self.assertEqual([one["override"] for one in self.standing()], ["cordon", "pause-moves"])
        moved, = self.row("resume-moves")["moved"]
        self.assertEqual((moved["from"], moved["to"]), ("beta", "alpha"))
        self.assertEqual(self.shares(), {"alpha": 16, "beta": 0})

    def test_names(self):
        """One that is not there is refused, with those that are; --absent; a default name."""
        self.start()
        done = self.order("cordon", "bet", code=2)
        self.assertIn("no process named bet lives; did you mean beta? There are: alpha, beta.",
                      done.err)
        self.assertEqual(self.standing(), [], "nothing was ordered")
        done = self.row("weight", "gamma", "2", absent=True)
        self.assertEqual((done["carried_out"], done["moved"]), (True, []))
        self.assertEqual(self.standing(),
                         [{"override": "weight", "name": "gamma", "processes": 0, "weight": 2}])
        self.member("gamma")
        self.wait_shares(alpha=4, beta=4, gamma=8)
        self.order("weight", "gamma", "own")
        self.member(None)
        shares = children.wait_until(
            lambda: shares if len(shares := self.shares()) == 4 else None, 30, "one more")
        name, = set(shares) - {"alpha", "beta", "gamma"}
        done = self.order("cordon", name)
        self.assertIn("after its restart the override is for nobody", done.err)

    def test_not_within_its_time(self):
        """Its successor prepares for long: exit code 1, and the override stands."""
        self.start_one_that_prepares()
        done = self.order("cordon", "alpha", timeout="7s", json=True, code=1)
        row, = done.rows()
        self.assertEqual((row["taken_in"], row["stands"], row["carried_out"]),
                         (True, True, False), done)
        self.assertIn("cordon alpha was written, and stands, but is not carried out", done.err)
        self.assertIn("16 partitions are not where they should be", done.err)
        self.assertEqual(self.standing(), [{"override": "cordon", "name": "alpha", "processes": 1}])

    def test_everybody_is_cordoned(self):
        """The last keeps what it leads, and the command says so, also before."""
        self.start()
        stays = "what they lead stays with them"
        self.assertNotIn(stays, self.order("cordon", "alpha").err)
        dry = self.order("cordon", "beta", dry_run=True)
        self.assertIn("would move nothing", dry.out)
        self.assertIn(stays, dry.err)
        self.assertIn(stays, self.order("cordon", "beta").err)
        self.assertEqual(self.shares(), {"alpha": 0, "beta": 16})
        self.assertNotIn(stays, self.order("uncordon", "alpha").err)
        self.assertEqual(self.shares(), {"alpha": 16, "beta": 0})

    def test_nobody_led_them(self):
        """All are cordoned, the owner dies: what nobody leads counts from the next override on."""
        alpha = self.member("alpha")
        self.wait_shares(alpha=16)
        self.member("beta")
        self.wait_shares(alpha=8, beta=8)
        self.order("cordon", "beta")
        self.order("cordon", "alpha")
        alpha.kill()
        children.wait_until(lambda: process.run_tool("route", "k", slots=SLOTS,
                                                     **self.lane).code == 1, 30, "unowned")
        done = self.row("uncordon", "beta")
        moved, = done["moved"]
        self.assertEqual((moved["from"], moved["to"], moved["partitions"]), (None, "beta", "0-15"))
        self.assertTrue(0 < done["unowned_ms"] <= done["took_ms"] + 1, done)

    def test_another_override_says_otherwise(self):
        """Before the first is carried out: it stands no more, and its command ends with 1."""
        self.start_one_that_prepares()
        first = self.spawn_order("cordon", "alpha", json=True, timeout="12s")
        self.wait_cordoned("alpha")
        later = self.order("uncordon", "alpha", json=True, timeout="5s", code=1)
        self.assertTrue(later.rows()[0]["stands"])
        out, err = first.communicate(timeout=60)
        row = json.loads(out)
        self.assertEqual((row["taken_in"], row["stands"], row["carried_out"], first.returncode),
                         (True, False, False, 1), err)
        self.assertIn(b"does not stand: another override was written meanwhile", err)
        self.assertEqual(self.standing(), [])

    def test_interrupted(self):
        """Ctrl-C ends the waiting, not the override, and says so."""
        self.start_one_that_prepares()
        child = self.spawn_order("cordon", "alpha")
        self.wait_cordoned("alpha")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=10)
        self.assertEqual((child.returncode, out), (-signal.SIGINT, b""), err)
        self.assertIn(b"no longer waiting; the override stands if it was stored", err)
        self.assertIn("alpha", self.assignment()["overrides"]["cordoned"])

    def test_nobody_is_there(self):
        """No member at all: who would carry it out?"""
        for words in (("cordon", "alpha"), ("overrides",), ("pause-moves",)):
            done = self.order(*words, code=2, lease="500ms")
            self.assertIn("no member lives, so nobody would carry it out", done.err)
            self.assertRegex(done.err, rf"{self.topic}.*, lane 0")

    def test_all_were_killed(self):
        """What they wrote is still there: it must not be taken for a sign that they live."""
        owners = [self.member("alpha"), self.member("beta")]
        self.wait_shares(alpha=8, beta=8)
        for owner in owners:
            owner.kill()
            owner.wait()
        for words in (("cordon", "alpha"), ("weight", "beta", "2"), ("overrides",)):
            done = self.order(*words, code=2, lease="500ms")
            self.assertIn("no member lives, so nobody would carry it out", done.err)

    def test_owners_lease_counts(self):
        """A list comes in their lease, not in the longer one that is assumed of them."""
        self.member("alpha", session="1s", lease="2500ms")
        self.wait_shares(alpha=16)
        done = self.order("overrides", profile="balanced", timeout="8s")  # which has 9 s
        self.assertEqual(done.out, "no overrides stand\n")

    def test_nobody_assigns(self):
        """The assigner leaves, and the only other member is stopped: it counts as living, and would
        be the next. So nobody assigns for a while, and the command says so instead of waiting."""
        alpha = self.member("alpha", drain_timeout="60s")
        self.wait_shares(alpha=16)
        beta = self.member("beta", session="20s", lease="45s")
        self.wait_shares(alpha=8, beta=8)
        children.stop(beta.pid)
        self.addCleanup(beta.send_signal, signal.SIGCONT)
        alpha.send_signal(signal.SIGTERM)  # it drains, as its successor does not lead
        for words in (("cordon", "beta"), ("overrides",)):
            done = self.order(*words, code=2, timeout="4s")
            self.assertIn("members live, but none assigns now. One takes over within about a "
                          "session; try again", done.err)
        self.assertIsNone(alpha.poll())

    def test_other_partitions(self):
        """The command was told another number than the members have: it says which they have."""
        self.start()
        logs = () if STORE else (({"logs": 2}, "16 in 2"),)  # which say how many they are
        for options, read in (({"partitions": 8}, "8 in 4"), *logs):
            done = self.order("cordon", "beta", code=2, timeout="5s", **options)
            self.assertIn(f"the members run with 16 partitions in 4 logs, but {read} were read; "
                          "say --partitions 16 --logs 4", done.err)
        self.assertEqual(self.standing(), [], "nothing was ordered")


class OnKafka(OperateCase):
    """What only Kafka has: a group, and a broker that may not be there."""

    def test_a_group_assigns(self):
        """A group knows no overrides."""
        self.member("alpha", assignment="group", partitions=None, session=None, lease=None)
        def ready():
            with urllib.request.urlopen(self.url + "v1/slots", timeout=10) as answer:
                return json.load(answer)["ready"]
        children.wait_until(ready, 30, "it owns all")
        for words in (("cordon", "alpha"), ("pin", "0", "alpha"), ("overrides",)):
            done = self.order(*words, code=2)
            self.assertIn("Kafka's group assigns there", done.err)
            self.assertIn("without `--assignment group`", done.err)

    def test_words(self):
        """Too many and too few, without asking any broker; and one that cannot be reached."""
        for words, expected in ((("cordon",), "expected one NAME, but got nothing"),
                                (("cordon", "a", "b"), "expected one NAME, but got \"a b\""),
                                (("cordon", ""), "a name of 0 bytes: expected 1 to 255"),
                                (("weight", "", "2"), "a name of 0 bytes"),
                                (("weight", "a", ""), "weight \"\": expected a whole number"),
                                (("pin", "3", "x" * 256), "a name of 256 bytes"),
                                (("pin", "3"), "expected SLOTS and NAME"),
                                (("unpin",), "expected SLOTS"),
                                (("pause-moves", "now"), "it takes options only")):
            done = run_raw(*words, "--brokers", "127.0.0.1:1")
            self.assertEqual(done.code, 2, done)
            self.assertIn(expected, done.err)
        done = run_raw("cordon", "a", "--brokers", "127.0.0.1:1", "--timeout", "1s")
        self.assertEqual(done.code, 3, done)


def load_tests(loader, _tests, _pattern):
    """Those that this run's store can have."""
    cases = [Operate] if STORE else [Operate, OnKafka]
    return unittest.TestSuite(loader.loadTestsFromTestCase(one) for one in cases)


if __name__ == "__main__":
    unittest.main(verbosity=2)
