"""What happens while the calls go on: each move marks what it does, and says what it found."""
import dataclasses

from cast import wait_for
from hanging import Hung
from harness import checker
from harness.children import boot_now

OWNERS = 6
SCALED = (12, 3)  # owners, after the first six
SETTLE_S = 1.0  # after others took over, before a victim goes on


@dataclasses.dataclass
class Mark:
    """An instant of CLOCK_BOOTTIME, for the picture."""
    at: float
    what: str


class Stage:
    """The running processes, and what was marked."""

    def __init__(self, kafka, cast, way, load, settings):
        self.kafka, self.cast, self.way, self.load = kafka, cast, way, load
        self.settings = settings
        self.marks = []
        self.found = {}
        self.victim_endpoint = None
        self.held = set()

    def mark(self, what, at=None):
        """Something happens now."""
        self.marks.append(Mark(boot_now() if at is None else at, what))
        print(f"    {what}", flush=True)
        return self.marks[-1].at

    def tell_load(self):
        """The owners that there are, as a balancer knows them."""
        if self.way.owners_are_targets and self.way.forwards:
            self.load.choose_from(self.cast.endpoints())

    def victim(self):
        """A seat in the middle, and notes what it leads."""
        seat = self.cast.seats[1]
        seat.owner.refresh()
        self.held = set(seat.owner.leading)
        self.victim_endpoint = seat.endpoint
        return seat

    def moved(self, before, after):
        """Adds what moved, and the least that had to."""
        counts = self.found.setdefault("moves", {"moved": 0, "least": 0})
        counts["moved"] += len(checker.moved(before, after))
        counts["least"] += checker.min_moves(before, set(after.values()))


def rest(stage):
    """(a) Nothing happens."""
    wait_for(stage.settings.seconds)


def rolling(stage):
    """(b) Every owner is restarted in turn; callers are not told."""
    state = stage.cast.fleet.rest()
    for seat in stage.cast.seats[:stage.settings.restarts or OWNERS]:
        stage.mark(f"{seat.name} leaves")
        stage.cast.leave(seat)
        without = stage.cast.fleet.rest()
        stage.moved(state, without)
        stage.mark(f"{seat.name} back")
        stage.cast.start(seat)
        state = stage.cast.fleet.rest()
        stage.moved(without, state)


def kill(stage):
    """(c) SIGKILL of an owner and its application."""
    seat = stage.victim()
    at = stage.mark(f"{seat.name} killed", stage.cast.kill(seat))
    stage.found["taken_over_s"] = stage.cast.wait_taken(seat.owner, stage.held, at)
    stage.mark("taken over", at + stage.found["taken_over_s"])
    stage.found["bound_s"] = 1.3 * stage.settings.session_ms / 1000
    wait_for(SETTLE_S)


def broker(stage):
    """(d) The broker is restarted, in order; it may be away for longer than that takes."""
    at = stage.mark("broker stops")
    stage.kafka.stop()
    wait_for(stage.settings.outage_s)
    stage.kafka.start()
    stage.found["outage_s"] = stage.mark("broker back") - at
    stage.cast.fleet.rest()
    stage.mark("at rest")


def scale(stage):
    """(e) Six more join at once, then all but three leave at once. The balancer of way `any` knows
    one that joined once it leads, and forgets one when it begins to leave."""
    cast = stage.cast
    most, least = SCALED
    state = cast.fleet.rest()
    stage.mark(f"{most - OWNERS} join")
    for seat in cast.seats[OWNERS:most]:
        cast.start(seat)
    grown = cast.fleet.rest()
    stage.moved(state, grown)
    stage.tell_load()
    stage.mark(f"{most} lead")
    wait_for(SETTLE_S)
    stage.mark(f"{most - least} leave")
    leaving = cast.seats[least:most]
    if stage.way.owners_are_targets and stage.way.forwards:
        stage.load.choose_from([seat.endpoint for seat in cast.seats[:least]])
    cast.leave(*leaving)
    shrunk = cast.fleet.rest()
    stage.moved(grown, shrunk)
    stage.mark(f"{least} lead")


def _until_taken(stage, seat, since):
    """Others have taken over, and some time; then what ends it. In seconds.

    By default the victim goes on before a call that it holds could fail beyond the bound. A call
    gets its answer, or none, after 15 s at most, so with --hang 25 such a call shows.
    """
    stage.found["taken_over_s"] = stage.cast.wait_taken(seat.owner, stage.held, since)
    stage.mark("taken over", since + stage.found["taken_over_s"])
    stage.found["bound_s"] = 2 * max(stage.settings.session_ms / 1000, 2.0)
    wait_for(max(SETTLE_S, since + stage.settings.hang_s - boot_now()))


def hang(stage):
    """(f) One owner's executor hangs: its router does nothing, and its other threads go on."""
    seat = stage.victim()
    hung = Hung(seat.owner.pid)
    seat.owner.hung = True
    stage.mark(f"{seat.name} hangs", hung.since)
    try:
        _until_taken(stage, seat, hung.since)
    finally:
        stage.mark("goes on", hung.go_on())
        seat.owner.hung = False
    stage.cast.fleet.rest()
    stage.mark("at rest")


def stop(stage):
    """(f) The same by SIGSTOP: all of the owner's process stops, and its connections are silent."""
    seat = stage.victim()
    since = stage.mark(f"{seat.name} stopped", seat.owner.stop())
    try:
        _until_taken(stage, seat, since)
    finally:
        stage.mark("goes on", seat.owner.wake())
    stage.cast.fleet.rest()
    stage.mark("at rest")


MOVES = {"rest": rest, "rolling": rolling, "kill": kill, "broker": broker, "scale": scale,
         "hang": hang, "stop": stop}
LETTERS = {"rest": "a", "rolling": "b", "kill": "c", "broker": "d", "scale": "e", "hang": "f",
           "stop": "f"}
