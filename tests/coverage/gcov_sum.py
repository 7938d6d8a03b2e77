#!/usr/bin/env python3
"""Adds up what gcov counted, over all programs: which lines of which file never ran.

  gcov_sum.py BUILD [--least PERCENT] [--show]     BUILD: built with --coverage, after tests

A line counts as covered if it ran in any program. Exit code 1 if a room that has a bound is below.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from typing import Iterable, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("slots/", "placement/", "neli_core/", "audit/", "ledgers/", "embedded_broker/")
BOUND = ("slots/", "placement/", "neli_core/", "audit/")
# path of the file from the root -> line -> how often it ran
Counts = dict[str, dict[int, int]]


class Share(NamedTuple):
    ran: int
    lines: int

    @property
    def percent(self) -> float:
        return 100 * self.ran / self.lines if self.lines else 100.0


def room_of(path: str) -> str | None:
    """The room of a file whose lines are counted; nothing for tests and libraries."""
    return next((room for room in ROOMS if path.startswith(room)), None)


def add(counts: Counts, report: dict, root: pathlib.Path) -> None:
    """Adds the JSON report of one object file: headers and unity builds make lines come often."""
    folder = report["current_working_directory"]
    for file in report["files"]:
        path = os.path.relpath(os.path.normpath(os.path.join(folder, file["file"])), root)
        if room_of(path) is None:
            continue
        lines = counts[path]
        for line in file["lines"]:
            number = line["line_number"]
            lines[number] = max(lines.get(number, 0), line["count"])


def notes_of(build: pathlib.Path) -> list[pathlib.Path]:
    """The notes of the objects that ran, and of all that the rooms are made of; what an earlier
    build left behind is of neither kind, and speaks of lines that are elsewhere now."""
    found = []
    for notes in sorted(build.rglob("*.gcno")):
        in_room = room_of(notes.relative_to(build).as_posix()) is not None
        if notes.with_suffix(".gcda").exists() or (in_room and notes.with_suffix(".o").exists()):
            found.append(notes)
    return found


def reports(build: pathlib.Path, gcov: str) -> Iterable[dict]:
    """gcov's report of each of them."""
    def one(notes: pathlib.Path) -> dict:
        done = subprocess.run([gcov, "--json-format", "--stdout", str(notes)], cwd=build,
                              capture_output=True, text=True, check=False)
        if done.returncode or not done.stdout.strip():
            sys.exit(f"gcov_sum.py: error: {gcov} cannot read {notes}: {done.stderr.strip()}; "
                     "it must be of the compiler's version (set GCOV)")
        return json.loads(done.stdout)

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield from pool.map(one, notes_of(build))


def share(files: Iterable[dict[int, int]]) -> Share:
    """Of the lines of these files."""
    counts = [count for lines in files for count in lines.values()]
    return Share(sum(count > 0 for count in counts), len(counts))


def ranges(numbers: Iterable[int]) -> str:
    """1-3, 7"""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def table(counts: Counts) -> list[str]:
    """A line a file, with the numbers of the lines that never ran, and a sum a room."""
    rows = []
    for room in sorted(ROOMS):
        files = {path: lines for path, lines in counts.items() if room_of(path) == room}
        for path, lines in sorted(files.items()):
            of = share([lines])
            missed = ranges(number for number, count in lines.items() if count == 0)
            rows.append(f"{path:<40}{of.ran:>5} of{of.lines:>5}{of.percent:>7.1f} %  {missed}")
        of = share(files.values())
        rows.append(f"= {room:<38}{of.ran:>5} of{of.lines:>5}{of.percent:>7.1f} %")
    return [row.rstrip() for row in rows]


def missed_text(counts: Counts, root: pathlib.Path) -> list[str]:
    """The lines that never ran, with their text."""
    shown = []
    for path, lines in sorted(counts.items()):
        text = (root / path).read_text(encoding="utf-8").split("\n")
        shown += [f"{path}:{number}: {text[number - 1].strip()}"
                  for number, count in sorted(lines.items()) if count == 0]
    return shown


def below(counts: Counts, least: float) -> list[str]:
    """What is wrong: a room below the bound, or one of which nothing was counted."""
    wrong = []
    for room in BOUND:
        of = share(lines for path, lines in counts.items() if room_of(path) == room)
        if not of.lines:
            wrong.append(f"{room}: nothing was counted; is this a build with --coverage?")
        elif of.percent < least:
            wrong.append(f"{room}: {of.percent:.2f} % of the lines ran, expected at least "
                         f"{least:g} %; test what the table names, or delete it")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Adds up what gcov counted.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=95)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    counts: Counts = collections.defaultdict(dict)
    for report in reports(options.build.resolve(), os.environ.get("GCOV", "gcov")):
        add(counts, report, ROOT)
    if options.show:
        print(*missed_text(counts, ROOT), sep="\n")
    print(*table(counts), sep="\n")
    wrong = below(counts, options.least)
    for what in wrong:
        print(f"gcov_sum.py: error: {what}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
