"""A group as the slot page sees it, made up: what /v1/slots, /v1/events and /v1/route would tell.

It stands in for real processes where those cannot be had: 65,536 partitions of 2,000 owners, a
ledger that is away for exactly as long as a test looks. What it tells has the admin port's form.
"""
import binascii
import collections
import hashlib
import queue
import threading
import time

UNKNOWN, UNOWNED, LOCAL, REMOTE = range(4)
VERDICTS = ("unknown", "unowned", "local", "remote")
NOBODY = -1


def hash_tag(key):
    """The part of the key between the first '{' and the '}' after it, or None."""
    start = key.find(b"{")
    end = key.find(b"}", start + 1)
    return key[start + 1:end] if start >= 0 and end > start + 1 else None


class World:
    """Everything is told to all listeners in the order in which it happens."""

    def __init__(self, slots, partitions, names=(), me=0):
        self.lock = threading.RLock()
        self.listeners = []
        self.slots, self.partitions, self.me = slots, partitions, me
        self.settings = {
            "group": "pricing", "topic": "neliroute", "lane": 0, "mode": "non_exclusive",
            "logs": min(4, partitions), "hash": "crc16+tags", "interval_ms": 500,
            "lease_ms": 9000}
        self.processes = []
        self.owner = [NOBODY] * partitions
        self.next = [NOBODY] * partitions
        self.draining = [0] * partitions
        self.designee = [NOBODY] * partitions
        self.overrides = {"cordoned": [], "weights": {}, "pins": {}, "moves_paused": False}
        self.assignment = None  # of a process that assigns: since when, which, what members say
        self.hold = None  # what comes between an answer to a lookup and its way to the page
        self.epoch = [None] * partitions
        self.since = [time.monotonic()] * partitions
        self.heard = [True] * partitions
        self.version = 1
        self.offset = 4000
        self.silent_since = None
        self.told = self.joined = 0
        self.mute_since = {}
        self.requests = {"source": "none"}
        self.moves = {"reach_ms": 0, "processes": [], "moves": []}
        for name in names:
            self.join(name)

    # --- What happens ---------------------------------------------------------------------------

    def join(self, name, endpoint=None, **tags):
        """A process is heard of; its index. It owns nothing yet."""
        with self.lock:
            index = len(self.processes)
            self.joined += 1
            self.processes.append({
                "name": name, "id": hashlib.blake2b(f"{name} {self.joined}".encode(),
                                                    digest_size=8).hexdigest(),
                "endpoint": endpoint or f"10.0.{index // 250}.{index % 250 + 1}:7400",
                "tags": tags})
            return index

    def renumber(self):
        """Whoever owns nothing is no longer listed: the whole view is told anew."""
        with self.lock:
            listed = sorted({self.me, *self.owner, *self.next} - {NOBODY})
            place = {index: new for new, index in enumerate(listed)} | {NOBODY: NOBODY}
            self.processes = [self.processes[index] for index in listed]
            self.owner = [place[index] for index in self.owner]
            self.next = [place[index] for index in self.next]
            self.me = place[self.me]
            self.mute_since = {place[index]: since for index, since in self.mute_since.items()
                               if index in place}
            self.told = len(self.processes)
            self.version += 1
            self._send("view", self.whole())

    def share_out(self, owners=None, age=0.0):
        """Equal shares for these owners; moves no more than that takes."""
        owners = list(range(len(self.processes))) if owners is None else owners
        least, more = divmod(self.partitions, len(owners))
        room = {owner: least + (place < more) for place, owner in enumerate(owners)}
        homeless = []
        for partition, owner in enumerate(self.owner):
            if room.get(owner, 0) > 0:
                room[owner] -= 1
            else:
                homeless.append(partition)
        moved = {}
        for owner, places in room.items():
            moved[owner] = homeless[:places]
            del homeless[:places]
        with self.lock:
            changed = [partition for owner, partitions in moved.items()
                       for partition in self._give(partitions, owner, age)]
            self.tell(changed)
        return changed

    def give(self, partitions, owner):
        """These partitions have a new owner."""
        with self.lock:
            self.tell(self._give(partitions, owner, 0.0))

    def _give(self, partitions, owner, age):
        for partition in partitions:
            self.offset += 1
            self.owner[partition] = owner
            self.next[partition], self.draining[partition] = NOBODY, 0
            self.epoch[partition] = (1763800000123, self.offset)
            self.since[partition] = time.monotonic() - age
        return partitions

    def owned_by(self, owner):
        return [partition for partition, has in enumerate(self.owner) if has == owner]

    def kill(self, owner):
        """What it owned has no owner from now on; the partitions."""
        with self.lock:
            lost = self.owned_by(owner)
            for partition in lost:
                self.owner[partition], self.epoch[partition] = NOBODY, None
                self.next[partition], self.draining[partition] = NOBODY, 0
                self.since[partition] = time.monotonic()
            self.tell(lost)
            return lost

    def drain(self, partitions, successor):
        """They are on their way to a successor, who has claimed them."""
        with self.lock:
            for partition in partitions:
                self.draining[partition], self.next[partition] = 1, successor
            self.tell(partitions)

    def fall_mute(self, owner):
        """It renews no more; its lease has not ended yet."""
        self.mute_since[owner] = time.monotonic()

    def forget(self):
        """Nothing is known of any partition: every lease has ended while the ledger was silent."""
        with self.lock:
            self.heard = [False] * self.partitions
            self.tell(range(self.partitions))

    def fall_silent(self):
        with self.lock:
            self.silent_since = time.monotonic()
            self._send("age", self.age())

    def answer_again(self):
        with self.lock:
            self.silent_since = None
            self.heard = [True] * self.partitions
            self.tell(range(self.partitions))

    def did(self, event, partition, reason=None):
        """A line of `run --events` of the process that answers."""
        inc, offset = self.epoch[partition]
        line = {"at": time.time(), "boot": time.monotonic(), "event": event,
                "process": self.processes[self.me]["name"], "partition": partition, "lane": 0,
                "epoch": {"inc": inc, "offset": offset}, "mode": "non_exclusive"}
        self._send("transition", line | ({"reason": reason} if reason else {}))

    # --- Where a process assigns ----------------------------------------------------------------

    def assign(self, assigner, age=0.0, assigning=True, **changed):
        """It assigns from now on; changed: of members, by index as in m1, what they now say."""
        with self.lock:
            begun = self.assignment or {"members": {}}
            self.assignment = begun | {"assigner": assigner, "since": time.time() - age,
                                       "assigning": assigning}
            self.say_members({int(which[1:]): says for which, says in changed.items()})

    def say_members(self, changed, gone=()):
        """Members that are new or say something else; and those of which nothing is known now."""
        with self.lock:
            members = self.assignment["members"]
            for index, says in changed.items():
                members[index] = {"state": "living", "session_ms": 3000, "weight": 1,
                                  "cordoned": False} | members.get(index, {}) | says
            for index in gone:
                del members[index]
            self._send("assignment", self.who_assigns(changed, gone))

    def who_assigns(self, members, gone=(), whole=False):
        """The event, with these members."""
        assigner = self.assignment["assigner"]
        return {"at": time.time(), "source": "assigner", "whole": whole,
                "overrides": self.overrides,
                "assigner": None if assigner is None else self.processes[assigner] | {
                    "since": self.assignment["since"], "assigning": self.assignment["assigning"],
                    "seat": {"inc": 1763800000000, "offset": 7}},
                "members": [self.processes[index] | self.assignment["members"][index]
                            for index in members],
                "gone": [self.processes[index]["id"] for index in gone]}

    def designate(self, partitions, index):
        """They are to be this process's; NOBODY: whoever has them."""
        with self.lock:
            for partition in partitions:
                self.designee[partition] = index
            self.tell(partitions)

    # --- What is told ---------------------------------------------------------------------------

    def verdict(self, partition):
        if not self.heard[partition]:
            return UNKNOWN
        owner = self.owner[partition]
        return UNOWNED if owner == NOBODY else LOCAL if owner == self.me else REMOTE

    def row(self, partition):
        verdict = self.verdict(partition)
        owned = verdict in (LOCAL, REMOTE)
        inc, offset = self.epoch[partition] if owned else (None, None)
        since = round(1000 * (time.monotonic() - self.since[partition]))
        designee = self.designee[partition]
        return [verdict, self.owner[partition] if owned else NOBODY, self.next[partition],
                self.draining[partition], inc, offset, since,
                *([] if designee in (NOBODY, self.owner[partition]) else [designee])]

    def age(self):
        silent = self.silent_since
        return {"at": time.time(), "version": self.version,
                "age_ms": 40 if silent is None else round(1000 * (time.monotonic() - silent)) + 40,
                "ready": all(self.heard), "ledger": "answering" if silent is None else "silent"}

    def digest(self):
        rows = [(self.processes[owner]["id"] if owner >= 0 else None, epoch)
                for owner, epoch in zip(self.owner, self.epoch)]
        return hashlib.blake2b(repr(rows).encode(), digest_size=8).hexdigest()

    def whole(self):
        with self.lock:
            me = self.processes[self.me] if self.processes else {"name": "watcher-1"}
            return (self.settings | self.age()
                    | {"process": me["name"], "slots": self.slots, "partitions": self.partitions,
                       "digest": self.digest(), "processes": list(self.processes),
                       "view": [self.row(partition) for partition in range(self.partitions)]}
                    | ({"id": me["id"]} if "id" in me else {}))

    def tell(self, partitions):
        with self.lock:
            self.version += 1
            known, self.told = self.told, len(self.processes)
            self._send("changed", self.age() | {
                "digest": self.digest(),
                "processes": [{"index": index, **self.processes[index]}
                              for index in range(known, self.told)],
                "view": [[partition, *self.row(partition)] for partition in partitions]})

    def _send(self, event, data):
        with self.lock:
            for listener in self.listeners:
                listener.put((event, data))

    def listen(self):
        """A queue of (event, data), the first of which is the whole view."""
        with self.lock:
            self.told = len(self.processes)
            listener = queue.SimpleQueue()
            listener.put(("view", self.whole()))
            if self.assignment:
                listener.put(("assignment",
                              self.who_assigns(self.assignment["members"], whole=True)))
            listener.put(("moves", self.moves))
            self.listeners.append(listener)
            return listener

    def stop_listening(self, listener):
        with self.lock:
            self.listeners.remove(listener)

    def who_owns_how_much(self):
        """As /v1/processes answers."""
        with self.lock:
            each = self.slots // self.partitions  # worlds here are even
            held = collections.Counter(self.owner)
            leaving = collections.Counter(owner for owner, draining
                                          in zip(self.owner, self.draining) if draining)
            fair = self.slots / max(1, len({*self.owner, *self.next} - {NOBODY}))
            coming = {*self.next}
            return {"at": time.time(), "fair_slots": fair, "processes": [
                process | {"partitions": held[index], "slots": each * held[index],
                           "draining": each * leaving[index], "fair_slots": fair,
                           "oldest_ms": self._heard(index) if index in held else 0}
                for index, process in enumerate(self.processes)
                if index in held or index in coming or index == self.me]}

    def count(self, **requests):
        """What becomes of so many more requests."""
        with self.lock:
            before = self.requests
            self.requests = {"source": before["source"]} | {
                kind: before.get(kind, 0) + requests.get(kind, 0)
                for kind in {**before, **requests} if kind != "source"}

    def what_became_of_requests(self):
        """As /v1/requests answers."""
        with self.lock:
            me = self.processes[self.me] if self.processes else {"name": "watcher-1"}
            return {"at": time.time(), "process": me["name"], **self.requests}

    def _heard(self, index):
        """How long ago: at most an interval, unless it or the ledger says nothing."""
        quiet_since = [since for since in (self.mute_since.get(index), self.silent_since) if since]
        quiet = time.monotonic() - min(quiet_since) if quiet_since else 0
        return round(1000 * quiet) + (40 + 137 * index) % self.settings["interval_ms"]

    def route(self, key=None, slot=None):
        """As /v1/route answers, after `hold` if there is one: the answer may be old by then."""
        answer = self.route_now(key, slot)
        if self.hold:
            self.hold()
        return answer

    def route_now(self, key, slot):
        """As everything is at this moment."""
        answer = {}
        if key is not None:
            tag = hash_tag(key)
            value = binascii.crc_hqx(key if tag is None else tag, 0)
            slot = value % self.slots
            answer = {"key": key.decode(), "hash": self.settings["hash"],
                      "hash_value": f"{value:016x}"}
            if tag is not None:
                answer["tag"] = tag.decode()
        with self.lock:
            partition = slot % self.partitions
            row = self.row(partition)
            verdict, owner, successor, draining, inc, offset, _ = row[:7]
            answer |= {"slot": slot, "partition": partition, "verdict": VERDICTS[verdict]}
            if owner >= 0:
                process = self.processes[owner]
                answer |= {"owner": process["name"], "id": process["id"],
                           "endpoint": process["endpoint"], "valid_for_ms": 8700,
                           "epoch": {"inc": inc, "offset": offset}, "draining": bool(draining)}
            if successor >= 0:
                answer |= {"next_owner": self.processes[successor]["name"],
                           "next_endpoint": self.processes[successor]["endpoint"]}
            if self.assignment:
                answer |= {"assigner": self.processes[self.assignment["assigner"]]["name"]}
            if len(row) > 7:
                answer |= {"designee": self.processes[row[7]]["name"]}
        return answer
