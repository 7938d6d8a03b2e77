"""A group of owner processes that is disturbed repeatedly, each time from steady state."""
import os
import signal

from harness import checker
from harness.children import boot_now, wait_until
from harness.process import Fleet
from readbacks import Readbacks
from seat_watch import SeatWatch

# Others take over what one, or two, cannot lead any more.
TAKEN = ("kill", "stop", "cut", "hang", "pair", "machine")
PLANNED = ("leave", "join", "rolling")  # windows in which a move was planned


def peak(counts):
    """The greatest load over the mean: 1 is balanced."""
    counts = list(counts)
    return max(counts) * len(counts) / sum(counts)


class Group:
    """The processes, and what was measured on them.

    No witness: its millisecond polling would be measured. With `seats` every process has a link
    of its own, which can be cut. With `can_hang` a process can block its executor. If `metered`
    they serve metrics, which tell what claims took, and cost some processor time.
    """

    def __init__(self, kafka, folder, *, mode, processes, partitions, slots, settings, seats=(),
                 can_hang=False, metered=False):
        folder.mkdir(parents=True)
        self.kafka, self.mode, self.processes = kafka, mode, processes
        self.fleet = Fleet(kafka, folder, topic=folder.name.replace("_", "-"), mode=mode,
                           witness=False, partitions=partitions, slots=slots,
                           can_hang=can_hang, **(Readbacks.OPTIONS if metered else {}),
                           **settings)
        self._readbacks = Readbacks() if metered else None
        self.readback_ms = {event: [] for event in PLANNED}
        self.seat = SeatWatch(kafka, self.fleet.topic)
        self.state = {}
        self.moves, self.peaks, self.rolling_s = [], [], []
        self.taken = {event: [] for event in TAKEN}  # seconds
        self._windows = {event: [] for event in PLANNED}
        self._seats = list(seats)
        self._at = {}  # owner's key -> its seat

    def __enter__(self):
        try:
            for _ in range(self.processes):
                self._start()
            self._rest()
            self._read_back()
        except BaseException:
            self.fleet.end()
            raise
        return self

    def __exit__(self, *_):
        self.fleet.end()

    def _start(self, name=None, **options):
        """One more process, on a seat that is free."""
        taken = [self._at[owner.key] for owner in self.fleet.owners
                 if owner.key in self._at and owner.running()]
        seat = next((seat for seat in self._seats if seat not in taken), None)
        owner = self.fleet.start(name, prefix=seat.prefix() if seat else (), **options)
        if seat:
            self._at[owner.key] = seat
        return owner

    def _rest(self):
        """Waits for rest; how well the partitions are balanced then."""
        self.state = self.fleet.rest()
        self.peaks.append(peak(len(owner.leading) for owner in self.fleet.live() if owner.takes))

    def _settle(self, what):
        """Waits for rest, and notes moved against least; the assignments where they differ."""
        before = self.state
        self._rest()
        went, least = len(checker.moved(before, self.state)), checker.min_moves(
            before, set(self.state.values()))
        row = {"what": what, "moved": went, "least": least}
        if went != least:
            row.update(before=checker.describe(before), after=checker.describe(self.state))
        self.moves.append(row)

    def _join(self, what):
        """A new process joins."""
        began = boot_now()
        self._start()
        self._settle(what)
        self._windows["join"].append((began, boot_now()))
        self._read_back("join")

    def _led_again(self, victims, held, since):
        """Seconds until the last of the victims' partitions was acquired by others.

        Every partition has the same number of slots: all partitions led is every slot led.
        """
        first = {}
        seen = dict.fromkeys(self.fleet.owners, 0)

        def acquired():
            self.fleet.refresh()
            for owner in self.fleet.owners:
                rows = owner.events.rows
                for row in rows[seen[owner]:]:
                    if (owner not in victims and row["event"] == "acquired"
                            and row["boot"] > since and row["partition"] in held):
                        first.setdefault(row["partition"], row["boot"])
                seen[owner] = len(rows)
            return len(first) == len(held) and max(first.values())
        return wait_until(acquired, 60, self.fleet.describe) - since

    def _note(self, event, victims, held, since):
        """What became of the victims' partitions."""
        seconds = self._led_again(victims, held, since)
        self.taken[event].append(seconds)
        print(f"{event} {len(self.taken[event]) - 1}: every slot led again after "
              f"{seconds * 1000:.0f} ms", flush=True)

    def kills(self, count):
        """SIGKILL of the oldest, again and again, each replaced by a new one."""
        for turn in range(count):
            victim = self.fleet.live()[0]
            held = set(victim.leading)
            self._note("kill", [victim], held, victim.kill())
            self.fleet.wait_led()
            self._settle(f"kill {turn}")
            self._join(f"join {turn}")

    def stops(self, count):
        """SIGSTOP of one, woken when others lead what it led."""
        self._disturb_each("stop", count, lambda victim: (victim.stop(), victim.wake))

    def cuts(self, count):
        """The link of one is cut both ways, and mended when others lead what it led.

        The instant is read before the first rule is written, which takes about 10 ms.
        """
        hosts = [node.host for node in self.kafka.nodes]

        def cut(victim):
            since = boot_now()
            return since, self._at[victim.key].cut("both", hosts)
        self._disturb_each("cut", count, cut)

    def hangs(self, count):
        """The executor of one blocks, and goes on when others lead what it led."""
        self._disturb_each("hang", count, lambda victim: (victim.hang(), victim.go_on))

    def _disturb_each(self, kind, count, disturb):
        """One after the other: disturb(victim) returns since when, and what undoes it."""
        for turn in range(count):
            live = self.fleet.live()
            victim = live[turn % len(live)]
            held = set(victim.leading)
            since, undo = disturb(victim)
            try:
                self._note(kind, [victim], held, since)
            finally:
                undo()
            self._rest()

    def pairs(self, count):
        """SIGKILL of the assigner and of another owner at once, both replaced by new ones."""
        for turn in range(count):
            self._kill_pair("pair", turn)

    def machines(self, count):
        """The same, and the voter that leads at that moment: as if all were on one machine."""
        for turn in range(count):
            self._kill_pair("machine", turn, [self.kafka.leader(self.fleet.topic)])

    def _kill_pair(self, kind, turn, servers=()):
        live = self.fleet.live()
        assigner = self.seat.holder_of(live)
        victims = [assigner, next(owner for owner in live if owner is not assigner)]
        held = {partition for victim in victims for partition in victim.leading}
        since = boot_now()
        for victim in victims:
            victim.life.ended = boot_now()
            os.kill(victim.pid, signal.SIGKILL)
        for server in servers:
            self.kafka.stop_node(server)
        for victim in victims:
            victim.child.wait()
        self._note(kind, victims, held, since)
        if servers:
            self.kafka.start()
        self.fleet.wait_led()
        self._settle(f"{kind} {turn}")
        for _ in victims:
            self._join(f"join after {kind} {turn}")

    def leaves(self, count):
        """Planned leaves, each replaced by a new one."""
        for turn in range(count):
            began = boot_now()
            leaver = self.fleet.live()[0]
            leaver.leave()
            self._settle(f"leave {turn}")
            leaver.wait_exit()
            self._windows["leave"].append((began, boot_now()))
            self._read_back("leave")
            self._join(f"join after leave {turn}")

    def rollings(self, count):
        """Every process is restarted by its name, one after the other."""
        for _ in range(count):
            began = boot_now()
            for owner in self.fleet.live():
                owner.leave()
                owner.wait_exit()
                self._start(owner.name)
                self._rest()
                self._read_back("rolling")
            self._windows["rolling"].append((began, boot_now()))
            self.rolling_s.append(boot_now() - began)

    def _read_back(self, event=None):
        """What claims took since the last event, if the processes say so."""
        if not self._readbacks:
            return
        took = self._readbacks.mean_ms_since_last(self.fleet.live())
        if event and took is not None:
            self.readback_ms[event].append(took)

    def _handovers_ms(self, intervals, event):
        """How long each moved partition had no leader, in the windows of this event."""
        return [seconds * 1000 for window in self._windows[event]
                for _, seconds, _, _ in checker.handovers(intervals, *window)]

    def result(self):
        """All figures. Ends the processes: logs that still grow would be read at two instants."""
        report = self.fleet.report()
        exclusive = self.mode == "exclusive"
        handovers = {event: self._handovers_ms(report.intervals, event) if exclusive else []
                     for event in PLANNED}
        return {
            "taken_ms": {event: [s * 1000 for s in times] for event, times in self.taken.items()},
            # The longest time for which any partition had no leader, one figure an event.
            "gap_ms": {event: [max((found.seconds * 1000 for found in checker.gaps(
                report.intervals, self.fleet.partitions, *window)), default=0.0)
                for window in self._windows[event]] for event in PLANNED},
            "handover_gap_ms": [ms for event in PLANNED for ms in handovers[event]],
            "handover_by_ms": handovers,
            "readback_ms": self.readback_ms,
            "rolling_s": self.rolling_s, "moves": self.moves, "peaks": self.peaks,
            "violations": [str(found) for found in report.violations(exclusive=exclusive)]}
