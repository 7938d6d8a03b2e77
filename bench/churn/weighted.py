#!/usr/bin/python3
"""What moves as processes of unequal weights come and go, and operators override weights and pins.

    bench/churn/weighted.py              P from 2 to 6 to 3, 64 and 256 partitions; some 4 minutes
    bench/churn/weighted.py --quick      P from 2 to 4 to 3, 64 partitions

A member assigns, on a stock Kafka 4.1.1. Each process has a weight; between joins, leaves and kills
some get another one (`neliroute weight`), and partitions are pinned to one of the processes that
live, and let go again (`neliroute pin`, `unpin`). After each event, from one steady state to the
next: what moved, and the least that had to for everybody to have the share of its weight, worked
out by itself (fair.py). Exit code 1: more than the least moved though no lease lapsed, or two led
at once in exclusive mode.
"""
import argparse
import collections
import dataclasses
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import fair  # noqa: E402
import machine  # noqa: E402
import steps  # noqa: E402
import walk  # noqa: E402
from harness import checker  # noqa: E402
from harness.children import boot_now  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import Fleet, run_tool  # noqa: E402

KAFKA = "4.1.1"
LOGS = 1
LEAST_SLOTS = 1024
WEIGHTS = (1, 1, 2, 3)
ORDERED = (0, 1, 2, 3, 5)
REST_S = 120


@dataclasses.dataclass(frozen=True)
class Event:
    """As walk.Event; `weight`: a new process's, or ordered; `partitions`: pinned or unpinned."""
    kind: str
    name: str = ""
    weight: int = 1
    partitions: tuple = ()

    def __str__(self):
        told = {"join": f" of weight {self.weight}", "weight": f" {self.weight}",
                "pin": f" {len(self.partitions)} partitions",
                "unpin": f"{len(self.partitions)} partitions"}.get(self.kind, "")
        return f"{self.kind} {self.name}{told}"


class State:
    """The weights of who lives, and what is pinned, as the events have it."""

    def __init__(self, made):
        self.weights = dict(made.first)
        self.pins = {}

    def take(self, event):
        """After it."""
        if event.kind in ("join", "weight"):
            self.weights[event.name] = event.weight
        elif event.kind in ("leave", "kill"):
            del self.weights[event.name]
        for partition in event.partitions:
            if event.kind == "pin":
                self.pins[partition] = event.name
            else:
                self.pins.pop(partition, None)


