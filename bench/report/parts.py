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
REPEATED = ("--benchmark_repetitions=10", "--benchmark_enable_random_interleaving=true",
            "--benchmark_min_time=0.1")
BRIEFLY = "--benchmark_min_time=0.005"
BY_PLANNED = ("assignment", "heartbeat", "session", "processes", "partitions", "mode")
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
    quick: dict
    parameters: tuple  # what of its JSON must be the same for figures to be comparable
    figures: Callable
    in_quick: bool = False  # --quick runs it without being asked for it by --only

    def runs(self, quick):
        """The runs by name."""
        return self.quick if quick else self.full

    def program(self):
        """The words that start it."""
        path = self.path()
        return ["/usr/bin/python3", "-B", str(path)] if path.suffix == ".py" else [str(path)]

    def path(self):
        """Where the script is, or the program that CMake built."""
        if "/" in self.script:
            return REPOSITORY / self.script
        built = REPOSITORY / "build" / "bench" / "lookup"
        return Path(os.environ.get("NELIROUTE_BENCH_PROGRAMS") or built) / self.script


def python(minutes, *arguments):
    """A run of one of our scripts."""
    return Run(minutes, ("--json", "{json}", *arguments))


def google(minutes, *arguments):
    """A run of a program made with Google Benchmark."""
    return Run(minutes, ("--benchmark_out={json}", "--benchmark_out_format=json", *arguments))


# The minutes of all full runs together are at most 167; tests/bench holds them to it.
PARTS = (
    Part("placements", "bench/placements/placements.py",
         full={"simulate": python(8, "--cache", "{cache}")},
         quick={"simulate": python(3, "--cache", "{cache}", "--quick")}, in_quick=True,
         parameters=("parameters",), figures=extract.placements),
    Part("lookup", "lookup_bench",
         full={"table": google(9, *REPEATED)},
         quick={"table": google(2, BRIEFLY)}, in_quick=True,
         parameters=(), figures=extract.lookup),
    Part("schemes", "placement_bench",
         full={"table": google(3, *REPEATED)},
         quick={"table": google(2, BRIEFLY)}, in_quick=True,
         parameters=(), figures=extract.schemes),
    Part("waiting", "waiting_bench",
         full={"100000": python(1)},
         quick={"10000": python(1, "--waiters", "10000", "--limit-ms", "1000")}, in_quick=True,
         parameters=("waiters",), figures=extract.waiting),
    Part("large_m", "large_m",
         full={"join": python(2, "--partitions", "1024,10000,65536")},
         quick={"join": python(2, "--partitions", "1024")}, in_quick=True,
         parameters=(), figures=extract.large_m),
    Part("leaders", "leaders",
         full={"elections": python(2)},
         quick={"elections": python(1, "--seeds", "5")}, in_quick=True,
         parameters=("seeds", "election_ms"), figures=extract.leaders),
    Part("failover", "bench/failover/failover.py",
         full={"kafka-4.1.1": python(5, "--version", "4.1.1"),
               "kafka-3.9.1": python(6, "--version", "3.9.1", "--repetitions", "4")},
         quick={"kafka-4.1.1": python(4, "--quick")}, in_quick=True,
         parameters=BY_SESSION, figures=extract.failover),
    Part("churn", "bench/churn/churn.py",
         full={"walk": python(25, "--timeline"),
               "assigner": python(7, "--assignment", "assigner")},
         quick={"walk": python(5, "--quick", "--timeline"),
                "assigner": python(3, "--quick", "--assignment", "assigner")},
         parameters=("session_ms", "mode", "seed", "peak"), figures=extract.churn),
    Part("weights", "bench/churn/weighted.py",
         full={"walk": python(6)},
         quick={"walk": python(3, "--quick")},
         parameters=("session_ms", "mode", "seed", "peak"), figures=extract.weighted),
    Part("matrix", "bench/failover/matrix.py",
         full={"all": python(20, "--cells", "all"),
               "assigner": python(30, "--cells", "assigner")},
         quick={"all": python(5, "--cells", "quick")},
         parameters=("slots",), figures=extract.matrix),
    Part("planned", "bench/failover/planned.py",
         full={"group": python(3), "assigner": python(2, "--assignment", "assigner")},
         quick={"assigner": python(2, "--quick", "--assignment", "assigner")},
         parameters=BY_PLANNED, figures=extract.planned),
    Part("stream", "bench/failover/stream.py",
         full={"assigner": python(4), "group": python(4, "--assignment", "group")},
         quick={"assigner": python(2, "--rounds", "1")},
         parameters=("session_ms", "assignment"), figures=extract.stream),
    Part("assigner", "bench/assigner/scale.py",
         full={"lanes": python(5, "--short")},
         quick={"lanes": python(1, "--quick")},
         parameters=("seed",), figures=extract.assigner),
    Part("peers", "bench/failover/peers.py",
         full={"all": python(17)},
         quick={"all": python(5, "--quick")},
         parameters=("kills", "slots", "mode", "settings"), figures=extract.peers),
    Part("cost", "bench/cost/cost.py",
         full={"all": python(8)},
         quick={"all": python(2, "--quick")},
         parameters=("window_s",), figures=extract.cost),
)


def chosen(names):
    """The parts of these names, in the order of PARTS; ValueError names one that is none."""
    known = {part.name for part in PARTS}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no part {name!r}; there are {', '.join(sorted(known))}")
    return [part for part in PARTS if part.name in names]
