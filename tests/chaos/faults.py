"""The kinds of faults. Each says whom it touches, does it, and undoes it; the run logs when.

What a kind excuses, and from when on, the judge knows by its name (judge.py, RULES).
"""
from harness.children import boot_now, wait_until
from harness.kafka_admin import AdminError

import cluster
import network

MOST_EXPULSION = 30.0


class Fault:
    """One fault. `begin` and `end` return when it is done, `hold` is the time between them."""
    kind = ""
    process = False  # touches one owner: may overlap with another fault
    broker = False   # touches brokers: may overlap with a process fault
    reads_anew = True  # logs may be read anew after it, for which an assigner's plan waits
    at_rest = False  # chooses by what only a lane at rest shows: never second to another one

    def __init__(self, world, taken=()):
        self.world = world
        self.number = world.log.number()
        self.owners, self.logs, self.detail = [], [], {}
        self.began = None
        self.choose([seat for seat in world.seats if seat not in taken])

    def choose(self, seats):
        """Draws whom it touches. Rest may have to be reached again after it."""

    def hold(self):
        """How long it lasts, in seconds."""
        return self.world.magnitude(0.05, 2 * self.world.lease + self.world.session)

    def start(self):
        """Begins and says so, with an instant that lies before anything was done."""
        self.began = boot_now()
        self.begin()
        self.world.log.write(self.began, what="begin", n=self.number, kind=self.kind,
                             owners=self.owners, logs=self.logs, detail=self.detail)

    def finish(self):
        """Ends and says so, with an instant at which everything was undone."""
        self.end()
        self.world.log.write(what="end", n=self.number)
        self.world.note_touched(self.owners, self.logs, boot_now() - self.began,
                                self.reads_anew)

    def begin(self):
        """Does it."""
        raise NotImplementedError

    def end(self):
        """Undoes it."""


class ProcessFault(Fault):
    """Touches the owner on one seat."""
    process = True
    seat = None

    def choose(self, seats):
        self.seat = self.world.random.choice(seats)
        self.owners = [self.owner.key]

    @property
    def owner(self):
        """Who sits there now."""
        return self.world.at[self.seat.name]


class Kill(ProcessFault):
    """SIGKILL; another one sits down later."""
    kind = "kill"
    reads_anew = False

    def begin(self):
        self.owner.kill()

    def end(self):
        self.world.sit_down(self.seat)


class Pause(ProcessFault):
    """SIGSTOP and SIGCONT."""
    kind = "pause"
    reads_anew = False

    def begin(self):
        self.owner.stop()

    def end(self):
        self.owner.wake()


class Hang(ProcessFault):
    """A handler blocks the executor; all other threads, librdkafka's heartbeats too, go on."""
    kind = "hang"
    reads_anew = False

    def choose(self, seats):
        super().choose(seats)
        # A member that hangs writes nothing. In a group librdkafka looks every half a second.
        limit = 0.0 if self.world.assigned else self.world.facts["hang_limit_ms"] / 1000 + 0.5
        self.detail = {"noticed_after": limit}

    def hold(self):
        return self.world.magnitude(0.05, self.detail["noticed_after"] + 2 * self.world.lease)

    def begin(self):
        self.owner.hang()

    def end(self):
        self.owner.go_on()


class Leave(ProcessFault):
    """A planned leave, no fault at all; another one sits down later. Never with another fault."""
    kind = "leave"
    reads_anew = False
    process = False

    def begin(self):
        self.owner.leave()
        code = self.owner.wait_exit(self.world.lease + 20)
        if code != 0:
            raise AssertionError(f"{self.owner.key} left with exit {code}\n"
                                 f"{self.owner.error_tail()}")

    def end(self):
        self.world.sit_down(self.seat)


class Cut(ProcessFault):
    """The owner's link to all brokers, in one way or both."""
    way = "both"
    kind = "cut_both"
    mend = None

    def choose(self, seats):
        super().choose(seats)
        if self.way == "in":
            self.detail = {"noticed_after": self.world.unacknowledged}

    def begin(self):
        self.mend = self.seat.cut(self.way)

    def end(self):
        self.mend()


