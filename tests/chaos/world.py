"""What the faults act upon: six seats with an owner each, the brokers, and the script's own log."""
import json
import random
import threading
import time
from pathlib import Path

from harness.children import boot_now, wait_until
from harness.kafka_admin import AdminError
from harness.process import Fleet, LineFile

import cluster
import network

SEATS = 6
REST_LIMIT = 60.0  # who has not come to rest by then has a problem with living, not with speed
STALL = 0.05


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


class ChaosFleet(Fleet):
    """A group whose coordinator may be away while it is asked whether it is at rest."""

    def _at_rest(self):
        try:
            return super()._at_rest()
        except AdminError:
            return None


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

    def __init__(self, folder, brokers, fleet, log, seed):
        self.cluster, self.fleet, self.log = brokers, fleet, log
        self.random = random.Random(seed)
        self.seats = [network.Seat(i + 1, folder) for i in range(SEATS)]
        self.at = {}  # seat's name -> its owner
        self.facts = {}

    def sit_down(self, seat):
        """A new owner on that seat."""
        owner = self.fleet.start(name=seat.name, prefix=seat.prefix(), json=True, timeout="120s")
        self.at[seat.name] = owner
        self.log.write(owner.started, what="started", owner=owner.key)
        return owner

    def learn_facts(self):
        """The times in force, as an owner says itself."""
        said = LineFile(self.fleet.owners[0].output)

        def told():
            said.read()
            return next((row for row in said.rows if "lease_ms" in row), None)
        row = wait_until(told, 10, "an owner's own words about its times")
        self.facts = {name: row[name] for name in
                      ("mode", "group_protocol", "partitions", "logs", "slots", "session_ms",
                       "heartbeat_ms", "hang_limit_ms", "interval_ms", "lease_ms",
                       "clock_error_ms")}
        return self.facts

    @property
    def lease(self):
        """T in seconds."""
        return self.facts["lease_ms"] / 1000

    @property
    def session(self):
        """The group's session in seconds."""
        return self.facts["session_ms"] / 1000

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
        """One broker coordinates, another one leads all logs; moves what it takes."""
        if self.cluster.apart():
            return
        number, began = self.log.number(), boot_now()
        broker = self.random.choice(self.cluster.others(self.cluster.coordinator()))
        moved = [log for log, leader in enumerate(self.cluster.leaders()) if leader != broker]
        for log in moved:
            self.cluster.move_log(log, broker)
        self.log.write(began, what="begin", n=number, kind="leader_change", owners=[], logs=moved,
                       detail={"to": broker, "skew_ms": self.cluster.skew_ms})
        self.log.write(what="end", n=number)
        self.rest()
        self.log.write(what="rest", n=number)

    def lives(self):
        """What is known of each owner's life, for the judge."""
        return {owner.key: {"started": owner.started, "pauses": owner.life.pauses,
                            "ended": owner.life.ended}
                for owner in self.fleet.owners}

    def close(self):
        """Nothing of ours is mounted any more, so that the folder can be removed."""
        for seat in self.seats:
            seat.close()

    def all_logs(self):
        """Every log's number."""
        return cluster.ALL_LOGS
