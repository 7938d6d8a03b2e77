"""Judges merged event logs: was anything led twice, was anything led by nobody, did epochs grow?

Every process writes `boot`, seconds of CLOCK_BOOTTIME, which all processes of a machine share.
Here the logs become intervals [start, end] of one process leading one partition of one lane. What
a dead or stopped process could not write, the harness that killed or stopped it knows, and says
by `Life`.
"""
import dataclasses
import math
from collections import defaultdict

from .moves import balanced, describe, min_moves, moved  # noqa: F401  (one door for callers)

# A witness without `prev` tells when its answer changed only to within one sample; on a machine
# with two busy cores a sample may come this late.
WITNESS_SLACK = 0.020


@dataclasses.dataclass(frozen=True)
class Epoch:
    """A fencing number; ordered like the protocol orders it."""
    inc: int
    offset: int

    def __lt__(self, other):
        return (self.inc, self.offset) < (other.inc, other.offset)

    def __le__(self, other):
        return not other < self

    def __str__(self):
        return f"{self.inc}/{self.offset}"


@dataclasses.dataclass
class Life:
    """What the harness did to one process. Its key is unique, since two may share a name.

    `pauses` are [(stopped, continued or None)]; `ended` is the instant of its SIGKILL or of its
    exit. `warm_ups` are [(instant, partition)]: it may have to stop what it did not lead yet.
    """
    key: str
    ended: float = math.inf
    pauses: list = dataclasses.field(default_factory=list)
    warm_ups: list = dataclasses.field(default_factory=list)

    def warmed_up(self, partition, since, until):
        """Whether it began to warm this one up."""
        return any(one == partition and since <= instant <= until
                   for instant, one in self.warm_ups)

    def last_word(self):
        """The last instant at which it can have answered anybody.

        Stopped and never continued: it answered nobody after the stop, however much later it was
        killed, so its interval ends there and not at the kill.
        """
        for stopped, continued in self.pauses:
            if continued is None or continued >= self.ended:
                return min(self.ended, stopped)
        return self.ended


@dataclasses.dataclass
class Interval:
    """One process leading one partition of one lane, from `start` to `end` (inf: still)."""
    process: str
    lane: int
    partition: int
    start: float
    end: float
    epochs: list
    reason: str = ""

    def __str__(self):
        names = "->".join(map(str, self.epochs))
        end = "…" if self.end == math.inf else f"{self.end:.4f}"
        return (f"{self.process} partition {self.partition} lane {self.lane} "
                f"[{self.start:.4f}, {end}] epoch {names} {self.reason}").rstrip()


@dataclasses.dataclass
class Finding:
    """A violation: what, how long, and the intervals or events that show it."""
    kind: str
    partition: int
    seconds: float
    start: float
    what: str

    def __str__(self):
        return (f"{self.kind}: partition {self.partition}, {self.seconds * 1000:.3f} ms "
                f"from {self.start:.4f}: {self.what}")


def intervals(events, life):
    """The intervals of one process, from its own events in the order in which it wrote them.

    Also returns findings about the log itself: a `stopped` of something it did not lead.
    """
    open_now, done, findings, draining, stopped = {}, [], [], set(), {}
    for event in events:
        key = (event.get("lane", 0), event["partition"])
        epoch = Epoch(event["epoch"]["inc"], event["epoch"]["offset"])
        kind, boot = event["event"], event["boot"]
        if kind == "acquired":
            held = open_now.get(key)
            if held is None:
                open_now[key] = Interval(life.key, *key, boot, math.inf, [epoch])
            elif held.epochs[-1] < epoch:  # the same ownership, renumbered
                held.epochs.append(epoch)
            elif held.epochs[-1] == epoch and key in draining:
                pass  # given back before anybody else led: not draining any more
            else:
                findings.append(Finding("log", key[1], 0.0, boot, f"{life.key} acquired {epoch} "
                                        f"while it led with {held.epochs[-1]}"))
        elif kind == "stopped":
            held = open_now.pop(key, None)
            if held is None:
                if not life.warmed_up(key[1], stopped.get(key, -math.inf), boot):
                    findings.append(Finding("log", key[1], 0.0, boot,
                                            f"{life.key} stopped {epoch}, which it did not lead"))
            else:
                if boot < held.start:
                    findings.append(Finding("log", key[1], held.start - boot, boot,
                                            f"stopped before it began: {held}"))
                held.end, held.reason = max(boot, held.start), event.get("reason", "")
                done.append(held)
            stopped[key] = boot
        if kind == "draining":
            draining.add(key)
        elif kind in ("acquired", "stopped"):  # an older epoch may be released meanwhile
            draining.discard(key)
        if kind == "draining" and key not in open_now:
            findings.append(Finding("log", key[1], 0.0, boot,
                                    f"{life.key} draining {epoch}, which it did not lead"))
    for held in open_now.values():
        held.end = max(held.start, life.last_word())
        done.append(held)
    return sorted(done, key=lambda one: one.start), findings


