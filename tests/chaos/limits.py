"""The rules of docs/proof.md for gaps: which fault explains one, and how long it may last."""
from harness import checker

import rules
from rules import LEADER_SEARCH

# What the limits are made of. Two are not the protocol's, nor a setting of Kafka's: LEADER_SEARCH,
# and the longest that one message may take, of which the rule allows four for each rebalance: two
# JVMs and six owners share two cores here, and claims were measured to take up to 32 ms to be read
# back by 6 processes when nothing else ran; three times that is what a scheduler adds.
MESSAGE_DELAY = 0.1
SAME_INSTANT = checker.WITNESS_SLACK
# A witness that had no processor sees the end of an ownership later than the log says: 32 ms were
# seen beside other work. A gap that it saw is still the same one.
LATE_LOOK = 0.1
PLANNED = ("superseded", "closed")


class Judge:
    """The rules of docs/proof.md for gaps, where Kafka's group assigns."""

    def __init__(self, facts, protocol, faults, intervals, exclusive=False, slow=1):
        self.facts = facts
        self.lease, self.session = facts["lease_ms"] / 1000, facts["session_ms"] / 1000
        self.logs = facts["logs"]
        self.step = facts.get("prepare_timeout_ms", 0) / 1000  # to prepare, or to warm up
        self.exclusive = exclusive
        self.serves_on = facts.get("serves_on", False)
        self.messages = 4 * slow * MESSAGE_DELAY
        self.further = self.takeover = self.handover = 0.0
        self.set_limits(protocol)
        self.faults = faults
        self.led = {}
        for one in intervals:
            self.led.setdefault(one.partition, []).append(one)

    def set_limits(self, protocol):
        """From the times in force."""
        heartbeats = 2 * self.facts["heartbeat_ms"] / 1000  # to hear of what was revoked, assigned
        # A classic rebalance waits for every member to join again, for as long as each may take
        # between two polls, which is the hang limit; the other protocol's waits for nobody.
        self.further = self.messages
        if protocol == "classic":
            self.further = self.facts["hang_limit_ms"] / 1000
        # Whoever a rebalance names in another's place has both steps before it.
        self.further += 2 * self.step
        self.takeover = self.session + heartbeats + self.messages + 2 * self.step
        # A claim that ended an ownership may be overtaken by another rebalance, whose claimant must
        # be told; then a claim and a release are stored and read.
        # Who claimed first may have begun to warm up.
        self.handover = heartbeats + self.further + self.messages + self.step
        if self.exclusive:  # rule 6: whose predecessor cannot release waits for its lease's end
            self.takeover += self.lease

    def last_owners(self, partition, instant):
        """Who led last; and who claimed after it, and was gone before it had heard of that."""
        ended = [one for one in self.led.get(partition, ())
                 if one.start <= instant and one.end <= instant + SAME_INSTANT]
        if not ended:
            return set()
        last = max(ended, key=lambda one: one.end)
        newer = [one for one in ended if one.end >= instant - self.lease
                 and last.epochs[-1] < one.epochs[-1]]
        return {one.process for one in [last, *newer]}

    def explaining(self, gap):
        """The faults that may have left the partition without an owner."""
        owners = self.last_owners(gap.partition, gap.start)
        lapsed = self.first_lapse(gap)
        return [fault for fault in self.faults
                if self.strikes(fault, gap.partition, owners)
                and fault.begin <= gap.start + SAME_INSTANT
                and lapsed <= self.felt_until(fault)]

    def strikes(self, fault, partition, owners):
        """Whether it may have ended these owners' leading of the partition. Who leaves while a log
        is silent may be gone before anybody can claim."""
        if self.serves_on and fault.kind in rules.LEAVES:
            return bool(set(owners) & set(fault.owners)) and self.silent_during(fault)
        if self.serves_on and fault.kind not in rules.END_SERVING:
            return False
        return fault.strikes(partition, self.logs, owners)

    def silent_during(self, leave):
        """Whether records may have waited while somebody left."""
        return any(("log" in fault.rule.excuses or "cut" in fault.kind)
                   and fault.begin < leave.end and self.felt_until(fault) > leave.begin
                   for fault in self.faults)

    def first_lapse(self, gap):
        """When the owner's lease ended first. One that lapsed may lead again by a record that was
        long on its way, for what is left of its lease: a few milliseconds, and another gap."""
        first = gap.start
        near = sorted((one for one in self.led.get(gap.partition, ())
                       if one.end <= gap.start + SAME_INSTANT), key=lambda one: one.end)
        for before, one in reversed(list(zip(near, near[1:]))):
            again = (before.process == one.process and before.reason == one.reason == "lapsed"
                     and one.end - one.start < self.lease)
            if not again:
                break
            first = min(first, before.end)
        return first

    def felt_until(self, fault):
        """Until when a lease may end that was not renewed because of it."""
        return max(fault.over() + self.lease, fault.replicated())

    def since(self, fault):
        """From when on a successor can take over."""
        return fault.since()

    def delay(self, gap, until, window):
        """By how much longer it takes for all that happens in the window."""
        changes = [instant for fault in window for instant in fault.changes()
                   if gap.start - SAME_INSTANT <= instant < until]
        return max(0, len(changes) - 1) * self.further

    def latest(self, explaining, window):
        """From when on a successor can take over that all of these may strike."""
        return max(map(self.since, [*explaining, *window]))

    def until(self, gap, explaining):
        """When it must be over. Whatever else happens before that may strike the successor, so the
        time counts from the last fault of the window on."""
        until, delay = max(map(self.since, explaining)) + self.takeover, 0.0
        while True:
            window = [fault for fault in self.faults if fault.rule.since
                      and fault.begin < until and self.felt_until(fault) > gap.start]
            delay = max(delay, self.delay(gap, until, window))
            later = self.latest(explaining, window) + self.takeover + delay
            if later <= until:
                return until
            until = later

    def is_planned(self, gap):
        """Whether an owner gave it up to a claim, which leaves a moment in exclusive mode."""
        return self.exclusive and any(
            one.reason in PLANNED and one.end - SAME_INSTANT <= gap.start <= one.end + LATE_LOOK
            for one in self.led.get(gap.partition, ()))

    def handover_limit(self, gap):
        """How long a planned move in exclusive mode may leave the partition unowned: one gave it up
        to another one's claim. Zero: it was none.

        A successor that was stopped or cut off reads what others wrote meanwhile when it is back;
        a lease of somebody who did not release counts from then (rule 6 a).
        """
        near = self.led.get(gap.partition, ())
        if not self.is_planned(gap):
            return 0.0
        end = gap.start + gap.seconds
        successors = {one.process for one in near if abs(one.start - end) <= SAME_INSTANT}
        late = any(successors & set(fault.owners) and fault.begin <= end
                   and gap.start <= self.felt_until(fault) for fault in self.faults)
        changes = [instant for fault in self.faults for instant in fault.changes()
                   if gap.start - self.handover <= instant < end]
        further = max(0, len(changes) - 1) * self.further
        return self.handover + further + (self.lease if late else 0.0)

    def verdict(self, gap):
        """(what is wrong or "", the faults that explain it, the limit in seconds)."""
        explaining, limit = self.explaining(gap), self.handover_limit(gap)
        if not explaining:
            return "" if gap.seconds <= limit else "unexplained", [], limit
        limit = max(limit, self.until(gap, explaining) - gap.start)
        return "too long" if gap.seconds > limit else "", explaining, limit

    def shown(self):
        """The limits, for the report."""
        return {"takeover": self.takeover, "handover": self.handover,
                "further_rebalance": self.further, "message_delay": MESSAGE_DELAY,
                "leader_search": LEADER_SEARCH}
