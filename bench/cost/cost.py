#!/usr/bin/python3
"""What ownership costs in steady state: an owner, a watcher and the servers of the ledger.

    bench/cost/cost.py                    every cell, about 7 minutes
    bench/cost/cost.py --cells assigner   4 and 10 processes, where a member assigns and in a group
    bench/cost/cost.py --cells sixty      60 processes, the same
    bench/cost/cost.py --cells ledgers    10 processes on Kafka, an etcd, a PostgreSQL, and voters
    bench/cost/cost.py --quick            one small cell of each

For each cell, over a window in steady state: processor time, resident and proportional memory,
threads, clients of librdkafka, bytes and requests per second of an owner and of a watcher, the
broker's processor time, and the records that were written, compared with the formulas of
docs/benchmarks.md. Where a member assigns, the broker has no setting of ours about groups.
"""
import argparse
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import machine  # noqa: E402
from meter import Meter, server_pids  # noqa: E402
from harness import children, deps  # noqa: E402
from harness.children import boot_now, wait_until  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import Fleet, environment, option_list, tool_path  # noqa: E402
from harness.stores.by_name import STORES  # noqa: E402

SLOTS = 4096


@dataclass(frozen=True)
class Cell:
    """One setting."""

    partitions: int = 256
    processes: int = 4
    logs: int = 4
    interval_ms: int = 500
    variation: str = "claimed"
    hints: bool = True
    assignment: str = "group"
    ledger: str = "kafka"

    @property
    def name(self):
        """For a topic, and for people."""
        source = "" if self.assignment == "group" else f"{self.assignment}-"
        source = source if self.ledger == "kafka" else f"{self.ledger}-"
        return (f"{source}{self.variation}{'' if self.hints else '-no-hints'}-m{self.partitions}"
                f"-p{self.processes}-l{self.logs}-i{self.interval_ms}")

    def options(self):
        """The tool's."""
        made = {"interval": f"{self.interval_ms}ms", "logs": min(self.logs, self.partitions)}
        if self.variation == "broadcast":
            made["variation"] = "broadcast"
            made["no_hints"] = not self.hints
        if self.assignment != "group":
            made["assignment"] = self.assignment
        return made

    def topic_partitions(self):
        """As many as a group assigns; an assigner needs the logs only."""
        logs = min(self.logs, self.partitions)
        return self.partitions if self.assignment == "group" else logs

    def most_records_a_second(self):
        """claimed: one renewal a log and process; the paper's: all write to all partitions."""
        per_interval = 1000 / self.interval_ms
        renewals = self.processes * min(self.logs, self.partitions) * per_interval
        if self.variation == "claimed":
            return renewals
        return self.processes * self.partitions * per_interval + (renewals if self.hints else 0)


# What a member costs with either source of assignments: those of an assigner have an aim.
SOURCES = [Cell(processes=processes, logs=1, assignment=assignment)
           for processes in (4, 10) for assignment in ("group", "assigner")]
SIXTY = [Cell(processes=60, logs=1, assignment=assignment) for assignment in ("group", "assigner")]
# A member assigns on each ledger.
LEDGERS = [Cell(processes=10, logs=1, assignment="assigner", ledger=ledger)
           for ledger in ("kafka", *STORES)]
# One thing varies at a time, around the cell that has an aim in the order of this project.
CELLS = [Cell(),
         Cell(partitions=64), Cell(partitions=1024),
         Cell(processes=2), Cell(processes=8), Cell(processes=12),
         Cell(logs=1), Cell(logs=16), Cell(processes=12, logs=1),
         Cell(interval_ms=100), Cell(interval_ms=2000),
         Cell(variation="broadcast"), Cell(variation="broadcast", hints=False),
         *(cell for cell in SOURCES if cell != Cell(logs=1))]
SETS = {"all": CELLS, "assigner": SOURCES, "sixty": SIXTY,
        "ledgers": LEDGERS}


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", choices=deps.VERSIONS, default=deps.DEFAULT_VERSION)
    parser.add_argument("--window", type=float, default=10.0, metavar="SECONDS",
                        help="how long each cell is watched at rest (default 10)")
    parser.add_argument("--cells", choices=SETS, default="all")
    parser.add_argument("--only", metavar="NAME,...", help="these of them, by name")
    parser.add_argument("--quick", action="store_true", help="two small cells, 3 s each")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    options.cells = SETS[options.cells]
    cells = {cell.name: cell for cell in options.cells}
    if options.quick:
        options.window = 3.0
        options.cells = [Cell(partitions=64, processes=2, assignment=assignment)
                         for assignment in ("group", "assigner")]
    elif options.only:
        unknown = [name for name in options.only.split(",") if name not in cells]
        if unknown:
            parser.error(f"no cell {', '.join(unknown)}; there are {', '.join(cells)}")
        options.cells = [cells[name] for name in options.only.split(",")]
    return options


def medians(rows):
    """The middle of each figure."""
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def start_watcher(kafka, folder, cell):
    """A process that owns nothing and reads the same logs."""
    options = {**kafka.place(cell.name), "group": cell.name, "partitions": cell.partitions,
               "slots": SLOTS, "json": True, **cell.options()}
    for not_a_watchers in ("interval", "variation", "no_hints", "assignment"):
        options.pop(not_a_watchers, None)
    with open(folder / "watcher.out", "wb") as out, open(folder / "watcher.err", "wb") as err:
        return children.spawn([tool_path(), "watch", *option_list(options)], stdout=out,
                              stderr=err, env=environment())


