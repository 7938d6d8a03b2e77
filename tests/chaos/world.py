"""What the faults act upon: six seats with an owner each, the brokers, and the script's own log."""
import json
import random
import threading
import time
from pathlib import Path

from harness.children import boot_now, wait_until
from harness.metrics import metric

import cluster
import network

SEATS = 6
REST_LIMIT = 60.0  # who has not come to rest by then has a problem with living, not with speed
STALL = 0.05
# For how long who was taken for dead is given nothing (A1), and who did not lead what it was named
# for nothing in that log (A5), the first time.
PENALTY_SESSIONS = 10
BAN = 60.0
# How long an owner of a warm run may take for each of its two steps, and how many never end one.
PREPARE_TIMEOUT = 0.6
NEVER = 0.25
COUNTS = (("deaths", "neliroute_member_deaths_total"),
          ("false deaths", "neliroute_member_false_deaths_total"))


class ScriptLog:
    """What was done to whom, a JSON object a line; `boot` is the clock of all other logs."""

    def __init__(self, path):
        self.path = Path(path)
        self._file = open(path, "w", encoding="utf-8")  # open for as long as the run lasts
        self._count = 0

    def number(self):
        """A number for one more fault."""
        self._count += 1
        return self._count

    def write(self, boot=None, **row):
        """A line; its instant is now unless it is given."""
        row = {"boot": round(boot_now() if boot is None else boot, 6), **row}
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def close(self):
        """No line comes after."""
        self._file.close()


class StallWatch:
    """Notes when this machine let a sleeper of 5 ms oversleep: what no process can be blamed for.

    Only reported beside the findings; nothing is excused by it.
    """

    def __init__(self):
        self.rows = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not self._enough.is_set():
            before = boot_now()
            time.sleep(0.005)
            late = boot_now() - before - 0.005
            if late > STALL:
                self.rows.append([round(before, 4), round(late, 4)])

    def close(self):
        """What it saw."""
        self._enough.set()
        self._thread.join()
        return self.rows


