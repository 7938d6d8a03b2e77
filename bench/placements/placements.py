#!/usr/bin/python3
"""What placements move, and how even they are: neliroute_placements over many sizes, in one JSON.

    bench/placements/placements.py --json FILE      40 seeds, 2 to 200 processes: minutes
    bench/placements/placements.py --quick          a few seeds and sizes: seconds

Everything but `sizes` (memory and seconds) is the same on any machine, however busy. What the
program printed is kept in --cache FOLDER, by the program's content and its arguments: what is
there is not computed again.
"""
import argparse
import csv
import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
from harness.process import environment, placements_path  # noqa: E402

LONGEST_S = 120  # one invocation
RESAMPLES = 300
SLOTS = 1024  # as many partitions: assignors and hash schemes then place the same things
SUMMED_UP = ("moved", "peak_after", "cv_after", "gain")
# Beside the defaults of all placements: what their parameters buy.
VARIANTS = ("ring:10", "ring:40", "ring:1000", "bounded:1.05", "bounded:2", "multiprobe:3",
            "multiprobe:100", f"maglev:{8 * SLOTS}")
# Others would lie on top of one of these.
BALANCED = "range,sticky,rendezvous,ring,bounded,multiprobe,maglev,anchor"
TIMED = ("range,roundrobin,sticky,uniform-4.1,assigner,rendezvous,ring,bounded,multiprobe,maglev,"
         "jump,anchor")

FULL = {
    "seeds": 40,
    "members": (2, 3, 4, 5, 6, 7, 9, 10, 12, 15, 19, 24, 30, 38, 48, 61, 77, 97, 122, 154, 194),
    "slot_counts": tuple(2**power for power in range(5, 16)),
    "walk_steps": 100,
    "sizes": (10, 30, 100, 300, 1000, 3000, 10000),
    "size_slots": 65536,
}
QUICK = {
    "seeds": 5,
    "members": (2, 4, 10, 30),
    "slot_counts": (64, 512, 4096),
    "walk_steps": 20,
    "sizes": (10, 100),
    "size_slots": 4096,
}


class Simulate:
    """Runs the program, or takes what it printed before."""

    def __init__(self, cache):
        self.program = placements_path()
        self.content = hashlib.sha256(Path(self.program).read_bytes()).hexdigest()
        self.cache = Path(cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        self.commands = []

    def rows(self, cached=True, **options):
        """The rows of one invocation; `cached` is for what does not depend on the machine."""
        words = ["--csv"]
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            words += [flag] if value is True else [flag, str(value)]
        self.commands.append("neliroute_placements " + " ".join(words))
        key = hashlib.sha256("\n".join([self.content, *words]).encode()).hexdigest()
        kept = self.cache / f"placements-{key[:24]}.csv"
        if not (cached and kept.is_file()):
            done = subprocess.run([self.program, *words], stdout=subprocess.PIPE, text=True,
                                  timeout=LONGEST_S, check=True, env=environment())
            unfinished = kept.with_suffix(".new")
            unfinished.write_text(done.stdout, encoding="utf-8")
            unfinished.rename(kept)
        with open(kept, encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))


def band(values):
    """Mean, 5th and 95th percentile, and a 95 % interval of the mean by bootstrap."""
    values = [float(value) for value in values]
    made = {"mean": round(statistics.fmean(values), 6)}
    if len(values) > 1:
        # Its own seed: the same rows give the same interval.
        draw = random.Random(len(values))
        means = sorted(statistics.fmean(draw.choices(values, k=len(values)))
                       for _ in range(RESAMPLES))
        twentieths = statistics.quantiles(values, n=20, method="inclusive")
        made.update(p5=round(twentieths[0], 6), p95=round(twentieths[-1], 6),
                    low=round(means[int(RESAMPLES * 0.025)], 6),
                    high=round(means[int(RESAMPLES * 0.975)], 6))
    return made


