#!/usr/bin/python3
"""Judges a folder of a chaos run: overlaps, gaps that nothing explains, gaps that are too long; and
where a member assigns, what moved although nothing asked for it.

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
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import checker  # noqa: E402
from harness.process import LineFile  # noqa: E402
import assigned  # noqa: E402
import lane  # noqa: E402
import limits  # noqa: E402
import rules  # noqa: E402


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


class Run:
    """A run's folder, read."""

    def __init__(self, folder):
        folder = Path(folder)
        self.about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.script = self.lines(folder / "script.jsonl")
        self.source = self.about.get("assignment", "group")
        self.folder, self.lives = folder, {}
        self.lane = lane.read(folder, self.about)
        self.starts = {key: life["started"] for key, life in self.about["lives"].items()}
        self.report = checker.Report()
        self.problem = self.about["problem"]
        for key, life in self.about["lives"].items():
            ended = math.inf if life["ended"] is None else life["ended"]
            warm_ups = [(row["boot"], row["partition"]) for row in
                        self.lines(folder / f"{key}.warm") if row["step"] == "warm_up"]
            self.lives[key] = checker.Life(key, ended, [tuple(one) for one in life["pauses"]],
                                           warm_ups)
            samples = self.lines(folder / f"{key}.witness")
            self.report.add(self.lives[key], self.lines(folder / f"{key}.events"), samples)
        instants = {row["what"]: row["boot"] for row in self.script}
        self.since, self.until = instants.get("chaos"), instants["over"]
        self.faults = rules.read_faults(self.script, self.source)

    @staticmethod
    def lines(path):
        """The objects of a file; none if the owner died before it wrote any."""
        file = LineFile(path)
        file.read()
        return file.rows

    def label(self, instant):
        """Under which kind of event something is counted that began then."""
        before = [fault for fault in self.faults if fault.begin <= instant + limits.SAME_INSTANT]
        if not before:
            return "start"
        last = before[-1]
        joins = last.kind in (*rules.KILLS, *rules.LEAVES) and instant > last.end
        return "join" if joins else last.kind

    def judge(self, led):
        """The rules for gaps of who assigns."""
        exclusive, slow = self.about["mode"] == "exclusive", self.about.get("slow", 1)
        if self.source == "assigner":
            return assigned.AssignedJudge(self.about["facts"], self.faults, led, self.starts,
                                          self.lives, self.lane, exclusive, slow)
        return limits.Judge(self.about["facts"], self.about["protocol"], self.faults, led,
                            exclusive, slow)

    def warmth(self):
        """How often owners began to prepare and to warm up, and were ready for it themselves."""
        if not self.about.get("warm"):
            return {}
        steps = Counter(row["step"] for path in self.folder.glob("*.warm")
                        for row in self.lines(path))
        return {name: steps[name] for name in ("prepare", "prepared", "warm_up", "warm")}

    def needless(self):
        """What moved without need where a member assigns; a group's assignor is not ours."""
        if self.source != "assigner" or self.since is None:
            return []
        ids = {life["id"]: key for key, life in self.about["lives"].items() if life.get("id")}
        moves = assigned.Moves(self.faults, self.report.intervals, self.starts,
                               self.about["facts"], self.lane,
                               assigned.given_up(self.folder, ids))
        return moves.findings(self.since, self.until)


def judge_gaps(run):
    """Every gap as (gap, by whom it was seen, what is wrong, explaining, limit)."""
    led = awake(run.report.intervals, run.lives)
    seen = awake(run.report.possible, run.lives)
    partitions = range(run.about["facts"]["partitions"])
    found = [(gap, "log") for gap in checker.gaps(led, partitions, run.since, run.until)]
    if run.report.all_witnessed:
        found += [(gap, "witness") for gap in
                  checker.gaps(seen, partitions, run.since, run.until)]
    rule = run.judge(led)
    return [(gap, by, *rule.verdict(gap)) for gap, by in found], rule