class World:
    """The run's state. Random choices come from one seeded source; times are the machine's."""

    def __init__(self, folder, brokers, fleet, log, options):
        self.assigned = fleet.assigned
        self.warm = options.warm
        self.cluster, self.fleet, self.log = brokers, fleet, log
        self.random = random.Random(options.seed)
        self.seats = [network.Seat(i + 1, folder) for i in range(SEATS)]
        self.at = {}  # seat's name -> its owner
        self.facts = {}

    def sit_down(self, seat):
        """A new owner on that seat."""
        owner = self.fleet.start(name=seat.name, prefix=seat.prefix(), json=True, timeout="120s",
                                 http="0" if self.assigned else None, **self.warmth(seat))
        self.at[seat.name] = owner
        self.log.write(owner.started, what="started", owner=owner.key)
        return owner

    def warmth(self, seat):
        """How long the next owner there prepares and warms up: some too long, some for ever."""
        if not self.warm:
            return {}
        steps = {name: f"{1000 * self.magnitude(0.01, 1.5 * PREPARE_TIMEOUT):.0f}ms"
                 for name in ("prepare", "warm_up")}
        if self.random.random() < NEVER:
            steps[self.random.choice(sorted(steps))] = "60m"
        path = self.fleet.folder / f"{seat.name}-{len(self.fleet.owners) + 1}.warm"
        return {**steps, "prepare_timeout": f"{1000 * PREPARE_TIMEOUT:.0f}ms", "warm": path}

    def learn_facts(self):
        """The times in force, as an owner says itself; without a group there is no heartbeat."""
        row = self.fleet.said(self.fleet.owners[0])
        self.facts = {name: row[name] for name in
                      ("mode", "group_protocol", "partitions", "logs", "slots", "session_ms",
                       "heartbeat_ms", "hang_limit_ms", "interval_ms", "lease_ms",
                       "clock_error_ms") if name in row}
        self.facts["serves_on"] = self.facts["mode"] == "non_exclusive"  # by default
        if self.warm:
            self.facts["prepare_timeout_ms"] = round(1000 * PREPARE_TIMEOUT)
        return self.facts

    @property
    def lease(self):
        """T in seconds."""
        return self.facts["lease_ms"] / 1000

    @property
    def session(self):
        """The session in seconds, the group's or the members' own."""
        return self.facts["session_ms"] / 1000

    @property
    def unacknowledged(self):
        """For how long who reads nothing may still be heard by other members: two renewals, and a
        third for what is said at once, may be on their way (rule 3)."""
        return 3 * self.facts["interval_ms"] / 1000 if self.assigned else 0.0

    def assigner_seat(self):
        """Where the assigner sits; the lane is at rest, so there is one."""
        owner = self.fleet.assigner()
        return next(seat for seat in self.seats if self.at[seat.name] is owner)

    def note_touched(self, owners, logs, seconds, reads_anew):
        """A fault is over that lasted for so long: who was touched may have been taken for dead,
        and is given nothing for a while then."""
        if not self.assigned:
            return
        self.fleet.read_anew = self.fleet.read_anew or reads_anew
        by_log = 0 in logs and not owners
        if by_log or logs and owners or seconds > self.session / 2:
            penalty = max(PENALTY_SESSIONS * self.session, BAN if logs and owners else 0.0)
            self.fleet.excuse([owner for owner in self.fleet.live()
                               if by_log or owner.key in owners], penalty)

    def magnitude(self, least, most):
        """A time between these, every order of magnitude as likely as the others."""
        return least * (most / least) ** self.random.random()

    def hold(self, seconds):
        """A fault's length is a time by its nature; an owner that ends meanwhile is noticed."""
        until = boot_now() + seconds
        wait_until(lambda: self.fleet.refresh() or boot_now() >= until, seconds + 60, "time",
                   poll=0.05)

    def rest(self):
        """Until all brokers have everything and every owner leads what it is assigned."""
        self.cluster.wait_whole()
        return self.fleet.rest(REST_LIMIT)

    def arrange_apart(self):
        """One broker leads all logs, and another one coordinates the group, if there is one."""
        leaders = set(self.cluster.leaders())
        if not self.assigned and not self.cluster.apart():
            broker = self.random.choice(self.cluster.others(self.cluster.coordinator()))
        elif self.assigned and len(leaders) > 1:
            broker = self.random.choice(list(self.cluster.nodes))
        else:
            return
        self.arrange([broker] * cluster.LOGS)

    def arrange_alone(self, log):
        """One broker leads this log and no other one."""
        leaders = self.cluster.leaders()
        alone = leaders[log]
        elsewhere = self.cluster.others(alone)
        self.arrange([leader if leader != alone or other == log else self.random.choice(elsewhere)
                      for other, leader in enumerate(leaders)])

    def arrange(self, wanted):
        """These brokers lead the logs; moves what it takes."""
        moved = [log for log, leader in enumerate(self.cluster.leaders()) if leader != wanted[log]]
        if not moved:
            return
        number, began = self.log.number(), boot_now()
        for log in moved:
            self.cluster.move_log(log, wanted[log])
        self.log.write(began, what="begin", n=number, kind="leader_change", owners=[], logs=moved,
                       detail={"to": wanted, "skew_ms": self.cluster.skew_ms})
        self.log.write(what="end", n=number)
        self.note_touched([], moved, boot_now() - began, True)
        self.rest()
        self.log.write(what="rest", n=number)

    def counts(self):
        """What the living owners counted of their lane, for the report."""
        found = {}
        for seat in self.seats if self.assigned else ():
            owner = self.at[seat.name]
            try:
                page = seat.fetch(f"http://{self.fleet.said(owner)['http']}/metrics")
            except RuntimeError:
                continue  # it has just died; the others' counts are worth having
            found[owner.key] = {shown: metric(page, name) for shown, name in COUNTS}
        return found

    def lives(self):
        """What is known of each owner's life, for the judge."""
        return {owner.key: {"started": owner.started, "pauses": owner.life.pauses,
                            "ended": owner.life.ended, "id": self.fleet.id_of(owner)}
                for owner in self.fleet.owners}

    def close(self):
        """Nothing of ours is mounted any more, so that the folder can be removed."""
        for seat in self.seats:
            seat.close()

    def all_logs(self):
        """Every log's number."""
        return cluster.ALL_LOGS