def _order(rng, state, partitions):
    """An event that an operator makes; of a kind that is possible now."""
    name = rng.choice(sorted(state.weights))
    kind = rng.choice(("weight", "pin", "unpin"))
    if kind == "unpin" and state.pins:
        count = rng.randint(1, len(state.pins))
        return Event("unpin", partitions=tuple(rng.sample(sorted(state.pins), count)))
    if kind == "weight":
        others = sum(weight for other, weight in state.weights.items() if other != name)
        return Event("weight", name, rng.choice(ORDERED if others else ORDERED[1:]))
    count = rng.randint(1, max(1, partitions // 8))
    return Event("pin", name, partitions=tuple(sorted(rng.sample(range(partitions), count))))


def walk_of(peak, partitions, seed):
    """The walk to `peak` processes with an override after each event of it. A process that leaves
    is not the last that may own something.
    """
    plain, rng = walk.make(peak, seed), random.Random(f"weights {seed}")
    made = walk.Walk(tuple((name, rng.choice(WEIGHTS)) for name in plain.first), ())
    state, events = State(made), []
    for one in plain.events:
        event = Event(one.kind, one.name, rng.choice(WEIGHTS) if one.kind == "join" else 1)
        if event.kind != "join" and not any(
                weight for name, weight in state.weights.items() if name != event.name):
            remaining = next(name for name in sorted(state.weights) if name != event.name)
            events.append(Event("weight", remaining, 1))
            state.take(events[-1])
        for event in (event, None):
            events.append(event or _order(rng, state, partitions))
            state.take(events[-1])
    return walk.Walk(made.first, tuple(events))


class WeightedFleet(Fleet):
    """At rest when everybody who lives has its share."""

    state = None

    def _assigned_rest(self, assignment):
        names = {owner.key: owner.name for owner in self.live()}
        if not set(assignment.values()) <= set(names):
            return None  # who leaves has not handed over
        owners = {partition: names[key] for partition, key in assignment.items()}
        return owners if fair.is_fair(owners, self.state.weights, self.state.pins) else None


class Cell:
    """One walk; its logs are judged when it is over."""

    def __init__(self, kafka, folder, partitions, options):
        self.kafka, self.partitions, self.options = kafka, partitions, options
        self.topic = f"weighted-{partitions}"
        self.folder = folder / self.topic
        self.folder.mkdir()
        self.walk = walk_of(options.peak, partitions, options.seed)
        self.state = State(self.walk)
        self.noted, self.least = [], []
        self.running = {}

    def _start(self, fleet, name, weight):
        self.running[name] = fleet.start(name, weight=weight)

    def _order(self, verb, *words):
        done = run_tool(verb, *words, limit=60, brokers=self.kafka.bootstrap, topic=self.topic,
                        **({"whole": True} if verb.endswith("pin") else {}))
        if done.code:
            raise AssertionError(str(done))

    def _carry_out(self, fleet, event):
        """The event; the instant just before it."""
        at = boot_now()
        if event.kind == "join":
            self._start(fleet, event.name, event.weight)
        elif event.kind == "kill":
            return self.running[event.name].kill()
        elif event.kind == "leave":
            return self.running[event.name].leave()
        elif event.kind == "weight":
            self._order("weight", event.name, str(event.weight))
        else:  # slot j is on partition j modulo their number
            slots = ",".join(map(str, event.partitions))
            self._order(event.kind, slots, *([event.name] if event.kind == "pin" else []))
        return at

    def _step(self, fleet, event, before):
        """Carried out, until everybody has its share."""
        # Before: at the first look afterwards the old shares must not pass for the new ones.
        self.state.take(event)
        at = self._carry_out(fleet, event)
        after = fleet.rest(REST_S)
        self.least.append(fair.least_moves(before, self.state.weights, self.state.pins))
        self.noted.append(steps.Noted(event, at, boot_now(), before, after,
                                      tuple(self.state.weights), ()))
        return after

    def run(self):
        """Walks; the figures."""
        self.kafka.admin.create_topic(self.topic, LOGS)
        with WeightedFleet(self.kafka, self.folder, topic=self.topic, mode=self.options.mode,
                           witness=False, partitions=self.partitions, assignment="assigner",
                           slots=max(LEAST_SLOTS, self.partitions),
                           session=f"{self.options.session_ms}ms") as fleet:
            fleet.state = self.state
            problem = ""
            try:
                for name, weight in self.walk.first:
                    self._start(fleet, name, weight)
                owners = fleet.rest(REST_S)
                for event in self.walk.events:
                    owners = self._step(fleet, event, owners)
            except (TimeoutError, AssertionError) as why:  # what it measured is kept
                problem = f"after {len(self.noted)} steps: {why}"
            finished = boot_now()
            report = fleet.report()
        rows = [{**steps.measured(noted, end, report.intervals), "least": least, "balanced": True}
                for noted, end, least in zip(self.noted, steps.ends(self.noted, finished),
                                             self.least)]
        for row, noted in zip(rows, self.noted):
            if row["moved"] != row["least"]:
                row.update(before=checker.describe(noted.before),
                           after=checker.describe(noted.after))
        return {"partitions": self.partitions, "steps": rows, "problem": problem,
                "violations": [str(found) for found in report.violations(
                    exclusive=self.options.mode == "exclusive")]}


def failures(cells):
    """What must never happen, as lines."""
    found = []
    for cell in cells:
        where = f"{cell['partitions']} partitions"
        found += [f"{where}: {one}" for one in cell["violations"]]
        found += [f"{where}: {cell['problem']}"] if cell["problem"] else []
        found += [f"{where}, {row['event']}: moved {row['moved']}, least {row['least']}\nbefore\n"
                  f"{row['before']}\nafter\n{row['after']}" for row in cell["steps"]
                  if row["moved"] != row["least"] and not row["stops"].get("lapsed")]
    return found


def table(cells):
    """The figures for people: a line for each kind of event."""
    lines = [f"{'M':>5} {'event':<8}{'n':>4}{'moved':>7}{'least':>7}{'twice':>7}"
             f"{'worst gap ms':>14}{'converged s':>13}"]
    for cell in cells:
        kinds = collections.defaultdict(list)
        for row in cell["steps"]:
            kinds[row["kind"]].append(row)
        for kind, rows in kinds.items():
            took = sorted(row["converged_s"] for row in rows)
            lines.append(f"{cell['partitions']:>5} {kind:<8}{len(rows):>4}"
                         f"{sum(row['moved'] for row in rows):>7}"
                         f"{sum(row['least'] for row in rows):>7}"
                         f"{sum(row['came_back'] + row['moved_twice'] for row in rows):>7}"
                         f"{steps.worst(rows, 'gap_ms'):>14.1f}{took[len(took) // 2]:>13.2f}")
    return "\n".join(lines)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", default=[64, 256], metavar="N,...",
                        type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--peak", type=int, default=6, metavar="PROCESSES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--session-ms", type=int, default=3000)
    parser.add_argument("--mode", choices=("exclusive", "non_exclusive"), default="exclusive")
    parser.add_argument("--quick", action="store_true", help="peak 4, 64 partitions")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.quick:
        options.peak, options.partitions = 4, [64]
    if not walk.LAST < options.peak <= walk.MOST_NAMES // 3:
        parser.error(f"--peak {options.peak}: choose {walk.LAST + 1} to {walk.MOST_NAMES // 3}")
    return options


def main():
    """Walks once with each number of partitions."""
    options = arguments()
    result = {**machine.context(kafka=KAFKA), "session_ms": options.session_ms,
              "mode": options.mode, "seed": options.seed, "peak": options.peak, "cells": []}
    with tempfile.TemporaryDirectory(prefix="neliroute-weighted-") as folder:
        with KafkaBroker(KAFKA, session_ms=None) as kafka:
            for partitions in options.partitions:
                result["cells"].append(Cell(kafka, Path(folder), partitions, options).run())
                machine.save(options.json, result)
    print(table(result["cells"]))
    print(f"{result['command']}; load {result['machine']['load_at_start']:.1f} at the start")
    found = failures(result["cells"])
    for failure in found:
        print(f"FAILURE {failure}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
