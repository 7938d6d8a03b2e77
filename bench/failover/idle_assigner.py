"""An assigner that owns nothing (of weight 0), disturbed: nothing may be unowned, nothing may move,
another member must assign, and the next death must be healed.
"""
from group import Group
from harness import checker
from harness.children import boot_now, wait_until

IDLE = "idle"
LOGS = 4
# SIGKILL, SIGSTOP, and a link that drops what comes in, or what goes out.
WAYS = ("killed", "stopped", "cut in", "cut out")


class IdleAssigner(Group):
    """The first process has weight 0, and has the seat since it was alone."""

    def __enter__(self):
        try:
            self.kafka.admin.create_topic(self.fleet.defaults["topic"], LOGS)
            self.idle = self._start(IDLE, weight=0)
            wait_until(lambda: self.seat.holder() == IDLE, 30,
                       lambda: f"{IDLE} assigns\n{self.fleet.describe()}")
            return super().__enter__()
        except BaseException:
            self.fleet.end()
            raise

    def _disturb(self, way):
        """Returns what undoes it, and the instant before it."""
        since = boot_now()
        if way == "killed":
            self.idle.kill()
            return (lambda: None), since
        if way == "stopped":
            self.idle.stop()
            return self.idle.wake, since
        hosts = [node.host for node in self.kafka.nodes]
        return self._at[self.idle.key].cut(way.removeprefix("cut "), hosts), since

    def lose(self, way):
        """The disturbance, then the death of an owner while it lasts; the figures."""
        before = self.fleet.rest()
        undo, since = self._disturb(way)
        try:
            self.seat.wait_for_other(IDLE, 60)
            replaced = boot_now()
            moved = len(checker.moved(before, self.fleet.rest()))
            victim = next(owner for owner in self.fleet.live() if owner.takes)
            held = set(victim.leading)
            began = victim.kill()
            healed = self._led_again([victim, self.idle], held, began)
        finally:
            undo()
        report = self.fleet.report()
        gaps = checker.gaps(report.intervals, self.fleet.partitions, since, began)
        exclusive = self.mode == "exclusive"
        found = {"way": way, "replaced_ms": (replaced - since) * 1000, "moved": moved,
                 "gap_ms": max((gap.seconds * 1000 for gap in gaps), default=0.0),
                 "next_death_ms": healed * 1000,
                 "violations": [str(one) for one in report.violations(exclusive=exclusive)]}
        print(f"idle assigner {way}: another assigns after {found['replaced_ms']:.0f} ms, "
              f"{moved} moved, longest gap {found['gap_ms']:.0f} ms; the next death healed after "
              f"{found['next_death_ms']:.0f} ms", flush=True)
        return found