def summed_up(rows, **fixed):
    """One entry a placement: its seeds' rows of one step, as bands."""
    by_placement = {}
    for row in rows:
        by_placement.setdefault(row["placement"], []).append(row)
    return [{"placement": placement, **fixed,
             "least": round(statistics.fmean(float(row["least"]) for row in own), 6),
             **{name: band(row[name] for row in own) for name in SUMMED_UP}}
            for placement, own in by_placement.items()]


def by_members(simulate, sizes):
    """One process joins P others, names anywhere: moved against P."""
    made = []
    for members in sizes["members"]:
        rows = simulate.rows(trace="join", members=members, slots=SLOTS, partitions=SLOTS,
                             seeds=sizes["seeds"], steps=True)
        made += summed_up(rows, members=members, slots=SLOTS)
        print(f"placements: {members} processes and one more", flush=True)
    return made


def parameters_of_schemes(simulate, sizes):
    """Ten processes, one joins or one leaves: every scheme, and what its parameter buys."""
    made = []
    for trace in ("join", "leave"):
        for names in ("all", ",".join(VARIANTS)):
            rows = simulate.rows(trace=trace, placement=names, members=10, slots=SLOTS,
                                 partitions=SLOTS, seeds=sizes["seeds"], steps=True)
            made += summed_up(rows, trace=trace, members=10, slots=SLOTS)
    return made


def by_slots(simulate, sizes):
    """Ten processes and one more, ever more slots: what is chance, what is the scheme's own."""
    made = []
    for slots in sizes["slot_counts"]:
        rows = simulate.rows(trace="join", placement=BALANCED, members=10, slots=slots,
                             partitions=slots, seeds=sizes["seeds"], steps=True)
        made += summed_up(rows, members=10, slots=slots)
    print("placements: balance", flush=True)
    return made


def traces(simulate, sizes):
    """One membership trace, step by step."""
    made = {}
    for name, spec in (("walk", f"walk:{sizes['walk_steps']}"), ("rolling", "rolling")):
        rows = simulate.rows(trace=spec, members=10, slots=SLOTS, partitions=SLOTS, seeds=1,
                             steps=True)
        steps = {}
        for row in rows:
            steps.setdefault(row["placement"], []).append(
                {"members": int(row["members_after"]), "moved": int(row["moved"]),
                 "least": int(row["least"])})
        made[name] = {"trace": spec, "slots": SLOTS, "steps": steps}
    return made


def costs(simulate, sizes):
    """Memory and processor seconds of the tables themselves."""
    made = []
    for members in sizes["sizes"]:
        for row in simulate.rows(cached=False, placement=TIMED, members=members,
                                 slots=sizes["size_slots"], partitions=sizes["size_slots"],
                                 seeds=1, measure=True):
            made.append({"placement": row["placement"], "members": members,
                         "slots": sizes["size_slots"],
                         "first_seconds": float(row["first_seconds"]),
                         "step_seconds": float(row["slowest_step_seconds"]),
                         "memory_bytes": int(row["memory_bytes"])})
    print("placements: memory and seconds", flush=True)
    return made


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds and sizes")
    parser.add_argument("--json", metavar="FILE", help="write there, not to the output")
    parser.add_argument("--cache", metavar="FOLDER", help="keep there what the program printed")
    return parser.parse_args()


def main():
    """Runs it all."""
    options = arguments()
    sizes = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="neliroute-placements-") as folder:
        simulate = Simulate(options.cache or folder)
        result = {
            "parameters": {"slots": SLOTS, "first_seed": 1, **sizes},
            "by_members": by_members(simulate, sizes),
            "schemes": parameters_of_schemes(simulate, sizes),
            "by_slots": by_slots(simulate, sizes),
            "traces": traces(simulate, sizes),
            "costs": costs(simulate, sizes),
            "commands": simulate.commands,
        }
    text = json.dumps(result, indent=None, separators=(",", ":")) + "\n"
    if options.json:
        Path(options.json).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
