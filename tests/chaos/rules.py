"""What each kind of fault excuses, and the faults of a run as its script's log tells them."""
import dataclasses
import math

# Clients find a log's new leader later than the brokers do: librdkafka 2.15.1's consumer asks for
# it once a second when the old leader's broker is gone, and may lose the first answer
# ("preferred replica lease expired" in the old broker's thread, which sees the partition leave it).
LEADER_SEARCH = 2.0
# acks=all waits for the followers. One that asks a broker which does not lead yet, or no more, asks
# again after replica.fetch.backoff.ms, 1 s; the thread that waits fetches the other logs, too. It
# may have asked when the script was done already, and ask the wrong one once more, where a second
# change follows or a busy broker hears late: each time half a second more for the brokers to know.
FOLLOWER_PAUSE = 3.0


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a kind of fault excuses: a gap in what its `owner` led, in its `log`s, in `every log`,
    in what its owner led in its logs (`owner in log`), or nothing.

    A successor needs a takeover's time from the fault's `since` on: its begin, where the others
    notice it by themselves, or its end, where nobody can take over before. None: it delays nobody.
    `members` is how often it changes the group's membership or coordinator.
    """
    excuses: str
    since: str | None
    members: int


RULES = {
    "kill": Rule("owner", "begin", 2),
    "pause": Rule("owner", "begin", 2),
    "hang": Rule("owner", "begin", 2),
    "cut_both": Rule("owner", "begin", 2),
    "cut_in": Rule("owner", "begin", 2),
    "cut_out": Rule("owner", "begin", 2),
    "cut_coordinator": Rule("nothing", "begin", 2),
    "cut_log": Rule("owner", "end", 2),  # it withdraws, if that lasts, and comes back
    "broker_stop": Rule("log", "end", 2),
    "broker_crash": Rule("log", "end", 2),
    "disk_full": Rule("log", "end", 2),
    "leader_change": Rule("every log", "end", 0),
    "clock_step": Rule("nothing", None, 0),
    "coordinator_moved": Rule("nothing", "end", 1),
    "topic_made": Rule("log", "end", 0),
    "topic_deleted": Rule("log", "end", 2),
    "group_deleted": Rule("nothing", "end", 2),
    "foreign_consumer": Rule("nothing", "end", 2),
    "leave": Rule("nothing", "end", 2),
    "brokers_cut": Rule("log", "end", 2),
    "broker_alone": Rule("log", "end", 2),
}
# Where a member assigns there is no group. Who is cut from log 0 is silent there, so that others
# are named for what it led; it need not withdraw.
ASSIGNED_RULES = {
    **{kind: rule for kind, rule in RULES.items() if kind not in (
        "cut_coordinator", "coordinator_moved", "group_deleted", "foreign_consumer")},
    "leader_change": Rule("log", "end", 0),  # sessions here are longer than FOLLOWER_PAUSE
    "cut_log": Rule("owner", "begin", 0),
    "cut_log0": Rule("owner", "begin", 0),
    "cut_other_log": Rule("owner in log", "end", 0),
    "log0_moved": Rule("log", "end", 0),
    "many_killed": Rule("owner", "begin", 0),
    "assigner_kill": Rule("owner", "begin", 0),
    "assigner_pause": Rule("owner", "begin", 0),
    "assigner_cut_in": Rule("owner", "begin", 0),
    "assigner_cut_out": Rule("owner", "begin", 0),
    "assigner_leave": Rule("nothing", "end", 0),
    "assigner_and_owner": Rule("owner", "begin", 0),
}
SOURCES = {"group": RULES, "assigner": ASSIGNED_RULES}
KILLS = ("kill", "many_killed", "assigner_kill", "assigner_and_owner")
LEAVES = ("leave", "assigner_leave")
# Whom these strike serves nobody. Any other owner serves on in non-exclusive mode while its logs
# are silent (docs/protocol.md, "Serving on"): what befalls brokers or links leaves no gap there.
END_SERVING = (*KILLS, "pause", "assigner_pause", "hang")


@dataclasses.dataclass
class Fault:
    """One fault of the script's log. `back`: when the ledger was there again, if before `end`."""
    number: int
    kind: str
    begin: float
    owners: list
    logs: list
    rule: Rule
    end: float = math.inf
    back: float = math.inf
    rest: float = math.inf
    detail: dict = dataclasses.field(default_factory=dict)

    @property
    def noticed_after(self):
        """How long nobody can notice it at all."""
        return self.detail.get("noticed_after", 0.0)

    def over(self):
        """When it touched nobody any more."""
        return self.begin if self.kind in KILLS else min(self.end, self.back)

    def since(self):
        """From when on a successor can take over."""
        if self.rule.since == "begin":
            return self.begin + self.noticed_after
        return self.over() + (LEADER_SEARCH if "log" in self.rule.excuses else 0.0)

    def replicated(self):
        """Until when acknowledgements may wait for a follower because of it."""
        moves = self.rule.excuses in ("log", "every log")
        return self.over() + (FOLLOWER_PAUSE if moves else 0.0)

    def changes(self):
        """The instants at which the group's membership or coordinator changed."""
        return [self.begin, self.end][:self.rule.members]

    def strikes(self, partition, logs, owners):
        """Whether these owners' leading of the partition suffered from it."""
        if self.rule.excuses == "every log":
            return True
        in_log = partition % logs in self.logs
        if self.rule.excuses == "log":
            return in_log
        struck = "owner" in self.rule.excuses and bool(set(owners) & set(self.owners))
        return struck and (in_log or self.rule.excuses == "owner")


def read_faults(rows, source="group"):
    """The faults of a script log."""
    faults = {}
    for row in rows:
        if row["what"] == "begin":
            faults[row["n"]] = Fault(row["n"], row["kind"], row["boot"], row["owners"],
                                     row["logs"], SOURCES[source][row["kind"]],
                                     detail=row.get("detail", {}))
        elif row.get("n") in faults:
            setattr(faults[row["n"]], row["what"], row["boot"])
    return sorted(faults.values(), key=lambda fault: fault.begin)
