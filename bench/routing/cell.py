"""One run: a way, a move and a mode, from the start of its processes to the judged figures."""
import dataclasses
import os

import records
import verify
from busy import Busy
from cast import Cast, wait_for
from harness.children import boot_now
from moves import LETTERS, MOVES, OWNERS, SCALED, Stage
from ways import WAYS

WARM_S = 2.0  # of calls that no figure counts: connections are made meanwhile
BEFORE_S = 2.0  # of calls before the move, and
AFTER_S = 3.0  # after it
MOST_INTERVAL_MS = 500
IN_FLIGHT_S = 0.05  # a call begun so long after the victim's end cannot have been at it


@dataclasses.dataclass(frozen=True)
class Settings:
    """What all runs have in common, and the mode of this one."""
    rate: float
    keys: int
    partitions: int
    session_ms: int
    assignment: str
    seconds: float  # of a run in which nothing happens
    restarts: int  # of a rolling restart: 0 is all
    mode: str = "exclusive"
    round: int = 1
    outage_s: float = 0.0  # between the broker's stop and its start
    hang_s: float = 0.0  # of an owner, at least
    lease_ms: int = None  # as asked for: T follows from the session otherwise
    without_keys: int = 0  # percent of the calls that have no idempotency key

    def timing(self):
        """The owners' options."""
        intervals = [self.session_ms // 5, MOST_INTERVAL_MS]
        made = {}
        if self.lease_ms:
            intervals.append(self.lease_ms // 4)
            made["lease"] = f"{self.lease_ms}ms"
        made.update(interval=f"{min(intervals)}ms", assignment=self.assignment)
        if self.assignment == "assigner":
            made["session"] = f"{self.session_ms}ms"
        return made


class Cell:
    """A run on a broker that is there."""

    def __init__(self, kafka, folder, way, move, settings):
        self.kafka, self.way_name, self.move_name = kafka, way, move
        self.settings = settings
        self.folder = folder / f"{way}-{move}-{settings.mode}-{settings.round}".replace("_", "-")
        self.folder.mkdir()

    def run(self):
        """Its figures. What has not ended then is ended."""
        seats = SCALED[0] if self.move_name == "scale" else OWNERS
        kind = WAYS[self.way_name]
        logs = 1 if self.settings.assignment == "assigner" else self.settings.partitions
        self.kafka.admin.create_topic(self.folder.name, logs)
        cast = Cast(self.kafka, self.folder, self.settings, seats=seats, forwards=kind.forwards)
        way = kind(cast, self.settings)
        try:
            for seat in cast.seats[:OWNERS]:
                cast.start(seat)
            cast.fleet.rest()
            lease_ms = cast.lease_ms()
            way.start()
            stage, busy, said = self._play(cast, way)
        finally:
            way.end()
            cast.end()
        return {**self._judged(stage, said, cast.store.saved, lease_ms), "busy": busy}

    def _play(self, cast, way):
        load = way.load()
        try:
            stage = Stage(self.kafka, cast, way, load, self.settings)
            wait_for(WARM_S)
            began = boot_now()
            busy = Busy(self._roles(cast, way, load))
            wait_for(BEFORE_S)
            MOVES[self.move_name](stage)
            wait_for(AFTER_S)
            used = busy.after()
            said = load.stop()
        finally:
            load.end(grace=0)
        stage.found["began"] = began
        return stage, used, said

    def _roles(self, cast, way, load):
        seats = [seat for seat in cast.seats if seat.running()]
        return {"load": [load.pid], "store": [cast.store.pid],
                "owners": [seat.owner.pid for seat in seats],
                "applications": [seat.application.pid for seat in seats if seat.application],
                "between": [one.pid for one in way.between],
                "kafka": [node.child.pid for node in self.kafka.nodes], "driver": [os.getpid()]}

    def _judged(self, stage, said, store, lease_ms):
        calls = records.read(stage.load.saved)
        began = stage.found.pop("began")
        counted = [one for one in calls if one.due >= began]
        marks = [{"at": mark.at - began, "what": mark.what} for mark in stage.marks]
        return {"way": self.way_name, "move": self.move_name, "letter": LETTERS[self.move_name],
                **{**dataclasses.asdict(self.settings), "lease_ms": lease_ms},
                "rate_asked": self.settings.rate, **records.totals(counted), **stage.found,
                **self._of_victim(stage, counted, said["targets"]),
                "values": verify.check(calls, *verify.read_store(store)),
                "refusals": [{"at": calls[one["call"]].due - began, **one}
                             for one in said["refusals"]],
                "marks": marks, "series": records.series(counted, began)}

    def _of_victim(self, stage, calls, targets):
        """Which failures the victim explains, and how long there were any."""
        if stage.victim_endpoint is None:
            return {}
        number = -1
        if stage.way.owners_are_targets and stage.victim_endpoint in targets:
            number = targets.index(stage.victim_endpoint)

        def explained(one):
            return (one.slot % self.settings.partitions in stage.held
                    or number in (one.first_target, one.last_target))
        since = stage.marks[0].at
        failed = [one for one in calls if one.outcome != records.SERVED]
        dues = [one.due - since for one in failed]
        # In flight at the victim when it went, as far as one can see: begun before.
        late = [one for one in failed if one.keyless
                and one.due + one.late_us / 1e6 > since + IN_FLIGHT_S]
        return {"failed_elsewhere": sum(not explained(one) for one in failed),
                "failed_with_key": sum(not one.keyless for one in failed),
                "failed_without_key_later": len(late),
                "failed_beyond_bound": sum(due > stage.found["bound_s"] for due in dues),
                "last_failed_due_s": max(dues, default=None)}


def failed(way, move, settings, why):
    """A run that did not come to its end."""
    return {"way": way, "move": move, "letter": LETTERS[move], **dataclasses.asdict(settings),
            "problem": why}
