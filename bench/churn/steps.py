"""A step: what one event moved, from one steady state to the next, by the merged event logs.

Moved are the partitions whose owner in steady state differs. A partition that changed its leader
more often than needed, or came back, is a double move, and counted separately.
"""
import collections
import dataclasses
import math

from harness import checker
from spread import median_p90_worst

# What prediction and reality must have in common, by the simulator's names. A sticky assignor has
# several ways to keep assignments, so the gain of a single member may differ.
COMPARED = {"by rank": ("moved", "unavoidable", "excess", "gain"), "sticky": ("moved",)}


@dataclasses.dataclass
class Noted:
    """What was seen of a step while it happened."""
    event: object
    at: float  # CLOCK_BOOTTIME just before the event
    rested: float
    before: dict  # partition -> owner in steady state
    after: dict
    members: tuple  # afterwards
    rejoined: tuple  # those that stayed, and that the group knows by another id now


def counts(noted):
    """What the two assignments say by themselves."""
    before, after, members = noted.before, noted.after, set(noted.members)
    moved = checker.moved(before, after)
    owned_before = set(before.values())
    gains = collections.Counter(after[partition] for partition in moved)
    return {"moved": len(moved), "least": checker.min_moves(before, members),
            "unavoidable": sum(before[partition] not in members for partition in moved),
            "excess": sum(before[partition] in members and after[partition] in owned_before
                          for partition in moved),
            "gain": max(gains.values(), default=0),
            "balanced": checker.balanced(collections.Counter(
                {**dict.fromkeys(members, 0), **collections.Counter(after.values())}).values())}


def spread(values, scale=1000.0):
    """Median, 90th percentile and worst; times in milliseconds."""
    if not values:
        return None
    found = median_p90_worst([value * scale for value in values])
    return {name: round(value, 3) for name, value in zip(("median", "p90", "worst"), found)}


def measured(noted, end, intervals):
    """A row of figures; `end` is the next event, so that what moves after rest counts, too.

    Who was killed wrote no reason why it stopped: the gap of what it led is mostly the session.
    """
    changes = checker.handovers(intervals, noted.at, end)
    times = collections.Counter(partition for partition, *_ in changes)
    moved = set(checker.moved(noted.before, noted.after))
    if not moved <= set(times):
        raise RuntimeError(f"{noted.event}: other owners at rest, but no change of leader in the "
                           f"logs: {sorted(moved - set(times))}")
    handed = [seconds for _, seconds, old, _ in changes if old.reason]
    orphaned = [seconds for _, seconds, old, _ in changes if not old.reason]
    still = [partition for partition in noted.before if partition not in times]
    interrupted = checker.gaps(intervals, still, noted.at, end)
    acquired = [one.start for one in intervals if noted.at <= one.start < end]
    stops = collections.Counter(one.reason or "killed" for one in intervals
                                if noted.at <= one.end < end)
    return {"event": str(noted.event), "kind": noted.event.kind, "members": len(noted.members),
            **counts(noted),
            "came_back": len(set(times) - moved),
            "moved_twice": sum(times[partition] > 1 for partition in moved),
            "gap_ms": spread([max(0.0, seconds) for seconds in handed]),
            "overlap_ms": spread([max(0.0, -seconds) for seconds in handed]),
            "killed_gap_ms": spread([max(0.0, seconds) for seconds in orphaned]),
            "interrupted": len({found.partition for found in interrupted}),
            "interrupted_ms": spread([found.seconds for found in interrupted]),
            "stops": dict(stops), "rejoined": list(noted.rejoined),
            "converged_s": round(max(acquired, default=noted.at) - noted.at, 4),
            "rested_s": round(noted.rested - noted.at, 4)}


def with_prediction(row, predicted, sticky):
    """The row with what the simulator says, and where the two differ."""
    names = COMPARED["sticky" if sticky else "by rank"]
    simulated = {name: predicted[name] for name in (*COMPARED["by rank"], "least_from_here")}
    return {**row, "simulated": simulated,
            "differs": [name for name in names if row[name] != simulated[name]]}


def why(row):
    """What the logs say about a step that moved more than the least, or than was simulated."""
    simulated = row["simulated"]
    if row["moved"] == row["least"] and simulated["moved"] == simulated["least_from_here"]:
        return (f"both moved the least from where they were: who went had {row['unavoidable']} "
                f"partitions, in the simulation {simulated['unavoidable']}")
    if row["rejoined"]:
        return f"the group had lost {', '.join(row['rejoined'])}, who joined again"
    lapsed = row["stops"].get("lapsed", 0)
    if lapsed:
        return f"{lapsed} leases lapsed on the way"
    return f"the assignor's doing: every move was {', '.join(row['stops'])}"


def timeline(noted, since, end, intervals, names):
    """Who led what around the event: [partition, owner, from, to] in seconds after it."""
    since, end = max(since, noted.at - 0.5), min(end, noted.rested + 0.5)
    pieces = []
    for one in sorted(intervals, key=lambda one: (one.partition, one.start)):
        start, stop = max(one.start, since), min(one.end, end)
        if start < stop:
            pieces.append([one.partition, names[one.process], round(start - noted.at, 4),
                           round(stop - noted.at, 4)])
    return {"event": str(noted.event), "members": len(noted.members),
            "from": round(since - noted.at, 4), "to": round(end - noted.at, 4),
            "intervals": pieces}


def worst(rows, field):
    """The greatest of a field's worst values over the rows; 0 where nothing was measured."""
    return max((row[field]["worst"] for row in rows if row[field]), default=0.0)


def ends(noted, finished):
    """Where each step ends: as the next begins."""
    return [*(step.at for step in noted[1:]), finished if noted else math.inf]
