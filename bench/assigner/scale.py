#!/usr/bin/python3
"""What large lanes cost where a member assigns, and how long they take to heal.

    bench/assigner/scale.py                  1,000 and 5,000 members, about 10 minutes
    bench/assigner/scale.py --members 1000   1,000 only
    bench/assigner/scale.py --short          three lanes of 1,000, as scripts/bench runs it
    bench/assigner/scale.py --whole          1,000 whole members instead of 20 among streams:
                                             some 4 GB, and half an hour
    bench/assigner/scale.py --quick          two small lanes
    bench/assigner/scale.py --draw-from FILE the tables again, of an earlier run's --json

Runs assigner_scale (build/bench/assigner, or NELIROUTE_SCALE) for each cell: 20 whole members among
record streams that go through the codec, in simulated time. Prints one table of the cells ("memory
of all" is what the program had at most), and one of the intervals that numbers of members need.
Records, bytes and times depend on the seed alone, processor time and memory on this machine.
Exit code 1: a lane did not heal.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import intervals  # noqa: E402
import machine  # noqa: E402

PROGRAM = REPOSITORY / "build" / "bench" / "assigner" / "assigner_scale"
SESSION_INTERVALS = 5
LONGEST_S = 1800
LONGEST_WHOLE_S = 7200  # each of a thousand reads every record


@dataclass(frozen=True)
class Cell:
    """One lane."""
    members: int
    partitions: int
    logs: int
    interval_ms: int
    deaths: tuple = (1, 10, 100)
    with_assigner: bool = False
    whole: int = 20

    def words(self):
        """Of assigner_scale's command line."""
        return ["--members", str(self.members), "--whole", str(self.whole), "--partitions",
                str(self.partitions), "--logs", str(self.logs),
                "--interval-ms", str(self.interval_ms), "--session-ms",
                str(SESSION_INTERVALS * self.interval_ms),
                "--deaths", ",".join(map(str, self.deaths)),
                *(["--with-assigner"] if self.with_assigner else [])]


CELLS = [*(Cell(1000, partitions, logs, interval_ms)
           for interval_ms in (500, 100) for partitions in (4096, 65536) for logs in (1, 4)),
         Cell(1000, 65536, 1, 500, with_assigner=True),
         *(Cell(5000, 65536, 1, interval_ms) for interval_ms in (2000, 500))]
SHORT = [Cell(1000, 4096, 1, 500), Cell(1000, 65536, 1, 500),
         Cell(1000, 65536, 1, 500, with_assigner=True)]
WHOLE = [Cell(1000, 4096, 1, 500, whole=1000)]


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, help="only lanes of so many")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--short", action="store_true", help="three lanes of 1,000")
    chosen.add_argument("--whole", action="store_true", help="1,000 members, all of them whole")
    chosen.add_argument("--quick", action="store_true", help="60 and 30 members, 256 partitions")
    parser.add_argument("--draw-from", metavar="FILE", help="measure nothing")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    options.cells = SHORT if options.short else WHOLE if options.whole else CELLS
    if options.quick:
        options.cells = [Cell(60, 256, 1, 500, (1, 10)),
                         Cell(30, 256, 1, 500, (1, 5), whole=30)]
    options.cells = [cell for cell in options.cells if options.members in (None, cell.members)]
    if not options.cells:
        parser.error(f"--members {options.members}: there are lanes of "
                     f"{', '.join(sorted({str(cell.members) for cell in CELLS}))}")
    return options


def measure(cell, seed, folder):
    """The figures of one lane."""
    program = Path(os.environ.get("NELIROUTE_SCALE") or PROGRAM)
    if not program.is_file():
        sys.exit(f"scale: error: {program} not found: run `cmake --build build --target "
                 "assigner_scale`, or name it in NELIROUTE_SCALE")
    out = folder / "cell.json"
    out.unlink(missing_ok=True)
    longest = LONGEST_WHOLE_S if cell.whole == cell.members else LONGEST_S
    done = subprocess.run([str(program), *cell.words(), "--seed", str(seed), "--json", str(out)],
                          capture_output=True, text=True, timeout=longest, check=False)
    if not out.is_file():
        raise RuntimeError(f"{' '.join(cell.words())}: {done.stderr}")
    found = json.loads(out.read_text(encoding="utf-8"))
    return {**found, "problem": done.stderr if done.returncode else ""}


def total(rest, name):
    """Over all logs: what each reader reads a second."""
    return sum(log[name] for log in rest["logs"])


def percent(rest, who):
    """Of a core: state machine, directory and decoding."""
    return (rest[who]["core_percent"] + rest[who]["directory_percent"]
            + rest["decoding_percent"])


def mebibytes(rest, who):
    """Of the heap: state machine and directory."""
    return (rest[who]["core_bytes"] + rest[who]["directory_bytes"]) / 2**20


def by_log(rest):
    """Records and kilobytes a second in log 0, and in each other log."""
    def of(log):
        return f"{log['records_per_s']:,.0f}, {log['bytes_per_s'] / 1000:,.0f} kB"
    first, *others = rest["logs"]
    return of(first) + (f" ({of(others[0])})" if others else "")


def healed(row):
    """1.01 x, 1.07 x, 1.03 x: for each number of deaths."""
    return ", ".join(f"{one['deaths']}: {one['sessions']:.2f} x" if one["led_again_ms"] >= 0
                     else f"{one['deaths']}: never" for one in row["healed"])


HEAD = ("members (whole), partitions, logs", "interval, session", "log 0 (each other log) a second",
        "each reader a second", "whole member: CPU", "the assigner's", "heap",
        "longest turn", "memory of all", "led again after so many deaths")


def line(row):
    """One lane, for people."""
    rest = row["at_rest"]
    longest = max([row["longest_start_ms"], *(one["longest_turn_ms"] for one in row["healed"])])
    return (f"{row['members']:,} ({row['whole']:,}), {row['partitions']:,}, {row['logs']}",
            f"{row['interval_ms']} ms, {row['session_ms'] / 1000:g} s", by_log(rest),
            f"{total(rest, 'records_per_s'):,.0f}, {total(rest, 'bytes_per_s') / 1e6:.1f} MB",
            f"{percent(rest, 'member'):.1f} %", f"{percent(rest, 'assigner'):.1f} %",
            f"{mebibytes(rest, 'member'):.1f} MiB", f"{longest:.0f} ms",
            f"{row['peak_resident_bytes'] / 2**20:,.0f} MiB",
            healed(row) + (" (the assigner among them)" if row["with_assigner"] else ""))


def table(rows):
    """In Markdown, as bench/results/assigner-scale.md has it."""
    return "\n".join(["", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|",
                      *(f"| {' | '.join(line(row))} |" for row in rows)])


def main():
    """Runs the cells, or reads what an earlier run found."""
    options = arguments()
    if options.draw_from:
        result = json.loads(Path(options.draw_from).read_text(encoding="utf-8"))
    else:
        result = {"bench": "assigner", **machine.context(), "seed": options.seed, "cells": []}
        with tempfile.TemporaryDirectory(prefix="neliroute-scale-") as folder:
            for cell in options.cells:
                print(" ".join(cell.words()), flush=True)
                result["cells"].append(measure(cell, options.seed, Path(folder)))
                machine.save(options.json, result)
    print(table(result["cells"]))
    print(intervals.table(result["cells"]))
    print(f"\n{result['command']}; load {result['machine']['load_at_start']:.1f} at the start")
    problems = [row["problem"] for row in result["cells"] if row["problem"]]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
