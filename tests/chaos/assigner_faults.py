"""The kinds of faults where a member assigns: what befalls the assigner, and log 0."""
import faults
from faults import Fault, ProcessFault


class OfAssigner:
    """Touches who assigns just now; log 0 tells who that is while all is at rest."""
    at_rest = True

    def choose(self, seats):
        """No choice: it is the assigner's seat."""
        super().choose([self.world.assigner_seat()])


class AssignerKill(OfAssigner, faults.Kill):
    """The assigner alone dies."""
    kind = "assigner_kill"


class AssignerPause(OfAssigner, faults.Pause):
    """It is stopped, and believes for a moment that it still assigns when it goes on."""
    kind = "assigner_pause"


class AssignerCutIn(OfAssigner, faults.CutIn):
    """It writes, and does not read."""
    kind = "assigner_cut_in"


class AssignerCutOut(OfAssigner, faults.CutOut):
    """It reads, and does not write."""
    kind = "assigner_cut_out"


class AssignerLeave(OfAssigner, faults.Leave):
    """It hands over its slots and the seat."""
    kind = "assigner_leave"


class KillSeveral(Fault):
    """SIGKILL for several at once; others sit down later."""
    reads_anew = False
    seats = ()

    def begin(self):
        for seat in self.seats:
            self.world.at[seat.name].kill()

    def end(self):
        for seat in self.seats:
            self.world.sit_down(seat)

    def take(self, seats):
        """These it is."""
        self.seats = seats
        self.owners = [self.world.at[seat.name].key for seat in seats]


class AssignerAndOwner(KillSeveral):
    """The assigner and another owner at once: two of six do not count as many (A9)."""
    kind = "assigner_and_owner"
    at_rest = True

    def choose(self, seats):
        assigner = self.world.assigner_seat()
        others = [seat for seat in seats if seat is not assigner]
        self.take([assigner, self.world.random.choice(others)])


class ManyKilled(KillSeveral):
    """Half of the owners at once, the assigner perhaps among them."""
    kind = "many_killed"

    def choose(self, seats):
        self.take(self.world.random.sample(seats, len(seats) // 2))

    def hold(self):
        """Long enough that all are taken for dead before others sit down: then they are many."""
        return max(super().hold(), 1.5 * self.world.session)


class CutLog0(faults.CutCoordinator):
    """One owner is cut off from log 0 alone, either way or both: the lane takes it for dead."""
    kind = "cut_log0"
    log = 0

    def choose(self, seats):
        self.world.arrange_alone(self.log)
        ProcessFault.choose(self, seats)

    def broker_cut(self):
        return self.world.cluster.leaders()[self.log]


class CutOtherLog(CutLog0):
    """The same of another log: the lane sees it live, and that it does not lead there (A5)."""
    kind = "cut_other_log"

    def choose(self, seats):
        self.log = self.world.random.choice(self.world.all_logs()[1:])
        super().choose(seats)
        assigner = self.world.assigner_seat()
        if self.world.random.random() < 0.3:
            ProcessFault.choose(self, [assigner])
        self.logs = [self.log]
        self.detail = {"assigns": self.seat is assigner}

    def hold(self):
        """Every other time for longer than a designee may take, and an assigner until it yields and
        the next one has judged it, so that A5 and A2 are seen."""
        if self.world.random.random() < 0.5:
            return super().hold()
        lease, session = self.world.lease, self.world.session
        patience = 2 * lease + session
        return lease + patience + 2 * session + self.detail["assigns"] * (lease + patience)


class Log0Moved(Fault):
    """Log 0 alone gets another leader."""
    kind = "log0_moved"
    broker = True

    def choose(self, seats):
        self.logs = [0]

    def begin(self):
        leader = self.world.cluster.leaders()[0]
        to = self.world.random.choice(self.world.cluster.others(leader))
        self.detail = {"from": leader, "to": to}
        self.world.cluster.move_log(0, to)

    def hold(self):
        return 0.0
