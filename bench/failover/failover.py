#!/usr/bin/python3
"""How long nobody leads after a kill, a planned leave and a hand-over, on a real Apache Kafka.

    bench/failover/failover.py                      4.1.1, consumer protocol, session 500 ms
    bench/failover/failover.py --version 3.9.1      classic protocol, session 3 s
    bench/failover/failover.py --quick              two repetitions, for a look

Prints a table, and with --json FILE writes every figure with the machine, the versions and the
command behind it. All processes share one machine and its clock: times are differences of
CLOCK_BOOTTIME.
"""
import argparse
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402
import machine  # noqa: E402
from group import Group  # noqa: E402
from harness import deps  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from meter import Meter  # noqa: E402

# version -> (protocol, session ms, the tool's options)
KAFKAS = {"4.1.1": ("consumer", 500, {"interval": "100ms"}),
          "3.9.1": ("classic", 3000, {"interval": "100ms", "session": "3s"})}


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", choices=deps.VERSIONS, default=deps.DEFAULT_VERSION)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--partitions", type=int, default=256)
    parser.add_argument("--slots", type=int, default=4096)
    parser.add_argument("--idle", type=float, default=10.0, metavar="SECONDS",
                        help="how long the processes' use of the CPU is watched")
    parser.add_argument("--quick", action="store_true", help="2 repetitions, 3 s idle")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.idle = 2, 3.0
    return options


class Bench:
    """One run on one broker: a non-exclusive group, then an exclusive one."""

    def __init__(self, kafka, folder, options):
        self.kafka = kafka
        self.folder = Path(folder)
        self.options = options
        self.protocol, self.session_ms, self.settings = KAFKAS[options.version]

    def group(self, mode):
        """The processes, not started yet."""
        options = self.options
        return Group(self.kafka, self.folder / mode, mode=mode, processes=options.processes,
                     partitions=options.partitions, slots=options.slots, settings=self.settings)

    def idle(self, fleet):
        """Use of one core in percent, and resident bytes, of each process at rest."""
        used = Meter([owner.pid for owner in fleet.live()]).after(self.options.idle).values()
        return [one["cpu_percent"] for one in used], [one["resident_mib"] for one in used]

    def non_exclusive(self):
        """Kills, leaves and idle use."""
        with self.group("non_exclusive") as group:
            cpu, resident = self.idle(group.fleet)
            group.kills(self.options.repetitions)
            group.leaves(self.options.repetitions)
            found = group.result()
        times = found["taken_ms"]["kill"]
        return {"kill_ms": times, "kill_over_session": [t / self.session_ms for t in times],
                "planned_leave_gap_ms": found["gap_ms"]["leave"],
                "cpu_percent_of_a_core": cpu, "resident_mib": resident,
                "moves": found["moves"], "violations": found["violations"]}

    def exclusive(self):
        """Planned leaves and joins: how long each moved partition was led by nobody."""
        with self.group("exclusive") as group:
            group.leaves(self.options.repetitions)
            found = group.result()
        gaps = found["handover_gap_ms"]
        return {"exclusive_handover_gap_ms": gaps, "exclusive_transitions": len(gaps),
                "moves": found["moves"], "exclusive_violations": found["violations"]}


def main():
    """Runs it all on one broker."""
    options = arguments()
    _, session_ms, _ = KAFKAS[options.version]
    with tempfile.TemporaryDirectory(prefix="neliroute-bench-") as folder:
        with KafkaBroker(options.version, session_ms=session_ms,
                         heartbeat_ms=session_ms // 10) as kafka:
            bench = Bench(kafka, folder, options)
            result = {**figures.context(options, bench), **bench.non_exclusive()}
            moves = result["moves"]
            result.update(bench.exclusive())
            result["moves"] = moves + result["moves"]
    print(figures.table(result))
    machine.save(options.json, result)
    sys.exit(1 if result["violations"] or result["exclusive_violations"] else 0)


if __name__ == "__main__":
    main()
