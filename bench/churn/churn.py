#!/usr/bin/python3
"""Churn on a real Apache Kafka: what moves as processes join, leave and are killed.

    bench/churn/churn.py                         P from 2 to 12 to 3, 64, 256 and 1,024 partitions
    bench/churn/churn.py --assignment assigner   the same where a member assigns, on a stock broker
    bench/churn/churn.py --assignment both       one after the other
    bench/churn/churn.py --quick                 P from 2 to 4 to 3, 64 partitions, two assignors

Processes join, leave and are killed, one after the other; then the last three are restarted one by
one. Where a member assigns, the broker has no setting of ours about groups, and --session-ms is the
processes' own.

For each event, from one steady state to the next: partitions moved, the least possible, those that
moved twice or away and back, how long each had no leader or two, how long it took; and what
`neliroute_placements` says of the same walk. `range` and `roundrobin` must do exactly what it says;
if `uniform` or `cooperative-sticky` moved more than the least, or another number than it says, the
assignments before and after are listed. Exit 1 if one of the first two differs, if an assigner
moved more than the least though no lease lapsed, if two led at once in exclusive mode, or if an
assignment in steady state is not balanced.
"""
import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import machine  # noqa: E402
import table  # noqa: E402
import walk  # noqa: E402
from cell import ASSIGNER, ASSIGNORS, Cell  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402

# The only one that the harness brings which has both protocols.
KAFKA = "4.1.1"


def numbers(text):
    """64,256 as [64, 256]."""
    return [int(number) for number in text.split(",")]


def assignors(text):
    """range,roundrobin as a list; refuses what is unknown."""
    names = text.split(",")
    for name in names:
        if name not in ASSIGNORS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ASSIGNORS)}")
    return names


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assignment", choices=("group", ASSIGNER, "both"), default="group",
                        help="who assigns: Kafka's group (default), a member, or both in turn")
    parser.add_argument("--partitions", type=numbers, default=[64, 256, 1024], metavar="N,...")
    parser.add_argument("--assignors", type=assignors, default=list(ASSIGNORS), metavar="NAME,...",
                        help="the group's")
    parser.add_argument("--peak", type=int, default=12, metavar="PROCESSES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--session-ms", type=int, default=3000,
                        help="of both group protocols, and of an assigner's members")
    parser.add_argument("--mode", choices=("exclusive", "non_exclusive"), default="exclusive")
    parser.add_argument("--timeline", type=int, nargs="?", const=0, metavar="PROCESSES",
                        help="keep who led what, when, in the join that first makes so many "
                        "(default: 6, or the peak)")
    parser.add_argument("--logs", metavar="FOLDER",
                        help="keep records, and every process's events and stderr, in this new "
                        "folder")
    parser.add_argument("--quick", action="store_true",
                        help="peak 4, 64 partitions, uniform and range")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.quick:
        options.peak, options.partitions = 4, [64]
        options.assignors = ["uniform", "range"]
    options.sources = [[ASSIGNER]] if options.assignment == ASSIGNER else [options.assignors]
    if options.assignment == "both":
        options.sources.append([ASSIGNER])
    if options.timeline == 0:
        options.timeline = min(6, options.peak)
    least, most = walk.LAST + 1, walk.MOST_NAMES // 3
    if not least <= options.peak <= most:
        parser.error(f"--peak {options.peak}: choose {least} to {most}")
    if options.timeline and not walk.FIRST < options.timeline <= options.peak:
        parser.error(f"--timeline {options.timeline}: joins make {walk.FIRST + 1} to "
                     f"{options.peak}")
    return options


def context(options, made):
    """Everything needed to take the figures again."""
    return {**machine.context(kafka=KAFKA), "session_ms": options.session_ms,
            "heartbeat_ms": options.session_ms // 10, "assignment": options.assignment,
            "mode": options.mode, "seed": options.seed,
            "peak": options.peak, "first": made.first, "walk": [str(one) for one in made.events]}


def failures(cells):
    """What must never happen, as lines."""
    found = []
    for cell in cells:
        where = f"{cell['assignor']}, {cell['partitions']} partitions"
        found += [f"{where}: {violation}" for violation in cell["violations"]]
        for row in cell["steps"]:
            if row["differs"] and not cell["sticky"]:
                found.append(f"{where}, {row['event']}: not as simulated: "
                             f"{', '.join(row['differs'])}")
            if (cell["assignor"] == ASSIGNER and row["moved"] != row["least"]
                    and not row["stops"].get("lapsed")):
                found.append(f"{where}, {row['event']}: moved {row['moved']}, least "
                             f"{row['least']}")
            if not row["balanced"]:
                found.append(f"{where}, {row['event']}: not balanced at rest")
    return found


def walked(kafka, folder, assignor, partitions, made, options):
    """The figures of one cell; a failed one must not affect the others."""
    cell = Cell(kafka, folder, assignor, partitions, made, options)
    try:
        return cell.run()
    except (TimeoutError, AssertionError) as why:
        return cell.figures([], [f"after {len(cell.noted)} steps: {why}"])


def save(result, path):
    """The JSON so far."""
    result["failures"] = failures(result["cells"])
    machine.save(path, result)


@contextlib.contextmanager
def folder_for(logs):
    """Where processes write: the folder that was asked for, or one that goes away."""
    if logs:
        Path(logs).mkdir(parents=True)
        yield Path(logs)
        return
    with tempfile.TemporaryDirectory(prefix="neliroute-churn-") as folder:
        yield Path(folder)


def broker(source, options):
    """A broker as these need it: with an assigner, as Kafka comes."""
    if source == [ASSIGNER]:
        return KafkaBroker(KAFKA, session_ms=None)
    return KafkaBroker(KAFKA, session_ms=options.session_ms,
                       heartbeat_ms=options.session_ms // 10)


def main():
    """Walks once in every cell, those of a group on one broker, those of an assigner on another."""
    options = arguments()
    made = walk.make(options.peak, options.seed)
    result = {**context(options, made), "cells": []}
    with folder_for(options.logs) as folder:
        for source in options.sources:
            with broker(source, options) as kafka:
                for partitions in options.partitions:
                    for assignor in source:
                        cell = walked(kafka, folder, assignor, partitions, made, options)
                        result["cells"].append(cell)
                        save(result, options.json)
                        print(table.cell_text(cell), flush=True)
    print(table.summary(result))
    print(f"  {result['command']}; load {result['machine']['load_at_start']:.1f} at the start")
    for failure in result["failures"]:
        print(f"FAILURE {failure}", file=sys.stderr)
    sys.exit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
