"""Records that no honest process of a lane writes: garbage, later versions, a member that is none.
"""
import json
import os

from .children import wait_until

LOGS = 4
PARTITIONS = range(32)
STRANGER = "feedfacefeedface"


def lparts_of(partitions):
    """Partitions of one log, as its records name them."""
    return ",".join(str(p // LOGS) for p in partitions)


def ranges_of_all():
    """All partitions, as records that assign name them."""
    return f"{PARTITIONS[0]}-{PARTITIONS[-1]}"


def newer_claim(lparts):
    """A claim of a version that nobody here knows: 2 KB, with a mode and fields of its own."""
    return {"v": 3, "t": "claim", "lane": 0, "id": STRANGER, "seq": 1, "inc": 0,
            "lparts": lparts, "lease_ms": 1000, "max_ms": 1000, "mode": "quorum", "by": "tomorrow",
            "at": "127.0.0.1:1", "quorum": {"of": [1, 2, 3], "proof": "x" * 1800}}


def garbage():
    """Records that are no claim, by their bytes, their size, their types or their shape; and some
    that say nothing about who assigns, though they seem to."""
    return [b"\xff\xfe\x00garbage", b"", None, "not json", "null", "[]", "7", '"claim"',
            '{"t":"claim"', "{}", {"t": "renewal"}, {"t": "renewal", "lparts": 7, "lane": "x"},
            {"t": ["claim"]}, {"t": "release", "id": 5, "lane": 0, "lparts": {"x": "y"}},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "inc": -1, "seq": 1e99,
             "lparts": {"99999999999999999999": "5-1"}, "lease_ms": "soon"},
            {"t": "renewal", "lane": 0, "id": "0" * 16, "lparts": {"0": "0-4294967295,-1"}},
            "[" * 20_000, '{"a":' * 10_000, os.urandom(900_000),
            '{"t":"renewal","by":"' + "y" * 900_000 + '"}', *assigners_garbage()]


def assigners_garbage():
    """Of the kinds that only members of a lane with an assigner read; obeyed, each of them would
    move something."""
    mine = {"v": 2, "lane": 0, "id": STRANGER, "seq": 1}
    assign, order = {**mine, "t": "assign"}, {**mine, "t": "wish"}
    listed = {**mine, "t": "wishes", "seat": "1:1", "upto": 1}
    seat = {**mine, "t": "seat_claim"}
    return [{"t": "seat_claim"}, {"t": "seat_claim", "lane": 0}, {**seat, "id": 5},
            {**seat, "lane": "0"}, {"t": "leave", "lane": 0}, {**mine, "t": "leave"},
            assign, {**assign, "seat": "1:1"}, {**assign, "seat": 7, "to": {}},
            {**assign, "seat": "99999999999999999999:-1", "to": {STRANGER: "0-31"}},
            {**assign, "seat": "1:1", "to": {"somebody": "0-31"}},
            {**assign, "seat": "1:1", "to": {STRANGER: "0-4294967295"}},
            order, {**order, "verb": ["cordon"]}, {**order, "verb": "explode", "name": "owner-1"},
            {**order, "verb": "cordon", "name": {"owner-1": 1}},
            {**order, "verb": "cordon", "name": "x" * 256},
            {**order, "verb": "weight", "name": "owner-1", "weight": 1001},
            {**order, "verb": "weight", "name": "owner-1", "weight": -1},
            {**order, "verb": "pin", "name": "owner-1", "parts": "0-65536"},
            {**order, "verb": "pin", "name": "owner-1", "parts": "31-0"},
            {**listed, "seat": None, "cordoned": ["owner-1"]},
            {**listed, "upto": -1, "cordoned": ["owner-1"]},
            {**listed, "cordoned": "owner-1"}, {**listed, "weights": {"owner-1": "none"}},
            {**listed, "pins": {"owner-1": "0-9", "owner-2": "9-31"}},
            {**listed, "moves_paused": "yes"},
            {**listed, "cordoned": ["owner-1", *(f"{i:0250}" for i in range(3000))]}]


class Impostor:
    """A member by its records: the lane's settings, its own id and session, and no partition."""

    def __init__(self, admin, topic, session_ms):
        self._admin, self._topic, self._count = admin, topic, 0
        row = [row for row in admin.read(topic, 0) if b'"member"' in (row["value"] or b"")][-1]
        # Junior to all others, as they refuse for a senior only.
        self._record = {**json.loads(row["value"]), "id": STRANGER, "by": "mallory",
                        "at": "127.0.0.1:666", "since": row["timestamp"], "lparts": {},
                        "leading": "", "draining": ""}
        self._record.pop("incs", None)
        self._member = {"session_ms": session_ms, "upto": row["offset"]}

    def renew(self):
        """Once more: it lives."""
        self.write("renewal", **{**self._record, "member": self._member})

    def write(self, kind, **fields):
        """A record under its id, or another one; its offset."""
        self._count += 1
        offset, = self._admin.produce(self._topic, 0, {
            "v": 2, "lane": 0, "id": STRANGER, **fields, "t": kind, "seq": self._count})
        return offset

    def take_seat(self):
        """Claims it, and says from now on that it assigns."""
        offset = self.write("seat_claim")
        row, = self._admin.read(self._topic, 0, offset, most=1)[:1]
        self._member.update(seat=f"{row['timestamp']}:{offset}", seat_by=STRANGER, assigning=True)
        self.renew()

    def assign(self, to):
        """All partitions to this id, by the seat that it took."""
        self.write("assign", seat=self._member["seat"], to={to: ranges_of_all()})

    def renew_until(self, condition, what):
        """It lives until then."""
        wait_until(lambda: (self.renew(), condition())[1], 30, what)
