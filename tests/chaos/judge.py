#!/usr/bin/python3
"""Judges a folder of a chaos run: overlaps, gaps that nothing explains, gaps that are too long.

What was done stands in script.jsonl, who lived how long in run.json, what the owners say of
themselves in *.events and what their witnesses saw in *.witness; all by CLOCK_BOOTTIME. A paused
owner answers nobody, so here its ownership ends with its pause, whatever its log says of its lease.

    tests/chaos/judge.py FOLDER
"""
import dataclasses
import json
import math
import statistics
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import checker  # noqa: E402
from harness.process import LineFile  # noqa: E402

# What the limits are made of. Two are not the protocol's, nor a setting of Kafka's. The longest
# that one message may take, of which the rule allows four for each rebalance: two JVMs and six
# owners share two cores here, and claims were measured to take up to 32 ms to be read back by 6
# processes when nothing else ran; three times that is what a scheduler adds.
MESSAGE_DELAY = 0.1
# And clients find a log's new leader later than the brokers do: librdkafka 2.15.1's consumer asks
# for it once a second when the old leader's broker is gone, and may lose the first answer
# ("preferred replica lease expired" in the old broker's thread, which sees the partition leave it).
LEADER_SEARCH = 2.0
SAME_INSTANT = checker.WITNESS_SLACK
PLANNED = ("superseded", "closed")


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a kind of fault excuses: a gap in what its `owner` led, in its `log`s, or nothing.

    A successor needs a takeover's time from the fault's `since` on: its begin, where the group
    notices it by itself, or its end, where nobody can take over before. None: it delays nobody.
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
    "leader_change": Rule("log", "end", 0),
    "clock_step": Rule("nothing", None, 0),
    "coordinator_moved": Rule("nothing", "end", 1),
    "topic_deleted": Rule("log", "end", 2),
    "group_deleted": Rule("nothing", "end", 2),
    "foreign_consumer": Rule("nothing", "end", 2),
    "leave": Rule("nothing", "end", 2),
    "brokers_cut": Rule("log", "end", 2),
    "broker_alone": Rule("log", "end", 2),
}


@dataclasses.dataclass
class Fault:
    """One fault of the script's log. `back`: when the ledger was there again, if before `end`."""
    number: int
    kind: str
    begin: float
    owners: list
    logs: list
    end: float = math.inf
    back: float = math.inf
    rest: float = math.inf
    noticed_after: float = 0.0  # how long the group does not notice it at all

    @property
    def rule(self):
        """What its kind excuses."""
        return RULES[self.kind]

    def over(self):
        """When it touched nobody any more."""
        return self.begin if self.kind == "kill" else min(self.end, self.back)

    def since(self):
        """From when on a successor can take over."""
        if self.rule.since == "begin":
            return self.begin + self.noticed_after
        return self.over() + (LEADER_SEARCH if self.rule.excuses == "log" else 0.0)

    def changes(self):
        """The instants at which the group's membership or coordinator changed."""
        return [self.begin, self.end][:self.rule.members]


def read_faults(rows):
    """The faults of a script log."""
    faults = {}
    for row in rows:
        if row["what"] == "begin":
            faults[row["n"]] = Fault(row["n"], row["kind"], row["boot"], row["owners"],
                                     row["logs"],
                                     noticed_after=row.get("detail", {}).get("noticed_after", 0.0))
        elif row.get("n") in faults:
            setattr(faults[row["n"]], row["what"], row["boot"])
    return sorted(faults.values(), key=lambda fault: fault.begin)


def awake(intervals, lives):
    """The intervals without the pauses of their owners."""
    cut = []
    for one in intervals:
        pieces = [(one.start, one.end)]
        for stopped, continued in lives[one.process].pauses:
            resume = math.inf if continued is None else continued
            pieces = [piece for begin, end in pieces
                      for piece in ((begin, min(end, stopped)), (max(begin, resume), end))
                      if piece[0] < piece[1]]
        cut += [dataclasses.replace(one, start=begin, end=end) for begin, end in pieces]
    return cut


