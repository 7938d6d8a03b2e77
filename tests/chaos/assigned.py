"""The rules of docs/proof.md where a member assigns: how long a gap may last, and what may move.

From docs/protocol.md, "Assigned by a member": a death is known after a session and a record that
is read back (A1); the seat is claimed by ranks (A2); many deaths take a session more (A9); nobody
stops on an assigner's word alone (A4), so that what befalls the assigner moves only its own slots;
and what is carried out is not changed (A7), so that nothing moves by itself.
"""
import re
from pathlib import Path

from harness import checker

import limits
import rules
from rules import LEADER_SEARCH

# How many times a record is stored and read: the one that proves a death, the seat claim of who
# proved it, the assignment, and the claim. Each of these is four messages: to the leader, to the
# follower that fetches it, its next fetch by which the leader knows, and to who reads it.
ROUNDS = 4
# A link that was cut is used again when TCP tries again, each time after twice as long: so after as
# long again as it was cut, and the first try's 0.2 s.
FIRST_RETRY = 0.2
# The proof is asked for a quarter of an interval after the last one, and a plan is made an eighth
# after the last one, at the latest.
WAITS = 1 / 4 + 1 / 8
DRIFT = 1.001
# Who comes back gets its share with one plan: from its first slot to its last, beside what it takes
# to prepare and to warm up.
RETURN = 2.0
MANY = "members fell silent within a session"
GIVEN_UP = re.compile(r"process ([0-9a-f]+) was named for partition \d+ and does not lead it")


class AssignedJudge(limits.Judge):
    """How long a gap may last. `starts`: owner -> when it was started; `lane`: a lane.Lane."""

    def __init__(self, facts, faults, intervals, starts, lives, lane, exclusive=False, slow=1):
        self.starts, self.lives, self.lane = starts, lives, lane
        self.interval = facts["interval_ms"] / 1000
        super().__init__(facts, "", faults, intervals, exclusive, slow)

    def set_limits(self, protocol):
        store_and_read = self.messages
        rounds = ROUNDS * store_and_read + WAITS * self.interval
        self.takeover = self.session + rounds
        if self.exclusive:  # rule 6 a: the later of both ends it
            self.takeover = max(self.takeover, DRIFT * self.lease + rounds)
        self.takeover += 2 * self.step
        # A claim, and the release that follows it; who claimed has prepared, and warms up.
        self.handover = 2 * store_and_read + self.step
        self.patience = 2 * self.lease + self.session + 2 * self.step  # A5
        self.span = RETURN + 2 * self.step

    def shown(self):
        """There is no rebalance; many deaths take a session more."""
        shown = super().shown()
        del shown["further_rebalance"]
        return {**shown, "many_deaths": DRIFT * self.session}

    def explaining(self, gap):
        """In exclusive mode also what struck a designee whose claim ended the last ownership, and
        that never led."""
        found = super().explaining(gap)
        if not self.is_planned(gap):
            return found
        named = self.lane.designees(gap.partition, gap.start - self.span, gap.start)
        return found + [fault for fault in self.faults if fault not in found
                        and fault.strikes(gap.partition, self.logs, named)
                        and fault.begin <= gap.start + self.handover
                        and gap.start <= self.felt_until(fault)]

    def healed(self, fault):
        """When who it touched reaches every log again."""
        if "cut" not in fault.kind:
            return fault.over() + (LEADER_SEARCH if fault.rule.excuses == "log" else 0.0)
        return fault.over() + fault.over() - fault.begin + FIRST_RETRY

    def felt_until(self, fault):
        """It goes on until all is reached again."""
        return self.healed(fault) + self.lease

    def since(self, fault):
        """From when on a successor can take over, or the owner itself can lead again, if later.

        Who was cut off for less than a session may be heard again in log 0 before it reaches all
        others, and need not die; each of its links is tried again at an instant of its own.
        """
        if fault.rule.excuses == "owner in log":
            return min(self.healed(fault), self.given_up(fault))
        if "cut" in fault.kind and fault.rule.excuses == "owner":
            alive = fault.over() - fault.begin < self.session + fault.noticed_after
            return max(fault.since(), self.healed(fault) - self.session if alive else 0.0)
        return fault.since()

    def given_up(self, fault):
        """When A5 notices it, and nothing else: a designee that does not lead in one log, alive in
        log 0.

        Its own lease ends first. If it holds the seat itself, it yields after that patience (A2);
        the seat is free a lease later, and its ranks come one after the other; then the patience of
        the new assigner begins.
        """
        given_up = fault.begin + self.lease + self.patience
        if fault.detail.get("assigns"):
            given_up += self.patience + self.lease + len(self.living(fault.begin)) * self.interval
        return given_up

    def living(self, instant):
        """Who lived then."""
        return {key for key, started in self.starts.items()
                if started <= instant <= self.lives[key].ended}

    def deadly(self, window):
        """The faults that others may take somebody for dead for."""
        return [fault for fault in window if fault.rule.excuses == "owner" and
                (fault.kind in rules.KILLS or fault.end - fault.begin >= self.session / 2)]

    def latest(self, explaining, window):
        """Who read nothing of log 0 gives everybody a new session when it reads again, longer by
        the time without reading, T at most (A1): everybody where log 0 is away, and an assigner
        that is stopped or cut off and lives."""
        latest = super().latest(explaining, window)
        deadly = self.deadly([*explaining, *window])
        blind = [fault for fault in window if self.blinds(fault)
                 and any(other is not fault for other in deadly)]
        return max([latest, *(self.healed(fault) + min(self.healed(fault) - fault.begin, self.lease)
                              for fault in blind)])

    def blinds(self, fault):
        """Whether an assigner reads nothing of log 0 because of it, and assigns after it."""
        if fault.rule.excuses != "owner":
            return fault.rule.excuses == "log" and 0 in fault.logs
        short = fault.over() - fault.begin < self.session + fault.noticed_after
        return (fault.kind not in rules.KILLS and short
                and bool(set(fault.owners) & self.lane.assigners(fault.begin, fault.over())))

    def delay(self, gap, until, window):
        """Successors of the seat come one after the other (A2); many deaths at once take another
        session (A9)."""
        deadly = self.deadly(window)
        struck = {owner for fault in deadly for owner in fault.owners}
        delay = max(0, len(struck) - 1) * self.interval
        alive = self.living(min((fault.begin for fault in deadly), default=gap.start))
        if len(struck) >= 2 and 3 * len(struck) > len(alive):
            delay += DRIFT * self.session
        return delay


