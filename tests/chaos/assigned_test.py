#!/usr/bin/python3
"""The judge's rules where a member assigns: forged runs of two slots, in logs 0 and 1."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from forgery import Forgery  # noqa: E402
import kinds  # noqa: E402
import rules  # noqa: E402

SESSION, LEASE, INTERVAL = 1.0, 3.0, 0.1
ROUNDS = 4 * 0.4 + 0.0375  # a proof, a seat claim, an assignment, a claim; and waiting for two
TAKEOVER = SESSION + ROUNDS
HANDOVER = 0.8
TOO_LONG = ["too long gap by log", "too long gap by witness"]
UNEXPLAINED = ["unexplained gap by log", "unexplained gap by witness"]
A_LITTLE = 0.02


class Forged(unittest.TestCase):
    """Slot 0 goes from owner a to owner b; the owner `other` leads slot 1 all the time."""

    def forge(self, owners=(), **how):
        """A run with a, b and these."""
        run = Forgery(self.enterContext(tempfile.TemporaryDirectory()), assignment="assigner",
                      **how)
        for key in ("a", "b", *owners):
            run.owner(key)
        return run

    def kinds(self, run):
        """The kinds of what was found."""
        return sorted({finding.split(":")[0] for finding in run.judged()["findings"]})

    def died(self, gap, kind="kill", dead=("a",), owners=(), **how):
        """These die at 10, and b leads a's slot a gap later."""
        run = self.forge(owners=owners, **how)
        for key in dead:
            run.lives[key]["ended"] = 10.0
        run.led("a", 0, 0.0, None, 1)
        run.led("b", 0, 10.0 + gap, None, 2)
        run.fault(kind, 10.0, 20.0, dead, rest=30.0)
        return run

    def assert_limit(self, limit, make):
        """`make` of a gap is clean up to this limit, and not above."""
        self.assertEqual(self.kinds(make(limit - A_LITTLE)), [])
        self.assertEqual(self.kinds(make(limit + A_LITTLE)), TOO_LONG)


