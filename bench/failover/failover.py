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
import json
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402
from harness import checker, deps  # noqa: E402
from harness.children import boot_now, wait_until  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import Fleet  # noqa: E402

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
        self.moves = []

    def fleet(self, mode):
        """The group, started and at rest. No witness: its millisecond polling would be measured."""
        options = self.options
        folder = self.folder / mode
        folder.mkdir()
        fleet = Fleet(self.kafka, folder, topic=mode.replace("_", "-"), mode=mode, witness=False,
                      partitions=options.partitions, slots=options.slots, **self.settings)
        for _ in range(options.processes):
            fleet.start()
        return fleet

    def settle(self, what, fleet, before):
        """Waits for rest, and notes moved against least; the assignments where they differ."""
        after = fleet.rest()
        went, least = len(checker.moved(before, after)), checker.min_moves(before,
                                                                           set(after.values()))
        row = {"what": what, "moved": went, "least": least}
        if went != least:
            row.update(before=checker.describe(before), after=checker.describe(after))
        self.moves.append(row)
        return after

    def led_again(self, fleet, victim, held, killed):
        """Seconds from the kill until the last of the victim's partitions was acquired by others.

        Every partition has the same number of slots: all partitions led is every slot led.
        """
        fleet.wait_led()

        def acquired():
            first = {}
            for owner in fleet.owners:
                owner.refresh()
                for row in owner.events.rows:
                    if (owner is not victim and row["event"] == "acquired"
                            and row["boot"] > killed and row["partition"] in held):
                        first.setdefault(row["partition"], row["boot"])
            return len(first) == len(held) and max(first.values())
        return wait_until(acquired, 60, fleet.describe) - killed

    def kills(self, fleet, state):
        """SIGKILL of the oldest, again and again, each from rest and replaced by a new one."""
        times = []
        for turn in range(self.options.repetitions):
            victim = fleet.live()[0]
            held = set(victim.leading)
            killed = victim.kill()
            times.append(self.led_again(fleet, victim, held, killed) * 1000)
            state = self.settle(f"kill {turn}", fleet, state)
            fleet.start()
            state = self.settle(f"join {turn}", fleet, state)
            print(f"kill {turn}: every slot led again after {times[-1]:.0f} ms", flush=True)
        return times, state

    def leaves(self, fleet, state):
        """Planned leaves and joins, each from rest; the windows in which no gap may be."""
        windows = []
        for turn in range(self.options.repetitions):
            began = boot_now()
            leaver = fleet.live()[0]
            leaver.leave()
            state = self.settle(f"leave {turn}", fleet, state)
            leaver.wait_exit()
            windows.append((began, boot_now()))
            fleet.start()
            state = self.settle(f"join after leave {turn}", fleet, state)
        return windows, state

    def idle(self, fleet):
        """Use of one core in percent, and resident bytes, of each process at rest."""
        live = fleet.live()
        before = [owner.cpu_seconds() for owner in live]
        began = boot_now()
        # A window of time is what is measured here.
        wait_until(lambda: boot_now() >= began + self.options.idle, self.options.idle + 5, "idle")
        seconds = boot_now() - began
        cpu = [(owner.cpu_seconds() - then) / seconds * 100 for owner, then in zip(live, before)]
        return cpu, [owner.resident_bytes() / 2**20 for owner in live]

    def non_exclusive(self):
        """Kills, leaves and idle use."""
        with self.fleet("non_exclusive") as fleet:
            state = fleet.rest()
            cpu, resident = self.idle(fleet)
            times, state = self.kills(fleet, state)
            windows, state = self.leaves(fleet, state)
            report = fleet.report()
        gaps = [max((found.seconds * 1000 for found in
                     checker.gaps(report.intervals, fleet.partitions, begin, end)), default=0.0)
                for begin, end in windows]
        return {"kill_ms": times, "kill_over_session": [t / self.session_ms for t in times],
                "planned_leave_gap_ms": gaps,
                "cpu_percent_of_a_core": cpu, "resident_mib": resident,
                "violations": [str(found) for found in report.violations(exclusive=False)]}

    def exclusive(self):
        """Planned leaves and joins: how long each moved partition was led by nobody."""
        with self.fleet("exclusive") as fleet:
            state = fleet.rest()
            since = boot_now()
            self.leaves(fleet, state)
            report = fleet.report()
        gaps = [seconds * 1000
                for _, seconds, _, _ in checker.handovers(report.intervals, start=since)]
        return {"exclusive_handover_gap_ms": gaps, "exclusive_transitions": len(gaps),
                "exclusive_violations": [str(f) for f in report.violations(exclusive=True)]}


def main():
    """Runs it all on one broker."""
    options = arguments()
    _, session_ms, _ = KAFKAS[options.version]
    with tempfile.TemporaryDirectory(prefix="neliroute-bench-") as folder:
        with KafkaBroker(options.version, session_ms=session_ms,
                         heartbeat_ms=session_ms // 10) as kafka:
            bench = Bench(kafka, folder, options)
            result = {**figures.context(options, bench), **bench.non_exclusive()}
            result.update(bench.exclusive())
            result["moves"] = bench.moves
    print(figures.table(result))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if result["violations"] or result["exclusive_violations"] else 0)


if __name__ == "__main__":
    main()