class CutIn(Cut):
    """It hears nobody and is heard."""
    kind, way = "cut_in", "in"


class CutOut(Cut):
    """It is heard by nobody and hears."""
    kind, way = "cut_out", "out"


class CutCoordinator(ProcessFault):
    """Only the group's coordinator is cut off: the owner can read and write all logs."""
    kind = "cut_coordinator"
    process = False  # needs an arrangement of leaders
    mend = None

    def choose(self, seats):
        self.world.arrange_apart()
        super().choose(seats)

    def broker_cut(self):
        """The broker at the other end."""
        return self.world.cluster.coordinator()

    def begin(self):
        way = self.world.random.choice(network.WAYS)
        broker = self.broker_cut()
        self.detail = {**self.detail, "way": way, "broker": broker}
        if way == "in":
            self.detail["noticed_after"] = self.world.unacknowledged
        self.mend = self.seat.cut(way, [network.BROKERS[broker - 1]])

    def end(self):
        self.mend()


class CutLog(CutCoordinator):
    """Only the logs are cut off: the group goes on counting the owner as a member."""
    kind = "cut_log"

    def choose(self, seats):
        super().choose(seats)
        self.logs = self.world.all_logs()

    def broker_cut(self):
        return self.world.cluster.leaders()[0]


class BrokerFault(Fault):
    """A broker goes and comes back. All logs wait until the controller knows that it went."""
    broker = True
    node = 2

    def choose(self, seats):
        self.logs = self.world.all_logs()
        self.node = self.world.random.choice(self.world.cluster.nodes)
        self.detail = {"node": self.node}

    def failed_over(self):
        """Where a controller is left, it finds other leaders, and lets them wait no longer for this
        broker: the ledger is back before the broker is."""
        if not self.world.cluster.is_only_controller(self.node):
            wait_until(lambda: self.world.cluster.left(self.node), 60,
                       f"broker {self.node} leads nothing")
            self.world.cluster.wait_writable()
            self.world.log.write(what="back", n=self.number)

    def end(self):
        self.world.cluster.kafka.start()
        if self.world.cluster.is_only_controller(self.node):
            wait_until(self.led, 60, "every log has a leader")
            self.world.log.write(what="back", n=self.number)
        self.world.cluster.wait_whole()

    def led(self):
        """Whether each log, and the group, has a leader."""
        try:
            found = self.world.cluster.all_leaders()
        except AdminError:
            return False
        return all(leader in self.world.cluster.nodes for leader in found)


class BrokerStop(BrokerFault):
    """Shut down in order."""
    kind = "broker_stop"

    def begin(self):
        self.world.cluster.kafka.stop_node(self.node, 20.0)

    def hold(self):
        self.failed_over()
        return super().hold()


class BrokerCrash(BrokerStop):
    """SIGKILL."""
    kind = "broker_crash"

    def begin(self):
        self.world.cluster.kafka.stop_node(self.node, 0)


class DiskFull(BrokerFault):
    """The second broker cannot write; Kafka's answer to that is to end."""
    kind = "disk_full"

    def choose(self, seats):
        super().choose(seats)
        self.node = 2
        self.detail = {"node": 2}

    def begin(self):
        self.world.cluster.fill_disk()

    def hold(self):
        wait_until(lambda: self.world.cluster.ended(2), 60, "the broker with the full disk ends")
        self.world.cluster.kafka.stop_node(2, 0)
        self.failed_over()
        return super().hold()

    def end(self):
        self.world.cluster.empty_disk()
        super().end()


class BrokersCut(BrokerFault):
    """The link between two of three brokers: each still has the third one, and all clients."""
    kind = "brokers_cut"
    mend = None

    def peers(self):
        """Whom this broker does not reach, or is not reached by, any more."""
        return [self.world.random.choice(self.world.cluster.others(self.node))]

    def begin(self):
        way, peers = self.world.random.choice(network.WAYS), self.peers()
        self.detail = {"node": self.node, "way": way, "from": peers}
        self.mend = self.world.cluster.rooms[self.node].cut(
            way, [network.BROKERS[peer - 1] for peer in peers])

    def hold(self):
        """Long enough now and then that the controllers notice, and leaders whom they wait for."""
        return self.world.magnitude(0.1, self.world.cluster.longest_cut)

    def end(self):
        self.mend()
        self.world.cluster.wait_writable()
        self.world.cluster.wait_whole()