def rows_of(run, gaps, overlaps):
    """A row for each kind of event."""
    labels = ["start", *rules.SOURCES[run.source], "join"]
    moves = [run.label(new.start) for _, _, _, new in
             checker.handovers(run.report.intervals, run.since, run.until)]
    rows = []
    for label in labels:
        by_log = [gap.seconds for gap, by, *_ in gaps if by == "log" and
                  run.label(gap.start) == label]
        wrong = [one for one in gaps if one[2] and run.label(one[0].start) == label]
        times = [len(fault.owners) for fault in run.faults
                 if fault.kind in (*rules.KILLS, *rules.LEAVES)] if label == "join" else [
                     1 for fault in run.faults if fault.kind == label]
        row = {"event": label, "times": sum(times),
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
              ("mode", "assignment", "warm", "protocol", "kafka", "brokers", "seed", "seconds",
               "facts", "problem", "counts", "commit")}
    stalls = [late for _, late in run.about["stalls"]]
    report["stalls"] = {"count": len(stalls), "longest": max(stalls, default=0.0)}
    report["owners"] = len(run.lives)
    warmth = run.warmth()
    report["said"] = {**(assigned.said(folder) if run.source == "assigner" else {}), **warmth}
    if not report["problem"] and not all(warmth.values()):
        report["problem"] = f"not every step of preparing and warming up was seen: {warmth}"
    exclusive = run.about["mode"] == "exclusive"
    found = run.report.violations(exclusive)
    overlaps = [finding for finding in found if finding.kind == "overlap"]
    report.update(overlaps=len(overlaps), rows=[], limits={}, nearest=[])
    if run.since is not None:
        gaps, rule = judge_gaps(run)
        report["chaos_seconds"] = run.until - run.since
        report["limits"] = rule.shown()
        report["rows"] = rows_of(run, gaps, overlaps)
        if run.about.get("slow", 1) == 1:  # with sanitizers processes are slow by themselves
            found += [dataclasses.replace(gap, kind=f"{wrong} gap by {by}",
                                          what=f"limit {limit:.3f} s; {gap.what}")
                      for gap, by, wrong, _, limit in gaps if wrong]
            found += run.needless()
        near = sorted((one for one in gaps if one[3]),
                      key=lambda one: one[0].seconds / max(one[4], 0.001))
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


def who_assigns(about):
    """In words."""
    warm = ", owners that prepare" if about.get("warm") else ""
    if about.get("assignment") == "assigner":
        return "assigned by a member" + warm
    return f"{about['protocol']} protocol{warm}"


def counted(report):
    """Deaths as the owners that lived at the end counted them, each for itself and since its start;
    and what all assigners said."""
    counts = list((report["counts"] or {}).values())
    shown = [f"{name} {max(count[name] for count in counts):.0f} by one owner's count"
             for name in (counts[0] if counts else ())]
    shown += [f"{name} {times}" for name, times in report["said"].items()]
    return [", ".join(shown)] if shown else []


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
        f"{report['mode']}, {who_assigns(report)}: {report['chaos_seconds']:.0f} s, "
        f"{sum(row['times'] for row in rows if row['event'] != 'join')} events, "
        f"{report['owners']} owners, {sum(row['transitions'] for row in rows)} transitions, "
        f"{report['overlaps']} overlaps, longest gap "
        f"{max((row['longest_gap'] for row in rows), default=0.0):.3f} s")
    if report["limits"]:
        further = "many deaths at once {many_deaths:.2f} s more" \
            if "many_deaths" in report["limits"] \
            else "each further rebalance {further_rebalance:.2f} s more"
        lines.append(("a takeover may take {takeover:.2f} s, a planned move {handover:.2f} s, "
                      + further + "; a message is allowed {message_delay:.2f} s, finding a log's "
                      "new leader {leader_search:.2f} s").format(**report["limits"]))
        for near in report["nearest"][:3]:
            lines.append(f"nearest to its limit: {near['seconds']:.3f} of {near['limit']:.3f} s, "
                         f"slot {near['partition']}, by {near['by']}, {near['explained_by']}")
    lines += counted(report)
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