class Judge:
    """The rules of docs/proof.md for gaps."""

    def __init__(self, facts, protocol, faults, intervals, exclusive=False, slow=1):
        self.lease = facts["lease_ms"] / 1000
        self.logs = facts["logs"]
        messages = 4 * slow * MESSAGE_DELAY
        heartbeats = 2 * facts["heartbeat_ms"] / 1000  # to hear of a revocation, of an assignment
        # A classic rebalance waits for every member to join again, for as long as each may take
        # between two polls, which is the hang limit; the other protocol's waits for nobody.
        self.further = facts["hang_limit_ms"] / 1000 if protocol == "classic" else messages
        self.takeover = facts["session_ms"] / 1000 + heartbeats + messages
        # A claim that ended an ownership may be overtaken by another rebalance, whose claimant must
        # be told; then a claim and a release are stored and read.
        self.handover = heartbeats + self.further + messages
        self.exclusive = exclusive
        if exclusive:  # rule 6: whose predecessor cannot release waits for the end of its lease
            self.takeover += self.lease
        self.faults = faults
        self.led = {}
        for one in intervals:
            self.led.setdefault(one.partition, []).append(one)

    def last_owners(self, partition, instant):
        """Who led last; and who claimed after it, and was gone before it had heard of that."""
        ended = [one for one in self.led.get(partition, ())
                 if one.start <= instant and one.end <= instant + SAME_INSTANT]
        if not ended:
            return set()
        last = max(ended, key=lambda one: one.end)
        newer = [one for one in ended if one.end >= instant - self.lease
                 and last.epochs[-1] < one.epochs[-1]]
        return {one.process for one in [last, *newer]}

    def explaining(self, gap):
        """The faults that may have left the partition without an owner."""
        owners = self.last_owners(gap.partition, gap.start)

        def fits(fault):
            if fault.rule.excuses == "owner":
                touched = bool(owners & set(fault.owners))
            else:
                touched = fault.rule.excuses == "log" and gap.partition % self.logs in fault.logs
            return (touched and fault.begin <= gap.start + SAME_INSTANT
                    and gap.start <= fault.over() + self.lease)
        return [fault for fault in self.faults if fits(fault)]

    def until(self, gap, explaining):
        """When it must be over. Whatever else happens before that may strike the successor, so the
        time counts from the last fault of the window on."""
        until, further = max(fault.since() for fault in explaining) + self.takeover, 0
        while True:
            window = [fault for fault in self.faults if fault.rule.since
                      and fault.begin < until and fault.over() + self.lease > gap.start]
            changes = [instant for fault in window for instant in fault.changes()
                       if gap.start - SAME_INSTANT <= instant < until]
            further = max(further, len(changes) - 1)
            since = max(fault.since() for fault in [*explaining, *window])
            later = since + self.takeover + further * self.further
            if later <= until:
                return until
            until = later

    def handover_limit(self, gap):
        """How long a planned move in exclusive mode may leave the partition unowned: one gave it up
        to another one's claim. Zero: it was none.

        A successor that was stopped or cut off reads what others wrote meanwhile when it is back;
        a lease of somebody who did not release counts from then (rule 6 a).
        """
        near = self.led.get(gap.partition, ())
        planned = any(one.reason in PLANNED and abs(one.end - gap.start) <= SAME_INSTANT
                      for one in near)
        if not (self.exclusive and planned):
            return 0.0
        end = gap.start + gap.seconds
        successors = {one.process for one in near if abs(one.start - end) <= SAME_INSTANT}
        late = any(successors & set(fault.owners) and fault.begin <= end
                   and gap.start <= fault.over() + self.lease for fault in self.faults)
        changes = [instant for fault in self.faults for instant in fault.changes()
                   if gap.start - self.handover <= instant < end]
        further = max(0, len(changes) - 1) * self.further
        return self.handover + further + (self.lease if late else 0.0)

    def verdict(self, gap):
        """(what is wrong or "", the faults that explain it, the limit in seconds)."""
        explaining = self.explaining(gap)
        if not explaining:
            limit = self.handover_limit(gap)
            return "" if gap.seconds <= limit else "unexplained", [], limit
        limit = self.until(gap, explaining) - gap.start
        return "too long" if gap.seconds > limit else "", explaining, limit


