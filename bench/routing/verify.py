"""Whether the values at the end are right: nothing lost, nothing doubled, nobody under two epochs.

The load knows which calls were answered 200, and with which value. The store knows which calls it
carried out, how often, what the counter was then, and what it is at the end. A call that failed may
have been carried out or not, but not twice: with a key the store sees to that; without one nobody
may send it again who does not know that nothing was done.
"""
import collections
import json
import struct
from pathlib import Path

from records import FOREIGN, NEVER, SERVED

_APPLIED = struct.Struct("<3I")  # Applied of programs/counters.h
EXAMPLES = 5  # that a finding names


def read_store(path):
    """(what it counted, [(key, value, how often)] by the number of the call)."""
    counts = json.loads(Path(path).read_text(encoding="utf-8"))
    applied = list(_APPLIED.iter_unpack(Path(f"{path}.applied").read_bytes()))
    return counts, applied


def _finding(what, numbers):
    numbers = list(numbers)
    if not numbers:
        return []
    shown = ", ".join(map(str, numbers[:EXAMPLES]))
    return [f"{what}: {len(numbers)}, as {shown}"]


def check(records, counts, applied):
    """{"wrong": [text], …}: what must never happen, and how many increments there were."""
    def value_of(number):
        return applied[number][1] if number < len(applied) else 0
    done = [number for number, (_, value, _) in enumerate(applied) if value]
    served = [number for number, one in enumerate(records) if one.outcome == SERVED]
    per_key = collections.Counter()
    for key, _, times in applied:
        per_key[key] += times
    values = counts["values"]
    wrong = [
        *_finding("lost, calls answered 200 that the store does not have",
                  (number for number in served if not value_of(number))),
        *_finding("answered with a value that the store did not give",
                  (number for number in served
                   if value_of(number) and value_of(number) != records[number].value)),
        *_finding("doubled or lost, keys whose counter is not the number of their calls",
                  (key for key, value in enumerate(values) if value != per_key[key])),
        *_finding("doubled, calls carried out more than once",
                  (number for number in done if applied[number][2] > 1)),
        *_finding("carried out for another key",
                  (number for number in done if number < len(records)
                   and applied[number][0] != records[number].key)),
        *_finding("carried out, and never sent",
                  (number for number in done if number >= len(records))),
        *_finding("answered with another call's answer",
                  (number for number, one in enumerate(records) if one.outcome == FOREIGN)),
        *_finding("never ended",
                  (number for number, one in enumerate(records) if one.outcome == NEVER)),
    ]
    wrong += [f"{what}: {counts[name]}" for name, what in (
        ("two_writers", "epoch violated, writes of two processes under one epoch"),
        ("wrong_slot", "writes for a slot that is not the key's")) if counts[name]]
    return {"wrong": wrong, "applied": len(done),
            "applied_and_failed": len(done) - sum(bool(value_of(number)) for number in served),
            "repeats": counts["repeats"], "stale": counts["stale"]}