class Moves:
    """What moved although nothing asked for it."""

    def __init__(self, faults, intervals, starts, facts, lane, given_up=()):
        self.faults, self.starts, self.logs = faults, starts, facts["logs"]
        self.lane, self.given_up = lane, given_up
        self.span = RETURN + 2 * facts.get("prepare_timeout_ms", 0) / 1000
        self.all = intervals
        self.led = {}
        for one in intervals:
            self.led.setdefault(one.process, []).append(one)

    def findings(self, since, until):
        """A finding for each change of leader that nothing explains."""
        found = []
        for partition, _, old, new in checker.handovers(self.all, since, until):
            window = [fault for fault in self.faults if fault.begin <= new.start <= fault.rest]
            if self.returns(new.process, new.start) or self.asked_for(window, old, new):
                continue
            kind = "needless move" if window else "move at rest"
            during = ", ".join(f"{fault.number} {fault.kind}" for fault in window) or "nothing"
            found.append(checker.Finding(kind, partition, 0.0, new.start,
                                         f"{old}  THEN  {new}  DURING {during}"))
        return found

    def asked_for(self, window, old, new):
        """Whether what happened since the last rest may move this partition from one to the other.

        What befalls an owner moves what it led or was named for, and gives it, or who sits down in
        its place, a share. A log that is away may move its partitions; if it is log 0, anybody may
        be silent.
        """
        named = self.lane.designees(new.partition, old.end - self.span, new.start)
        for fault in window:
            if {old.process, new.process, *named} & set(fault.owners):
                return True
            if fault.rule.excuses == "log" and {0, new.partition % self.logs} & set(fault.logs):
                return True
        first = min((fault.begin for fault in window), default=new.start)
        return self.starts[new.process] >= first

    def returns(self, process, instant):
        """Whether it gets slots again that was cordoned after a silence (A1), or banned (A5)."""
        touched = any(fault.begin <= instant and fault.begin >= self.starts[process] and
                      (process in fault.owners
                       or fault.rule.excuses == "log" and 0 in fault.logs)
                      for fault in self.faults)
        if not touched:
            return False
        if process in self.given_up:
            return True
        spans = sorted((one.start, one.end) for one in self.led[process])
        reached = instant - self.span
        for begin, end in spans:
            if begin > reached:
                return True  # it led nothing at `reached`
            reached = max(reached, end)
            if reached >= instant:
                return False
        return True


def texts(folder):
    """What the owners said for people."""
    return [path.read_text(encoding="utf-8", errors="replace")
            for path in Path(folder).glob("*.err")]


def given_up(folder, ids):
    """The owners that some assigner gave up on in a log; `ids`: id -> owner."""
    return {ids[named] for text in texts(folder) for named in GIVEN_UP.findall(text)
            if named in ids}


def said(folder):
    """How often assigners, also those that are dead, waited for many deaths (A9), and gave up on a
    designee (A5)."""
    found = texts(folder)
    return {"waits for many deaths": sum(text.count(MANY) for text in found),
            "designees given up": sum(len(GIVEN_UP.findall(text)) for text in found)}