class BrokerAlone(BrokersCut):
    """One broker that the clients reach, and no other broker: a leader of the past for a while."""
    kind = "broker_alone"

    def peers(self):
        return self.world.cluster.others(self.node)


class LeaderChange(Fault):
    """Some logs go to another broker, so to or from the one with the other clock."""
    kind = "leader_change"
    broker = True

    def begin(self):
        leaders = self.world.cluster.leaders()
        self.logs = sorted(self.world.random.sample(range(cluster.LOGS),
                                                    self.world.random.randint(1, cluster.LOGS)))
        for log in self.logs:
            others = self.world.cluster.others(leaders[log])
            self.world.cluster.move_log(log, self.world.random.choice(others))
        self.detail = {"from": leaders, "skew_ms": self.world.cluster.skew_ms}

    def hold(self):
        return 0.0


class ClockStep(Fault):
    """The second broker's clock steps, and stays within half of clock_error of the first one's."""
    kind = "clock_step"
    reads_anew = False
    broker = True

    def begin(self):
        most = self.world.facts["clock_error_ms"] // 2
        skew = self.world.random.choice((-1, 1)) * self.world.random.randint(most // 4, most)
        self.detail = {"skew_ms": skew, "seen_ms": self.world.cluster.step_clock(skew)}

    def hold(self):
        return 0.0


class CoordinatorMoved(Fault):
    """The group gets another broker as its coordinator."""
    kind = "coordinator_moved"
    broker = True

    def begin(self):
        broker = self.world.random.choice(
            self.world.cluster.others(self.world.cluster.coordinator()))
        self.detail = {"to": broker}
        self.world.cluster.move_coordinator(broker)

    def hold(self):
        return 0.0


class TopicDeleted(Fault):
    """The ledger is deleted and made again, with everything in it gone.

    Not sooner than clocks may differ: a new topic's stamps lie behind the old one's.
    """
    kind = "topic_deleted"

    def choose(self, seats):
        self.logs = self.world.all_logs()

    def begin(self):
        self.world.cluster.admin.delete_topic(self.world.cluster.topic)

    def hold(self):
        return max(super().hold(), 2 * self.world.facts["clock_error_ms"] / 1000)

    def end(self):
        self.world.cluster.make_ledger()


class GroupDeleted(Fault):
    """All owners are cut off from the coordinator until it has expelled them; then the group is
    deleted, and begins again at generation 1. The logs are there all the time."""
    kind = "group_deleted"
    mends = ()

    def choose(self, seats):
        self.world.arrange_apart()

    def begin(self):
        broker = network.BROKERS[self.world.cluster.coordinator() - 1]
        self.mends = [seat.cut("both", [broker]) for seat in self.world.seats]
        admin, group = self.world.cluster.admin, self.world.fleet.group

        def empty():
            self.world.fleet.refresh()
            return not admin.group(group)["members"]
        wait_until(empty, MOST_EXPULSION, "a group without members", poll=0.1)
        admin.delete_group(group)

    def hold(self):
        return self.world.magnitude(0.05, self.world.session)

    def end(self):
        for mend in self.mends:
            mend()


class ForeignConsumer(Fault):
    """A consumer that is none of ours is assigned partitions, and claims none."""
    kind = "foreign_consumer"

    def begin(self):
        fleet, admin = self.world.fleet, self.world.cluster.admin
        protocol = self.world.facts["group_protocol"]
        admin.join_group(fleet.group, self.world.cluster.topic, protocol)

        def assigned():
            fleet.refresh()
            members = admin.group(fleet.group)["members"]
            return sum(bool(member["partitions"]) for member in members) > len(fleet.live())
        wait_until(assigned, 30, "a stranger with partitions of the group", poll=0.1)

    def end(self):
        self.world.cluster.admin.leave_group()
