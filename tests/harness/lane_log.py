"""What log 0 says of a lane where a member assigns: who assigns, who is named for what, who was
heard since when (docs/protocol.md, "Assigned by a member").

Read from outside, by the administration's consumer, so it does not depend on what owners believe.
"""
import json

from .kafka_admin import AdminError

KEPT = ("seat_claim", "assign", "leave")  # few, beside the renewals


def offset_of(epoch):
    """The offset in an epoch's text, `inc:offset`."""
    return int(epoch.rpartition(":")[2])


def is_late(claim, seat):
    """Whether a seat claim does not count: it replaces one that lies before the newest (A2).
    `seat`: the newest one's offset; None: there is none. Of a log that lost nothing."""
    return seat is not None and "seat" in claim and offset_of(claim["seat"]) < seat


def numbers(ranges):
    """ "0-9,12" as a list."""
    found = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class LaneLog:
    """Log 0 of one lane, read on by each `read`.

    `assigner`: the id of who holds the seat, by its newest claim; None: nobody. `designees`:
    partition -> id. `heard`: id -> the offset of its newest renewal. `names`: id -> the name that
    it gave last. `kept` are the records that are no renewals, each with its offset and the broker's
    stamp in ms.
    """

    def __init__(self, admin, topic, lane=0):
        self._admin, self._topic, self._lane = admin, topic, lane
        self._topic_id = None
        self._next = 0
        self._seat = None  # the claim's offset
        self.assigner = None
        self.designees = {}
        self.heard = {}
        self.names = {}
        self.kept = []

    def read(self):
        """Reads to the end of now; the number of records that are new. AdminError: log 0 is away.

        Of a topic that was made again designations stay, as they do for its members.
        """
        topic = self._admin.topic(self._topic)["id"]
        if topic != self._topic_id:
            self._topic_id, self._next, self._seat = topic, 0, None
            self.assigner = None
            self.heard = {}
        rows = self._admin.read(self._topic, 0, self._next)
        for row in rows:
            self._next = row["offset"] + 1
            self._take(row)
        return len(rows)

    def end(self):
        """Where log 0 ends by what was read: later records have this offset, or a greater one."""
        return self._next

    def _take(self, row):
        try:
            record = json.loads(row["value"])
        except (TypeError, ValueError):
            return  # a stranger's
        if not isinstance(record, dict) or record.get("lane") != self._lane:
            return
        self._note(record, row["offset"])
        if record.get("t") in KEPT:
            self.kept.append({"offset": row["offset"], "stamp": row["timestamp"], **record})

    def _note(self, record, offset):
        kind, who = record.get("t"), record.get("id")
        if "by" in record:
            self.names[who] = record["by"]
        if kind == "renewal" and "member" in record:
            self.heard[who] = offset
        elif kind == "seat_claim" and not is_late(record, self._seat):
            self.assigner, self._seat = who, offset
        elif kind == "assign" and who == self.assigner and offset_of(record["seat"]) == self._seat:
            for named, partitions in record["to"].items():
                self.designees.update(dict.fromkeys(numbers(partitions), named))


def read_or_none(lane):
    """Reads on; None where log 0 is away just now."""
    try:
        return lane.read()
    except AdminError:
        return None
