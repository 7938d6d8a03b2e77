"""The walk: processes join, leave and are killed, one after the other, from a few to the peak and
down again; then a rolling restart of those that are left. A pure function of its seed.

Names decide what `range` and `roundrobin` do, by where a newcomer's sorts; so they are drawn, each
is used once, and all have one length: none is the beginning of another.
"""
import dataclasses
import random

FIRST, LAST = 2, 3
MOST_NAMES = 100


@dataclasses.dataclass(frozen=True)
class Event:
    """One process joins, leaves as planned, or is killed."""
    kind: str  # join, leave or kill
    name: str
    rolling: bool = False  # part of the rolling restart

    def __str__(self):
        return f"{'rolling ' if self.rolling else ''}{self.kind} {self.name}"


@dataclasses.dataclass(frozen=True)
class Walk:
    """The processes of the first placement, and what happens after it."""
    first: tuple
    events: tuple


def _turns(peak, rng):
    """True for one more, False for one less; with turns back, so that both occur at most sizes."""
    back = max(1, peak // 6)
    up = rng.sample(range(FIRST + 1, peak), min(back, peak - FIRST - 1))
    down = rng.sample(range(LAST + 1, peak), min(back, peak - LAST - 1))
    turns = []
    for size in range(FIRST + 1, peak + 1):
        turns += [True, False, True] if size in up else [True]
    for size in range(peak - 1, LAST - 1, -1):
        turns += [False, True, False] if size in down else [False]
    return turns


def make(peak, seed):
    """The walk to `peak` processes."""
    if not LAST < peak <= MOST_NAMES // 3:
        raise ValueError(f"a peak of {peak} processes; choose {LAST + 1} to {MOST_NAMES // 3}")
    rng = random.Random(seed)
    turns = _turns(peak, rng)
    departures = turns.count(False)
    kinds = ["leave", "kill"] * ((departures + 1) // 2)
    rng.shuffle(kinds)
    names = [f"node-{number:02}" for number in rng.sample(range(MOST_NAMES), MOST_NAMES)]
    present = [names.pop() for _ in range(FIRST)]
    first, events = tuple(present), []
    for joins in turns:
        if joins:
            present.append(names.pop())
            events.append(Event("join", present[-1]))
        else:
            events.append(Event(kinds.pop(), present.pop(rng.randrange(len(present)))))
    # A restarted process is a newcomer; so it has a new name, too.
    for name in present:
        events += [Event("leave", name, rolling=True), Event("join", names.pop(), rolling=True)]
    return Walk(first, tuple(events))
