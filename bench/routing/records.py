"""The calls that a load made, as routing_load wrote them, and what they add up to."""
import bisect
import collections
import struct
from pathlib import Path
from typing import NamedTuple

# CallRecord of programs/call.h.
_ROW = struct.Struct("<q5I4H2BH")

OUTCOMES = {0: "served", 1: "refused", 2: "broken", 3: "unanswered", 4: "unreachable",
            5: "crowded", 6: "foreign", 7: "unowned", 255: "never ended"}
SERVED, FOREIGN, NEVER = 0, 6, 255
STEPS_S = (0.1, 0.2, 0.5, 1.0)  # of a series: the first with which it has at most
STEPS_MOST = 300


class Record(NamedTuple):
    """One call. Its number, which is its idempotency key, is its place in the file."""
    due_us: int  # CLOCK_BOOTTIME
    latency_us: int  # from when it was due
    late_us: int  # that it was begun: the load's own delay, and part of the latency
    key: int
    slot: int
    value: int
    status: int
    first_target: int
    last_target: int
    misdirected: int
    outcome: int
    attempts: int
    keyless: int  # 1: it had no idempotency key

    @property
    def due(self):
        """Seconds."""
        return self.due_us / 1e6

    @property
    def ended(self):
        """Seconds."""
        return (self.due_us + self.latency_us) / 1e6


def read(path):
    """All of a file."""
    return [Record._make(row) for row in _ROW.iter_unpack(Path(path).read_bytes())]


def percentile(ordered, share):
    """The value that `share` of the sorted ones do not exceed."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def latencies(records):
    """Of those that were served, in milliseconds."""
    ordered = sorted(one.latency_us for one in records if one.outcome == SERVED)
    if not ordered:
        return None
    return {name: percentile(ordered, share) / 1000
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999),
                                ("worst", 1.0))}


def without_key(records):
    """Of the calls that nobody may send again once somebody may have read them; None: none."""
    found = [one for one in records if one.keyless]
    if not found:
        return None
    failed = [one for one in found if one.outcome != SERVED]
    return {"calls": len(found), "failed": len(failed),
            "failed_as": dict(collections.Counter(OUTCOMES[one.outcome] for one in failed))}


def totals(records):
    """Counts and latencies of a whole run."""
    spans = records[-1].due - records[0].due if len(records) > 1 else 0.0
    late = sorted(one.late_us for one in records)
    failed = collections.Counter(OUTCOMES[one.outcome] for one in records
                                 if one.outcome != SERVED)
    statuses = collections.Counter(one.status for one in records
                                   if one.outcome != SERVED and one.status)
    return {"calls": len(records), "seconds": spans,
            "rate": (len(records) - 1) / spans if spans else 0.0,
            "served": sum(one.outcome == SERVED for one in records),
            "failed": sum(failed.values()), "failed_as": dict(failed),
            "statuses": {str(status): count for status, count in sorted(statuses.items())},
            "misdirected": sum(one.misdirected for one in records),
            "misdirected_calls": sum(one.misdirected > 0 for one in records),
            "sent_again": sum(one.attempts > 1 for one in records),
            "without_key": without_key(records),
            "latency_ms": latencies(records),
            "late_ms": {"p99": percentile(late, 0.99) / 1000, "worst": late[-1] / 1000}}


def series(records, origin):
    """What a picture shows: for each tenth of a second, or more, of being due: counts, latencies.

    Seconds after `origin`; latencies in milliseconds, None where nothing was served.
    """
    edges, rows = [], []
    begin = records[0].due
    spans = records[-1].due - begin
    step = next((step for step in STEPS_S if spans / step <= STEPS_MOST), STEPS_S[-1])
    count = int(spans / step) + 1
    dues = [one.due for one in records]
    for index in range(count):
        first = bisect.bisect_left(dues, begin + index * step)
        last = bisect.bisect_left(dues, begin + (index + 1) * step)
        part = records[first:last]
        ordered = sorted(one.latency_us for one in part if one.outcome == SERVED)
        edges.append(round(begin + index * step - origin, 3))
        rows.append((len(part), len(part) - len(ordered),
                     *(percentile(ordered, share) / 1000 if ordered else None
                       for share in (0.5, 0.99, 1.0))))
    names = ("calls", "failed", "p50", "p99", "worst")
    return {"step_s": step, "at": edges,
            **{name: [row[index] for row in rows] for index, name in enumerate(names)}}
