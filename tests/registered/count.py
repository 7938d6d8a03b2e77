#!/usr/bin/python3
"""Fails if a test program has fewer cases than `least` says, or is not there at all, or if fewer of
ctest's tests have a label.

    tests/registered/count.py LEAST CTEST BUILD NAME=PROGRAM...
"""
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def least_of(path):
    """{name: number} of the file."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: int(number) for name, number in rows}


def cases(program):
    """How many cases GoogleTest finds in it."""
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True,
                            check=True)
    return sum(line.startswith("  ") for line in listed.stdout.splitlines())


def labels(ctest, build):
    """{"label:" + name: how many tests have it} of a build folder."""
    # Listing empties the log of the run in the folder: this test is part of one.
    with tempfile.TemporaryDirectory(prefix="neliroute-registered-") as folder:
        (Path(folder) / "CTestTestfile.cmake").write_text(f"subdirs({json.dumps(build)})\n")
        listed = subprocess.run([ctest, "--test-dir", folder, "--show-only=json-v1"],
                                stdout=subprocess.PIPE, text=True, check=True)
    return collections.Counter(
        f"label:{label}" for test in json.loads(listed.stdout)["tests"]
        for one in test["properties"] if one["name"] == "LABELS" for label in one["value"])


def main():
    """Exit code 0: as many as there must be."""
    least = least_of(sys.argv[1])
    wanted = {name: least.pop(name) for name in list(least) if name.startswith("label:")}
    there = labels(*sys.argv[2:4])
    bad = [f"{name}: {there[name]} tests, and there must be {number}: was something not found that "
           "they need? Run `scripts/setup --tests` and configure again"
           for name, number in wanted.items() if there[name] < number]
    programs = dict(one.split("=", 1) for one in sys.argv[4:])
    bad += [f"{name}: no such program, and it must have {number} cases"
           for name, number in least.items() if name not in programs]
    bad += [f"{name} has no number in tests/registered/least" for name in programs
            if name not in least]
    for name in sorted(set(least) & set(programs)):
        found = cases(programs[name])
        print(f"{name}: {found} cases, at least {least[name]}")
        if found < least[name]:
            bad.append(f"{name} has {found} cases, {least[name] - found} fewer than it must: was "
                       "librdkafka found? Run `scripts/setup --tests` and configure again")
    print("\n".join(bad))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