class Run:
    """A run's folder, read."""

    def __init__(self, folder):
        folder = Path(folder)
        self.about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.script = self.lines(folder / "script.jsonl")
        self.lives = {}
        self.report = checker.Report()
        self.problem = self.about["problem"]
        for key, life in self.about["lives"].items():
            ended = math.inf if life["ended"] is None else life["ended"]
            self.lives[key] = checker.Life(key, ended, [tuple(one) for one in life["pauses"]])
            samples = self.lines(folder / f"{key}.witness")
            self.report.add(self.lives[key], self.lines(folder / f"{key}.events"), samples)
        instants = {row["what"]: row["boot"] for row in self.script}
        self.since, self.until = instants.get("chaos"), instants["over"]
        self.faults = read_faults(self.script)

    @staticmethod
    def lines(path):
        """The objects of a file; none if the owner died before it wrote any."""
        file = LineFile(path)
        file.read()
        return file.rows

    def label(self, instant):
        """Under which kind of event something is counted that began then."""
        before = [fault for fault in self.faults if fault.begin <= instant + SAME_INSTANT]
        if not before:
            return "start"
        last = before[-1]
        return "join" if last.kind in ("kill", "leave") and instant > last.end else last.kind


def judge_gaps(run):
    """Every gap as (gap, by whom it was seen, what is wrong, explaining, limit)."""
    led = awake(run.report.intervals, run.lives)
    seen = awake(run.report.possible, run.lives)
    partitions = range(run.about["facts"]["partitions"])
    found = [(gap, "log") for gap in checker.gaps(led, partitions, run.since, run.until)]
    if run.report.all_witnessed:
        found += [(gap, "witness") for gap in
                  checker.gaps(seen, partitions, run.since, run.until)]
    judge = Judge(run.about["facts"], run.about["protocol"], run.faults, led,
                  run.about["mode"] == "exclusive", run.about.get("slow", 1))
    return [(gap, by, *judge.verdict(gap)) for gap, by in found], judge


def rows_of(run, gaps, overlaps):
    """A row for each kind of event."""
    labels = ["start", *(kind for kind in RULES), "join"]
    moves = [run.label(new.start) for _, _, _, new in
             checker.handovers(run.report.intervals, run.since, run.until)]
    rows = []
    for label in labels:
        by_log = [gap.seconds for gap, by, *_ in gaps if by == "log" and
                  run.label(gap.start) == label]
        wrong = [one for one in gaps if one[2] and run.label(one[0].start) == label]
        kind = ("kill", "leave") if label == "join" else (label,)
        row = {"event": label, "times": sum(fault.kind in kind for fault in run.faults),
               "transitions": moves.count(label), "gaps": len(by_log),
               "longest_gap": max(by_log, default=0.0),
               "median_gap": statistics.median(by_log) if by_log else 0.0,
               "overlaps": sum(run.label(found.start) == label for found in overlaps),
               "unexplained": sum(one[2] == "unexplained" for one in wrong),
               "too_long": sum(one[2] == "too long" for one in wrong)}
        if row["times"] or row["transitions"] or by_log:
            rows.append(row)
    return rows