def _by_partition(all_intervals):
    groups = defaultdict(list)
    for one in all_intervals:
        groups[one.lane, one.partition].append(one)
    for group in groups.values():
        group.sort(key=lambda one: (one.start, one.end))
    return groups


def overlaps(all_intervals, slack=0.0):
    """Instants at which two processes led the same partition of a lane, worst first."""
    findings = []
    for (_, partition), group in _by_partition(all_intervals).items():
        latest = []  # intervals that may reach beyond the next one's start
        for one in group:
            latest = [old for old in latest if old.end > one.start]
            for old in latest:
                shared = min(old.end, one.end) - one.start
                if old.process != one.process and shared > slack:
                    findings.append(Finding("overlap", partition, shared, one.start,
                                            f"{old}  WITH  {one}"))
            latest.append(one)
    return sorted(findings, key=lambda found: -found.seconds)


def gaps(all_intervals, partitions, start, end, allowed=(), slack=0.0, lane=0):
    """Pieces of [start, end] in which a partition had no leader, outside `allowed`, worst first.

    `allowed` are (from, to) for every partition, or (from, to, partitions). `partitions` is what
    must be led: one that appears in no log at all is the worst gap, not an absent row.
    """
    groups = _by_partition(all_intervals)
    findings = []
    for partition in partitions:
        covered = [(one.start, one.end, one) for one in groups.get((lane, partition), ())]
        covered += [(window[0], window[1], None) for window in allowed
                    if len(window) == 2 or partition in window[2]]
        covered.sort(key=lambda piece: (piece[0], piece[1]))
        reached, before = start, None
        for piece_start, piece_end, one in [*covered, (end, end, None)]:
            until = min(piece_start, end)
            if until - reached > slack:
                findings.append(Finding("gap", partition, until - reached, reached,
                                        f"between {before} and {one}"))
            if piece_end > reached:
                reached, before = piece_end, one or before
    return sorted(findings, key=lambda found: -found.seconds)


def handovers(all_intervals, start=-math.inf, end=math.inf):
    """(partition, seconds, old, new) of every change of leader that starts in [start, end].

    Seconds without a leader; negative where the new one led before the old one stopped.
    """
    found = []
    for (_, partition), group in _by_partition(all_intervals).items():
        for old, new in zip(group, group[1:]):
            if old.process != new.process and start <= new.start <= end:
                found.append((partition, new.start - old.end, old, new))
    return found


def epoch_order(all_intervals):
    """Epochs that do not grow from one acquisition of a partition to the next, or that two share.

    After `lapsed` the same process may lead again with the same epoch: that is no new acquisition.
    Who reads the log late may begin while a greater epoch leads already: an overlap, which is for
    overlaps() to judge. After that one has ended, nothing lower may lead.
    """
    findings = []
    for (_, partition), group in _by_partition(all_intervals).items():
        greatest, holder, lapsed = None, None, set()
        for one in group:
            resumed = holder is not None and (
                holder.end > one.start and holder.process != one.process
                or holder.process == one.process and (one.process, one.epochs[0]) in lapsed)
            if greatest is not None and not resumed and not greatest < one.epochs[0]:
                findings.append(Finding("epoch", partition, 0.0, one.start,
                                        f"{one}  AFTER  {holder}"))
            if greatest is None or greatest <= one.epochs[-1]:
                greatest, holder = one.epochs[-1], one
            if one.reason == "lapsed":
                lapsed.add((one.process, one.epochs[-1]))
    return findings