def ends(kafka, cell):
    """How many records there are."""
    return sum(kafka.admin.end_offsets(cell.name))


def measure(kafka, folder, cell, window):
    """One cell: started, at rest, watched."""
    folder = folder / cell.name
    folder.mkdir()
    # Created beforehand: sixty processes that all ask for it at once may wait for too long.
    kafka.admin.create_topic(cell.name, cell.topic_partitions())
    with Fleet(kafka, folder, topic=cell.name, partitions=cell.partitions, slots=SLOTS,
               witness=False, **cell.options()) as fleet:
        for _ in range(cell.processes):
            fleet.start()
        assignment = fleet.rest(60 + 4 * cell.processes)
        watcher = start_watcher(kafka, folder, cell) if cell.hints else None
        try:
            if watcher:
                wait_until(lambda: (folder / "watcher.out").stat().st_size > 0, 30,
                           "the watcher tells of an owner")
            owners = [owner.pid for owner in fleet.live()]
            servers = server_pids(kafka)
            records = ends(kafka, cell)
            meter = Meter([*owners, *servers] + ([watcher.pid] if watcher else []))
            rates = meter.after(window)
            records = ends(kafka, cell) - records
            seconds = boot_now() - meter.began
        finally:
            if watcher:
                children.end(watcher)
    return {"cell": asdict(cell), "name": cell.name,
            "owner": medians([rates[pid] for pid in owners]),
            "owned_partitions": len(assignment) // cell.processes,
            "watcher": rates[watcher.pid] if watcher else None,
            "broker_cpu_percent": sum(rates[pid]["cpu_percent"] for pid in servers),
            "broker_mib": sum(rates[pid]["proportional_mib"] for pid in servers),
            "records_s": records / seconds,
            "most_records_s": cell.most_records_a_second()}


# Head, and the figure of a row.
COLUMNS = [("records/s", lambda row: row["records_s"]),
           ("at most", lambda row: row["most_records_s"]),
           *((head, lambda row, name=name: row["owner"][name])
             for head, name in (("owner %", "cpu_percent"), ("MiB", "resident_mib"),
                                ("PSS MiB", "proportional_mib"), ("threads", "threads"),
                                ("clients", "clients"),
                                ("req/s", "requests_s"), ("kB/s out", "sent_kb_s"),
                                ("kB/s in", "received_kb_s"))),
           *((head, lambda row, name=name: row["watcher"] and row["watcher"][name])
             for head, name in (("watcher %", "cpu_percent"), ("MiB", "resident_mib"),
                                ("req/s", "requests_s"), ("kB/s in", "received_kb_s"))),
           ("broker %", lambda row: row["broker_cpu_percent"]),
           ("PSS MiB", lambda row: row["broker_mib"])]


def table(results):
    """The figures for people; processor time in percent of a core."""
    width = max(len(row["name"]) for row in results)
    lines = ["", " " * width + "".join(f" {head:>9}" for head, _ in COLUMNS)]
    for row in results:
        cells = [figure(row) for _, figure in COLUMNS]
        lines.append(f"{row['name']:<{width}}" + "".join(
            f" {'-':>9}" if cell is None else f" {cell:>9.2f}" for cell in cells))
    return "\n".join(lines)


def broker(options, ledger, assignment):
    """Servers for the cells of this source of assignments: as they come, with an assigner."""
    if ledger in STORES:
        return STORES[ledger]()
    if assignment != "group":
        return KafkaBroker(options.version, session_ms=None)
    return KafkaBroker(options.version, session_ms=3000, heartbeat_ms=300)


def is_over(row, window):
    """More records than the formula allows, though the window may have one more beat than its
    length says."""
    beats = 1.05 + row["cell"]["interval_ms"] / 1000 / window
    return row["records_s"] > row["most_records_s"] * beats


def main():
    """All cells, a topic each; those of a group on one broker, those of an assigner on another."""
    options = arguments()
    result = {"bench": "cost", **machine.context(kafka=options.version),
              "window_s": options.window, "cells": []}
    results = result["cells"]
    with tempfile.TemporaryDirectory(prefix="neliroute-cost-") as folder:
        for kind in dict.fromkeys((cell.ledger, cell.assignment) for cell in options.cells):
            with broker(options, *kind) as kafka:
                for cell in options.cells:
                    if (cell.ledger, cell.assignment) != kind:
                        continue
                    results.append(measure(kafka, Path(folder), cell, options.window))
                    print(f"{cell.name}: an owner takes {results[-1]['owner']['cpu_percent']:.2f} "
                          "% of a core", flush=True)
                    machine.save(options.json, result)
                    kafka.admin.delete_topic(cell.name)
    print(table(results))
    print(f"{result['command']}; load {result['machine']['load_at_start']:.1f} at the start")
    over = [row["name"] for row in results if is_over(row, options.window)]
    if over:
        print(f"more records than the formula allows: {', '.join(over)}", file=sys.stderr)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