class Gaps(Forged):
    """How long a slot may be led by nobody."""

    def test_a_death_takes_a_session_and_the_rounds(self):
        self.assert_limit(TAKEOVER, self.died)

    def test_owners_that_prepare_may_take_both_steps_more(self):
        self.assert_limit(TAKEOVER + 1.0, lambda gap: self.died(gap, prepare_timeout_ms=500))
        for gap, found in ((HANDOVER + 0.5 - A_LITTLE, []),
                           (HANDOVER + 0.5 + A_LITTLE, UNEXPLAINED)):
            run = self.forge(mode="exclusive", prepare_timeout_ms=500)
            run.led("a", 0, 0.0, 10.0, 1)
            run.led("b", 0, 10.0 + gap, None, 2)
            run.fault("leave", 9.9, 20.0, ["a"], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_the_assigners_death_takes_no_longer(self):
        self.assert_limit(TAKEOVER, lambda gap: self.died(gap, "assigner_kill"))

    def test_the_assigner_and_an_owner_take_an_interval_more(self):
        """Who claims the seat may wait for the other dead one's rank."""
        self.assert_limit(TAKEOVER + INTERVAL, lambda gap: self.died(
            gap, "assigner_and_owner", ("a", "c"), "cdef"))

    def test_exclusive_waits_for_the_later_of_session_and_lease(self):
        self.assert_limit(1.001 * LEASE + ROUNDS, lambda gap: self.died(gap, mode="exclusive"))
        self.assert_limit(TAKEOVER, lambda gap: self.died(gap, mode="exclusive", lease_ms=750))

    def test_more_than_a_third_take_another_session(self):
        """a, c and d are three of seven: one of them may be the assigner that is not counted."""
        self.assert_limit(
            TAKEOVER + 2 * INTERVAL + 1.001 * SESSION,
            lambda gap: self.died(gap, "many_killed", ("a", "c", "d"), "cdef"))
        self.assert_limit(
            TAKEOVER + 2 * INTERVAL,
            lambda gap: self.died(gap, "many_killed", ("a", "c", "d"), "cdefghi"))

    def test_who_is_silent_for_a_moment_is_none_of_many(self):
        for silent, found in ((0.4, TOO_LONG), (0.6, [])):
            run = self.died(TAKEOVER + 0.5, owners="cdef")
            run.fault("pause", 10.0, 10.0 + silent, "c", rest=30.0)
            run.fault("pause", 10.0, 10.0 + silent, "d", rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_the_assigners_trouble_leaves_nobody_elses_slot_unowned(self):
        for kind in ("assigner_kill", "assigner_pause", "assigner_cut_in", "assigner_cut_out",
                     "assigner_leave"):
            run = self.forge(owners="c")
            run.led("a", 0, 0.0, 10.5, 1)
            run.led("a", 0, 10.6, None, 2)
            run.fault(kind, 10.0, 20.0, ["c"], rest=30.0)
            self.assertEqual(self.kinds(run), UNEXPLAINED, kind)

    def test_who_reads_nothing_is_heard_for_a_moment(self):
        def cut(gap):
            run = self.forge()
            run.led("a", 0, 0.0, 10.0, 1)
            run.led("b", 0, 10.0 + gap, None, 2)
            run.fault("assigner_cut_in", 10.0, 20.0, ["a"], rest=30.0, noticed_after=0.3)
            return run
        self.assert_limit(TAKEOVER + 0.3, cut)

    def test_who_is_cut_off_for_less_than_a_session_need_not_die(self):
        """Its links are used again after as long again, each at an instant of its own."""
        def cut(seconds, gap):
            run = self.forge()
            run.led("a", 0, 0.0, 10.0, 1)
            run.led("b", 0, 10.0 + gap, None, 2)
            run.fault("cut_both", 10.0, 10.0 + seconds, ["a"], rest=30.0)
            return run
        self.assert_limit(0.9 + 0.9 + 0.2 - SESSION + TAKEOVER, lambda gap: cut(0.9, gap))
        self.assert_limit(TAKEOVER, lambda gap: cut(1.1, gap))

    def test_a_death_while_log_0_is_away_waits_for_as_long_again(self):
        """Once it is read again; a lease at most."""
        def died(gap, log, began=9.9):
            run = self.died(gap)
            run.fault("broker_stop", began, 10.2, logs=[log], rest=30.0)
            return run
        back = 10.2 + rules.LEADER_SEARCH
        self.assert_limit(back + (back - 9.9) - 10.0 + TAKEOVER, lambda gap: died(gap, 0))
        self.assert_limit(back + LEASE - 10.0 + TAKEOVER, lambda gap: died(gap, 0, began=5.0))
        self.assert_limit(back - 10.0 + TAKEOVER, lambda gap: died(gap, 1))

    def test_where_owners_serve_on_a_silent_log_excuses_no_gap(self):
        for kind in ("broker_crash", "brokers_cut", "leader_change", "topic_deleted", "log0_moved"):
            for serves_on, found in ((False, []), (True, UNEXPLAINED)):
                run = self.forge(serves_on=serves_on)
                run.led("a", 0, 0.0, 10.5, 1)
                run.led("a", 0, 10.6, None, 2)
                run.fault(kind, 10.0, 20.0, logs=[0], rest=30.0)
                self.assertEqual(self.kinds(run), found, kind)

    def test_where_owners_serve_on_who_is_cut_off_leaves_no_gap(self):
        for kind in ("cut_both", "cut_in", "cut_log", "cut_log0", "assigner_cut_out"):
            run = self.forge(serves_on=True)
            run.led("a", 0, 0.0, 10.5, 1)
            run.led("b", 0, 10.6, None, 2)
            run.fault(kind, 10.0, 20.0, ["a"], [0], rest=30.0)
            self.assertEqual(self.kinds(run), UNEXPLAINED, kind)

    def test_where_owners_serve_on_a_death_waits_for_a_silent_log(self):
        def died(gap):
            run = self.died(gap, serves_on=True)
            run.fault("broker_crash", 9.9, 15.0, logs=[1], rest=30.0)
            return run
        self.assert_limit(15.0 + rules.LEADER_SEARCH - 10.0 + TAKEOVER, died)
        self.assert_limit(TAKEOVER, lambda gap: self.died(gap, "assigner_pause", serves_on=True))

    def test_where_owners_serve_on_who_leaves_a_silent_log_may_find_no_successor(self):
        for log_fault, found in ((True, []), (False, UNEXPLAINED)):
            run = self.forge(serves_on=True)
            run.led("a", 0, 0.0, 12.0, 1)
            run.led("b", 0, 15.5, None, 2)
            run.fault("leave", 10.0, 13.0, ["a"], rest=30.0)
            if log_fault:
                run.fault("broker_crash", 9.0, 14.0, logs=[0, 1], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_a_planned_move_may_take_a_moment_in_exclusive_mode(self):
        for gap, found in ((HANDOVER - A_LITTLE, []), (HANDOVER + A_LITTLE, UNEXPLAINED)):
            run = self.forge(mode="exclusive")
            run.led("a", 0, 0.0, 10.0, 1)
            run.led("b", 0, 10.0 + gap, None, 2)
            run.fault("leave", 9.9, 20.0, ["a"], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_a_designee_may_die_before_it_leads(self):
        """Its claim ended the last ownership; nobody's interval names it."""
        for named, found in (("b", UNEXPLAINED), ("c", [])):
            run = self.forge(owners="c", mode="exclusive", lease_ms=750)
            run.lives["c"]["ended"] = 10.02
            run.led("a", 0, 0.0, 10.0, 1)
            run.led("b", 0, 11.0, None, 2)
            run.named(named, "other", 9.9)
            run.fault("kill", 10.02, 20.0, ["c"], rest=30.0)
            self.assertEqual([kind for kind in self.kinds(run) if "gap" in kind], found)

    def test_a_planned_move_may_follow_a_takeover_at_once(self):
        for gap, found in ((HANDOVER - A_LITTLE, []), (HANDOVER + A_LITTLE, TOO_LONG)):
            run = self.forge(mode="exclusive", lease_ms=750, session_ms=300)
            run.owner("a", pauses=[[9.0, 9.1]])
            run.led("a", 0, 0.0, 12.9, 1)
            run.led("b", 0, 12.9 + gap, None, 2)
            run.fault("pause", 9.0, 12.5, ["a"], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_an_assigner_that_was_paused_gives_everybody_a_new_session(self):
        """Longer by its pause, if it is the assigner after it."""
        def died(gap, by="other", paused=0.9):
            run = self.died(gap, owners="cdef")
            run.named("a", by, 5.0)
            run.fault("assigner_pause", 9.9, 9.9 + paused, ["other"], rest=30.0)
            return run
        limit = TAKEOVER + INTERVAL  # a second owner was struck
        self.assert_limit(0.8 + 0.9 + limit, died)
        self.assert_limit(limit, lambda gap: died(gap, by="b"))
        self.assert_limit(limit, lambda gap: died(gap, paused=1.1))

    def test_a_leave_leaves_no_gap_in_the_other_mode(self):
        run = self.forge()
        run.led("a", 0, 0.0, 10.0, 1, reason="closed")
        run.led("b", 0, 10.01, None, 2)
        run.fault("assigner_leave", 9.9, 20.0, ["a"], rest=30.0)
        self.assertEqual(self.kinds(run), UNEXPLAINED)

    def cut_from(self, kind, end, gap, logs, **detail):
        """a is cut from a log at 10, its lease ends 3 s later, and b leads a gap later."""
        run = self.forge()
        run.led("a", 0, 0.0, 13.0, 1, reason="lapsed")
        run.led("b", 0, 13.0 + gap, None, 2)
        run.fault(kind, 10.0, end, ["a"], logs, rest=90.0, **detail)
        return run

    def test_who_is_cut_from_log_0_is_taken_for_dead(self):
        """Others lead what it had before its lease is over."""
        self.assertEqual(self.kinds(self.cut_from("cut_log0", 30.0, 0.1, [])), TOO_LONG)
        self.assertEqual(self.kinds(self.cut_from("cut_log0", 30.0, 0.0, [])), [])

    def test_who_is_cut_from_another_log_is_given_up_there(self):
        """Two leases and a session after its own lease; sooner if it is back before."""
        limit = 2 * LEASE + SESSION + TAKEOVER
        self.assert_limit(limit, lambda gap: self.cut_from("cut_other_log", 60.0, gap, [0]))
        self.assert_limit(14.0 + 4.0 + 0.2 + TAKEOVER - 13.0,
                          lambda gap: self.cut_from("cut_other_log", 14.0, gap, [0]))
        self.assertEqual(self.kinds(self.cut_from("cut_other_log", 60.0, 0.5, [1])), UNEXPLAINED)

    def test_an_assigner_that_is_cut_yields_first(self):
        """Its patience, a lease, three ranks, and the next one's patience."""
        limit = 2 * (2 * LEASE + SESSION) + LEASE + 3 * INTERVAL + TAKEOVER
        self.assert_limit(limit, lambda gap: self.cut_from("cut_other_log", 60.0, gap, [0],
                                                           assigns=True))


class Kinds(unittest.TestCase):
    """Which kinds can be asked for."""

    def test_what_there_is_not_is_refused_with_what_there_is(self):
        self.assertEqual(kinds.refusal(["kill", "assigner_kill"], "assigner", 2), "")
        self.assertEqual(kinds.refusal(["kill", "group_deleted"], "group", 2), "")
        for wanted, source, brokers, said in (
                ("group_deleted", "assigner", 3, "group_deleted is of --assignment group only"),
                ("cut_log0", "group", 3, "cut_log0 is of --assignment assigner only"),
                ("broker_alone", "assigner", 2, "broker_alone needs --brokers 3"),
                ("flood", "group", 2, "flood: there is no such kind")):
            text = kinds.refusal([wanted], source, brokers)
            self.assertIn(said, text)
            self.assertIn(", ".join(kinds.kinds_of(source, brokers)), text)


class Counting(Forged):
    """What the report tells beside the findings."""

    def test_what_assigners_said_is_counted(self):
        run = self.forge()
        run.says("a", "2 members fell silent within a session: waiting another session")
        run.says("a", "process 1d62 was named for partition 1 and does not lead it: others are")
        run.says("b", "process 1d61 was named for partition 0 and does not lead it: others are")
        self.assertEqual(run.judged()["said"],
                         {"waits for many deaths": 1, "designees given up": 2})


class Moving(Forged):
    """What may move, and when."""

    def moved(self, at=10.0, owners=(), **how):
        """a leads slot 0 until then, and b from then on."""
        run = self.forge(owners=owners, **how)
        run.led("a", 0, 0.0, at + 0.01, 1)
        run.led("b", 0, at, None, 2)
        return run

    def test_nothing_moves_by_itself(self):
        self.assertEqual(self.kinds(self.moved()), ["move at rest"])

    def test_nothing_moves_after_rest(self):
        for rest, found in ((10.5, []), (9.5, ["move at rest"])):
            run = self.moved()
            run.fault("pause", 5.0, 9.0, ["a"], rest=rest)
            self.assertEqual(self.kinds(run), found)

    def test_what_befalls_one_owner_moves_no_other_ones_slots(self):
        for kind in ("kill", "assigner_kill", "assigner_pause", "assigner_cut_in", "leave",
                     "cut_log0", "cut_other_log", "clock_step"):
            run = self.moved(owners="c")
            run.fault(kind, 9.0, 20.0, ["c"], rest=30.0)
            self.assertEqual(self.kinds(run), ["needless move"], kind)

    def test_who_was_named_meanwhile_and_died_moves_it_on(self):
        for named, found in (("b", ["needless move"]), ("c", [])):
            run = self.moved(owners="c")
            run.named(named, "other", 9.0)
            run.fault("kill", 9.1, 20.0, ["c"], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_who_sits_down_gets_a_share(self):
        for started, found in ((9.5, []), (8.5, ["needless move"])):
            run = self.moved(owners="c")
            run.lives["b"]["started"] = started
            run.fault("kill", 9.0, 9.4, ["c"], rest=30.0)
            self.assertEqual(self.kinds(run), found)

    def test_a_log_that_is_away_moves_its_own_slots(self):
        for logs, slot, found in (([0], 0, []), ([1], 0, ["needless move"]), ([1], 1, []),
                                  ([0], 1, [])):
            run = self.forge()
            if slot == 1:
                run.events["other"], run.samples["other"] = [], []
                run.led("b", 0, 0.0, None, 1)
            run.led("a", slot, 0.0, 10.01, 1)
            run.led("other" if slot == 0 else "b", slot, 10.0, None, 2)
            run.fault("leader_change", 9.0, 9.5, logs=logs, rest=30.0)
            self.assertEqual(self.kinds(run), found, (logs, slot))

    def test_who_was_taken_for_dead_gets_a_share_again(self):
        """Also at rest; but not who was never touched, nor who leads something already."""
        for touched, leads, found in (("b", False, []), ("a", False, ["move at rest"]),
                                      ("b", True, ["move at rest"])):
            run = self.moved(at=40.0)
            if leads:
                run.events["other"], run.samples["other"] = [], []
                run.led("b", 1, 0.0, None, 1)
            run.fault("cut_both", 5.0, 9.0, [touched], rest=12.0)
            self.assertEqual(self.kinds(run), found)

    def test_who_was_banned_gets_a_share_again(self):
        for told, found in ((True, []), (False, ["move at rest"])):
            run = self.moved(at=40.0)
            run.events["other"], run.samples["other"] = [], []
            run.led("b", 1, 0.0, None, 1)
            run.fault("cut_other_log", 5.0, 9.0, ["b"], [1], rest=12.0)
            if told:
                run.says("a", f"process {run.lives['b']['id']} was named for partition 1 and does "
                              "not lead it: others are named in log 1 for a while")
            self.assertEqual(self.kinds(run), found)

    def test_a_groups_moves_are_its_assignors(self):
        run = self.moved()
        run.assignment = "group"
        self.assertEqual(self.kinds(run), [])


if __name__ == "__main__":
    unittest.main()
