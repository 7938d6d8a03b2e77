"""The parts of a whole benchmark run: which script, how it is called, what of it is compared.

A new bench is one more entry in PARTS, with a function in extract.py that names its figures; its
pictures are entries in draw.py's PLOTS.
"""
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import extract

REPOSITORY = Path(__file__).resolve().parents[2]
LOOKUP = "lookup_bench"
BY_SESSION = ("protocol", "session_ms", "heartbeat_ms", "settings", "processes", "partitions",
              "slots", "repetitions")


@dataclass(frozen=True)
class Run:
    """One invocation. {json} is the file that it writes, {cache} a folder that it may keep."""
    minutes: float  # it is ended after
    arguments: tuple


@dataclass(frozen=True)
class Part:
    """Some runs of one script, whose JSON goes into the whole under the names of both."""
    name: str
    script: str
    full: dict
    quick: dict  # none: it has no part in --quick
    parameters: tuple  # what of its JSON must be the same for figures to be comparable
    figures: Callable

    def runs(self, quick):
        """The runs by name."""
        return self.quick if quick else self.full

    def program(self):
        """The words that start it."""
        path = self.path()
        return ["/usr/bin/python3", "-B", str(path)] if path.suffix == ".py" else [str(path)]

    def path(self):
        """Where the script is, or the program that CMake built."""
        if self.script == LOOKUP:
            built = REPOSITORY / "build" / "bench" / "lookup" / LOOKUP
            return Path(os.environ.get("NELIROUTE_LOOKUP_BENCH") or built)
        return REPOSITORY / self.script


def python(minutes, *arguments):
    """A run of one of our scripts."""
    return Run(minutes, ("--json", "{json}", *arguments))


def google(minutes, *arguments):
    """A run of a program made with Google Benchmark."""
    return Run(minutes, ("--benchmark_out={json}", "--benchmark_out_format=json", *arguments))


PARTS = (
    Part("placements", "bench/placements/placements.py",
         full={"simulate": python(15, "--cache", "{cache}")},
         quick={"simulate": python(2, "--cache", "{cache}", "--quick")},
         parameters=("parameters",), figures=extract.placements),
    Part("lookup", LOOKUP,
         full={"table": google(25, "--benchmark_repetitions=10",
                               "--benchmark_enable_random_interleaving=true",
                               "--benchmark_min_time=0.1")},
         quick={"table": google(2, "--benchmark_min_time=0.005")},
         parameters=(), figures=extract.lookup),
    Part("failover", "bench/failover/failover.py",
         full={"kafka-4.1.1": python(10, "--version", "4.1.1"),
               "kafka-3.9.1": python(15, "--version", "3.9.1", "--repetitions", "4")},
         quick={"kafka-4.1.1": python(4, "--quick")},
         parameters=BY_SESSION, figures=extract.failover),
    Part("churn", "bench/churn/churn.py",
         full={"walk": python(30, "--timeline")},
         quick={"walk": python(4, "--quick", "--timeline")},
         parameters=("session_ms", "mode", "seed", "peak"), figures=extract.churn),
)


def chosen(names):
    """The parts of these names, in the order of PARTS; ValueError names one that is none."""
    known = {part.name for part in PARTS}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no part {name!r}; there are {', '.join(sorted(known))}")
    return [part for part in PARTS if part.name in names]
