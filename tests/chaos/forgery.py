"""Forged runs of two slots, for tests of the judge."""
import json
from pathlib import Path

import judge

FACTS = {"session_ms": 1000, "heartbeat_ms": 100, "hang_limit_ms": 2000, "lease_ms": 3000,
         "interval_ms": 100, "logs": 2, "partitions": 2}


class Forgery:
    """A run's folder, forged: slot 1 is led by the owner `other` all the time."""

    def __init__(self, folder, mode="non_exclusive", protocol="consumer", slow=1,
                 assignment="group", **facts):
        self.folder, self.mode, self.protocol = Path(folder), mode, protocol
        self.slow, self.assignment, self.facts = slow, assignment, {**FACTS, **facts}
        self.script = [{"boot": 0.0, "what": "chaos"}]
        self.lives, self.events, self.samples = {}, {}, {}
        self.faults = 0
        self.owner("other")
        self.led("other", 1, 0.0, None, 1)

    def owner(self, key, ended=None, pauses=(), started=0.0):
        """One more owner; its id is `id` and its name."""
        self.lives[key] = {"started": started, "ended": ended, "pauses": list(pauses),
                           "id": f"1d{key.encode().hex()}"}
        self.events[key], self.samples[key] = [], []

    def led(self, key, slot, start, stop, epoch, witnessed=True, reason="superseded"):
        """What the owner's log, and its witness, say of one ownership."""
        row = {"partition": slot, "lane": 0, "epoch": {"inc": 1, "offset": epoch}}
        sample = {"partition": slot}
        self.events[key].append({**row, "event": "acquired", "boot": start})
        if witnessed:
            self.samples[key].append({**sample, "owns": True, "boot": start, "prev": start})
        if stop is not None:
            self.events[key].append({**row, "event": "stopped", "boot": stop,
                                     "reason": reason})
            if witnessed:
                self.samples[key].append({**sample, "owns": False, "boot": stop, "prev": stop})

    def warmed_up(self, key, slot, at):
        """It began to."""
        with open(self.folder / f"{key}.warm", "a", encoding="utf-8") as file:
            file.write(json.dumps({"boot": at, "step": "warm_up", "partition": slot}) + "\n")

    def fault(self, kind, begin, end, owners=(), logs=(), rest=None, **detail):
        """A fault in the script's log."""
        self.faults += 1
        self.script += [{"boot": begin, "what": "begin", "n": self.faults, "kind": kind,
                         "owners": list(owners), "logs": list(logs), "detail": detail},
                        {"boot": end, "what": "end", "n": self.faults}]
        if rest is not None:
            self.script.append({"boot": rest, "what": "rest", "n": self.faults})

    def record(self, kind, who, at, offset, **fields):
        """A record of log 0 that was kept."""
        row = {"t": kind, "id": self.lives[who]["id"], "offset": offset, "stamp": 1000 * at}
        with open(self.folder / "assignments.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({**row, **fields}) + "\n")

    def named(self, who, by, at, partitions="0"):
        """An assignment by `by`, which claims the seat a moment before."""
        self.record("seat_claim", by, at - 0.001, int(at))
        self.record("assign", by, at, int(at) + 1, seat=f"1:{int(at)}",
                    to={self.lives[who]["id"]: partitions})

    def says(self, key, text):
        """A line of an owner's log for people."""
        with open(self.folder / f"{key}.err", "a", encoding="utf-8") as file:
            file.write(text + "\n")

    def judged(self, over=100.0):
        """What the judge says."""
        rows = sorted([*self.script, {"boot": over, "what": "over"}],
                      key=lambda row: row["boot"])
        self._lines("script.jsonl", rows)
        for key in self.lives:
            self._lines(f"{key}.events", self.events[key])
            self._lines(f"{key}.witness", self.samples[key])
        (self.folder / "run.json").write_text(json.dumps(
            {"mode": self.mode, "protocol": self.protocol, "kafka": "-", "seed": 1,
             "slow": self.slow, "assignment": self.assignment,
             "seconds": over, "facts": self.facts, "problem": "", "stalls": [],
             "lives": self.lives}), encoding="utf-8")
        return judge.judge(self.folder)

    def _lines(self, name, rows):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / name).write_text(text, encoding="utf-8")
