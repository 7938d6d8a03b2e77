"""Who assigned when, and who was named for what: by the records of log 0 that a run kept."""
import bisect
import math

from harness.lane_log import is_late, numbers, offset_of
from harness.process import LineFile

# Stamps are the brokers' wall clocks: the second one's may be off by this, and they count
# milliseconds.
STAMP_ERROR = 0.1


class Lane:
    """`rows` are assignments.jsonl's; `ids`: id -> owner; `wall_minus_boot` makes stamps boot
    times."""

    def __init__(self, rows, ids, wall_minus_boot):
        self.claims = []  # (instant, owner)
        self.named = {}   # partition -> [(instant, owner)]
        seat, holder = None, None
        last = -1
        for row in rows:
            if row["offset"] <= last:
                seat, holder = None, None  # the topic was made anew
            last = row["offset"]
            instant = row["stamp"] / 1000 - wall_minus_boot
            if row["t"] == "seat_claim" and not is_late(row, seat):
                seat, holder = row["offset"], row["id"]
                self.claims.append((instant, ids.get(holder)))
            elif (row["t"] == "assign" and row["id"] == holder
                  and offset_of(row["seat"]) == seat):
                for named, partitions in row["to"].items():
                    for partition in numbers(partitions):
                        self.named.setdefault(partition, []).append((instant, ids.get(named)))

    def designees(self, partition, since, until):
        """Who was named for it at any time between these instants."""
        named = self.named.get(partition, [])
        first = max(0, bisect.bisect(named, since - STAMP_ERROR, key=lambda one: one[0]) - 1)
        return {owner for instant, owner in named[first:] if instant <= until + STAMP_ERROR}

    def assigners(self, since, until):
        """Who held the seat at any time between these instants."""
        ends = [instant for instant, _ in self.claims[1:]] + [math.inf]
        return {owner for (begin, owner), end in zip(self.claims, ends)
                if begin <= until + STAMP_ERROR and end >= since - STAMP_ERROR}


def read(folder, about):
    """Of a run's folder; of a run that kept nothing, an empty one."""
    file = LineFile(folder / "assignments.jsonl")
    file.read()
    ids = {life["id"]: key for key, life in about["lives"].items() if life.get("id")}
    return Lane(file.rows, ids, about.get("wall_minus_boot", 0.0))
