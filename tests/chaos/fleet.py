"""The owners of a chaos run: when they are at rest, whoever assigns."""
from harness import checker
from harness.children import boot_now, wait_until
from harness.kafka_admin import AdminError
from harness.lane_log import LaneLog, read_or_none
from harness.process import Fleet, LineFile

PENALTY_MOST = 600.0  # A1; a ban may last longer (A5), and leaves a share in the other logs
READ_EVERY = 0.2
STORED_AND_READ = 0.5


class ChaosFleet(Fleet):
    """A lane whose group, or log 0, may be away while it is asked whether it is at rest.

    Where a member assigns, rest is: log 0 was heard of every owner since the question was put,
    everybody leads just what it is named for, a living owner holds the seat, shares are equal, and
    nothing of that changed for long enough that no plan can be under way. Who may have been taken
    for dead is named for nothing for a while, and is excused for so long.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.assigned = self.defaults.get("assignment") == "assigner"
        self.lane = LaneLog(self.kafka.admin, self.defaults["topic"]) if self.assigned else None
        self.read_anew = True  # logs may be, since the last rest
        self._said = {}
        self._touched = {}   # owner -> how often
        self._excused = {}   # owner -> until when
        self._asked_at = 0   # where log 0 ended when rest was asked for
        self._read_next = 0.0
        self._as_it_is = (None, 0.0)  # what is led, and since when

    def said(self, owner):
        """What an owner said of itself when it had joined."""
        if owner.key not in self._said:
            output = LineFile(owner.output)

            def told():
                output.read()
                return next((row for row in output.rows if "lease_ms" in row), None)
            self._said[owner.key] = wait_until(told, 10, f"{owner.key}'s own words about itself")
        return self._said[owner.key]

    def id_of(self, owner):
        """Its id in records; None if it ended before it said so."""
        output = LineFile(owner.output)
        output.read()
        return next((row["id"] for row in output.rows if "id" in row), None)

    def assigner(self):
        """The living owner that assigns, by log 0; None: nobody."""
        read_or_none(self.lane)
        return next((owner for owner in self.live() if self.id_of(owner) == self.lane.assigner),
                    None)

    def excuse(self, owners, penalty):
        """These may have been taken for dead, or banned from a log, once more: each time for twice
        as long as the last one. Others may have counted one more than is known here."""
        for owner in owners:
            count = self._touched[owner.key] = self._touched.get(owner.key, 0) + 1
            self._excused[owner.key] = boot_now() + min(penalty * 2 ** count, PENALTY_MOST)

    def rest(self, timeout=60.0):
        if self.assigned:
            wait_until(lambda: read_or_none(self.lane) is not None, timeout, "log 0 is there")
            self._asked_at = self.lane.end()
        self._as_it_is = (None, 0.0)
        found = super().rest(timeout)
        self.read_anew = False
        return found

    def _at_rest(self):
        try:
            return super()._at_rest()
        except AdminError:
            return None

    def _assigned_rest(self, assignment):
        if boot_now() < self._read_next:
            return None
        self._read_next = boot_now() + READ_EVERY
        if read_or_none(self.lane) is None or not self._as_assigned(assignment):
            self._as_it_is = (None, 0.0)
            return None
        before, since = self._as_it_is
        if before != assignment:
            self._as_it_is = (assignment, boot_now())
            return None
        return assignment if boot_now() >= since + self._settled() else None

    def _settled(self):
        """What is not carried out is said again after two intervals, and stored and read. After a
        log was read anew no plan is made for up to four times a third of a session (A7)."""
        times = self.said(self.owners[0])
        waits = 4 / 3 * times["session_ms"] if self.read_anew else 0
        return (waits + 2 * times["interval_ms"]) / 1000 + STORED_AND_READ

    def _as_assigned(self, assignment):
        ids = {owner.key: self.said(owner)["id"] for owner in self.live()}
        heard = all(self.lane.heard.get(one, -1) >= self._asked_at for one in ids.values())
        named = all(ids.get(key) == self.lane.designees.get(partition)
                    for partition, key in assignment.items())
        return heard and named and self.lane.assigner in ids.values() and self._fair()

    def _fair(self):
        now = boot_now()
        counts = [len(owner.leading) for owner in self.live()
                  if self._excused.get(owner.key, 0.0) < now]
        return checker.balanced(counts)

    def describe(self):
        """Also what log 0 says."""
        if not self.assigned:
            return super().describe()
        lane = self.lane
        return (f"{super().describe()}\nassigner {lane.assigner}, asked at {self._asked_at}, heard "
                f"{lane.heard}, named {checker.describe(lane.designees)}")