def judge(folder):
    """Judges the folder, and writes report.json into it."""
    run = Run(folder)
    report = {name: run.about.get(name) for name in
              ("mode", "protocol", "kafka", "brokers", "seed", "seconds", "facts", "problem")}
    stalls = [late for _, late in run.about["stalls"]]
    report["stalls"] = {"count": len(stalls), "longest": max(stalls, default=0.0)}
    report["owners"] = len(run.lives)
    exclusive = run.about["mode"] == "exclusive"
    found = run.report.violations(exclusive)
    overlaps = [finding for finding in found if finding.kind == "overlap"]
    report.update(overlaps=len(overlaps), rows=[], limits={}, nearest=[])
    if run.since is not None:
        gaps, rule = judge_gaps(run)
        report["chaos_seconds"] = run.until - run.since
        report["limits"] = {"takeover": rule.takeover, "handover": rule.handover,
                            "further_rebalance": rule.further,
                            "message_delay": MESSAGE_DELAY, "leader_search": LEADER_SEARCH}
        report["rows"] = rows_of(run, gaps, overlaps)
        if run.about.get("slow", 1) == 1:  # with sanitizers processes are slow by themselves
            found += [dataclasses.replace(gap, kind=f"{wrong} gap by {by}",
                                          what=f"limit {limit:.3f} s; {gap.what}")
                      for gap, by, wrong, _, limit in gaps if wrong]
        near = sorted((one for one in gaps if one[3]), key=lambda one: one[0].seconds / one[4])
        report["nearest"] = [
            {"partition": gap.partition, "start": gap.start, "seconds": gap.seconds, "by": by,
             "limit": limit, "explained_by": [[fault.number, fault.kind] for fault in explaining]}
            for gap, by, _, explaining, limit in near[:-11:-1]]
    else:
        report["chaos_seconds"] = 0.0
    report["findings"] = [str(finding) for finding in found]
    text = json.dumps(report, indent=1)
    (Path(folder) / "report.json").write_text(text + "\n", encoding="utf-8")
    return report


def table(report):
    """The report for people."""
    lines = [f"{'event':18} times transitions  gaps longest ms median ms overlaps unexplained "
             f"too long"]
    for row in report["rows"]:
        lines.append(f"{row['event']:18} {row['times']:5} {row['transitions']:11} "
                     f"{row['gaps']:5} {1000 * row['longest_gap']:10.1f} "
                     f"{1000 * row['median_gap']:9.1f} {row['overlaps']:8} "
                     f"{row['unexplained']:11} {row['too_long']:8}")
    rows = report["rows"]
    lines.append(
        f"{report['mode']}, {report['protocol']}: {report['chaos_seconds']:.0f} s, "
        f"{sum(row['times'] for row in rows if row['event'] != 'join')} events, "
        f"{report['owners']} owners, {sum(row['transitions'] for row in rows)} transitions, "
        f"{report['overlaps']} overlaps, longest gap "
        f"{max((row['longest_gap'] for row in rows), default=0.0):.3f} s")
    if report["limits"]:
        lines.append("a takeover may take {takeover:.2f} s, a planned move {handover:.2f} s, each "
                     "further rebalance {further_rebalance:.2f} s more; a message is allowed "
                     "{message_delay:.2f} s, finding a log's new leader {leader_search:.2f} s"
                     .format(**report["limits"]))
        for near in report["nearest"][:3]:
            lines.append(f"nearest to its limit: {near['seconds']:.3f} of {near['limit']:.3f} s, "
                         f"slot {near['partition']}, by {near['by']}, {near['explained_by']}")
    lines.append(f"the machine stalled {report['stalls']['count']} times, "
                 f"{report['stalls']['longest']:.3f} s at most")
    lines += [f"FOUND {text}" for text in report["findings"][:20]]
    if report["problem"]:
        lines.append(f"PROBLEM {report['problem']}")
    verdict = "bad" if report["findings"] or report["problem"] else "clean"
    lines.append(f"verdict: {verdict}, {len(report['findings'])} findings")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(judge(sys.argv[1])))