def witness_intervals(samples, life):
    """(sure, possible) intervals of yes by the witness of one process.

    A line says that the answer changed; `prev`, where it is written, is the instant of the sample
    before. Yes is certain from the first yes to the last one, and possible from the last no
    before to the first no after. In between nobody looked: no interval of the witness reaches
    across a pause, and after one a yes is certain when it has looked at all once more. A yes that
    nothing ends is certain up to the last look (`looked`), as the thread that looks may have had no
    processor before the end.
    """
    sure, possible, open_now, last_no = [], [], {}, {}
    looks = [row["boot"] for row in samples if row.get("looked")]
    for row in samples:
        if "owns" not in row:
            continue
        partition, boot = row["partition"], row["boot"]
        prev = row.get("prev", boot - WITNESS_SLACK)
        if row["owns"] and partition not in open_now:
            open_now[partition] = (boot, max(prev, last_no.get(partition, -math.inf)))
        elif not row["owns"]:
            last_no[partition] = boot
            if partition in open_now:
                first, before = open_now.pop(partition)
                _close(life, partition, (first, prev), (before, boot), sure, possible, looks)
    for partition, (first, before) in open_now.items():
        end = life.last_word()
        certain = end if end == math.inf else end - WITNESS_SLACK
        if looks:
            certain = min(certain, max(first, looks[-1]))
        _close(life, partition, (first, certain), (before, end), sure, possible, looks)
    return sure, possible


def _looked_since(instant, looks):
    """When the witness had looked at all since then: a line is of the moment before it looked."""
    if not looks:
        return instant
    since = [look for look in looks if look >= instant]
    return since[1] if len(since) > 1 else math.inf


def _close(life, partition, certain, perhaps, sure, possible, looks):
    """Adds one witnessed interval, cut where the process was stopped: there it answered nobody."""
    pieces = [certain]
    for stopped, continued in life.pauses:
        resume = math.inf if continued is None else _looked_since(continued, looks)
        pieces = [cut for begin, end in pieces
                  for cut in ((begin, min(end, stopped - WITNESS_SLACK)), (max(begin, resume), end))
                  if cut[0] < cut[1]]
    sure += [Interval(life.key, 0, partition, begin, end, [], "witness") for begin, end in pieces]
    possible.append(Interval(life.key, 0, partition, *perhaps, [], "witness"))


class Report:
    """All logs of a run merged. `add` each process, then ask."""

    def __init__(self):
        self.intervals, self.sure, self.possible, self.findings = [], [], [], []
        self.all_witnessed = True

    def add(self, life, events, samples=None):
        """One process: its life, its events, and its witness' samples if it has one."""
        found, findings = intervals(events, life)
        self.intervals += found
        self.findings += findings
        if samples is None:
            self.all_witnessed = False
            return
        sure, possible = witness_intervals(samples, life)
        self.sure += sure
        self.possible += possible

    def violations(self, exclusive):
        """What must never be, whatever was done to the processes."""
        found = self.findings + epoch_order(self.intervals)
        if exclusive:
            found += overlaps(self.intervals) + overlaps(self.sure)
        return found

    def unled(self, partitions, start, end, allowed=(), lane=0):
        """Gaps by log, and by witness where every process had one; all processes of one lane."""
        found = gaps(self.intervals, partitions, start, end, allowed, lane=lane)
        if self.all_witnessed:
            found += gaps(self.possible, partitions, start, end, allowed)
        return found

    def transitions(self):
        """How many times a partition changed its leader, whoever it was before."""
        return len(handovers(self.intervals))

    def worst(self, partitions, start, end, lane=0):
        """One line for people: the worst gap and the worst overlap by log."""
        gap = next(iter(gaps(self.intervals, partitions, start, end, lane=lane)), None)
        overlap = next(iter(overlaps(self.intervals)), None)
        return f"worst gap: {gap or 'none'}; worst overlap: {overlap or 'none'}"
