#!/usr/bin/python3
"""How soon processes are steady after a planned leave and after a join.

    bench/failover/planned.py                         a group, heartbeat 4.5 s, 10 of each
    bench/failover/planned.py --assignment assigner   a member assigns, on a stock broker
    bench/failover/planned.py --quick                 2 of each, for a look

With the consumer protocol a member learns of its assignment in the answer to a heartbeat; neliroute
sends one early if a record shows that the membership changed. Where a member assigns there are no
heartbeats: --session is the processes' own, with the tool's default otherwise. Measured is from
SIGTERM, or from the broker's time of the newcomer's first record, to the last change of owner that
followed, as the processes' event logs tell. Kafka 4.1.1. Prints both, and with --json FILE writes
every figure with the machine, the versions and the command behind it.
"""
import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
import machine  # noqa: E402
from harness.children import boot_now  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import Fleet  # noqa: E402

VERSION = "4.1.1"
# The aims: steady again within it. A group's members hear of an assignment by a heartbeat more.
SOON_MS = {"group": 300, "assigner": 200}


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--assignment", choices=("group", "assigner"), default="group")
    parser.add_argument("--heartbeat", type=int, metavar="MS",
                        help="of a group; its session is 10 times as long (default 4500)")
    parser.add_argument("--session", type=int, metavar="MS", help="where a member assigns")
    parser.add_argument("--mode", choices=("non_exclusive", "exclusive"), default="non_exclusive")
    parser.add_argument("--quick", action="store_true", help="2 repetitions")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.assignment == "assigner" and options.heartbeat is not None:
        parser.error("--heartbeat: there is no group where a member assigns")
    if options.assignment == "group" and options.session is not None:
        parser.error("--session: of a group, --heartbeat says it")
    if options.assignment == "group" and options.heartbeat is None:
        options.heartbeat = 4500
    if options.quick:
        options.repetitions = 2
    return options


def broker(options):
    """With an assigner, as Kafka comes."""
    if options.assignment == "assigner":
        return KafkaBroker(VERSION, session_ms=None)
    return KafkaBroker(VERSION, session_ms=10 * options.heartbeat, heartbeat_ms=options.heartbeat)


def settings(options):
    """The tool's options."""
    if options.assignment == "group":
        return {}
    session = {"session": f"{options.session}ms"} if options.session else {}
    return {"assignment": "assigner", **session}


def last_acquired(fleet, since):
    """When the last partition began to be led, of those that did after `since`."""
    fleet.refresh()
    return max((row["boot"] for owner in fleet.owners for row in owner.events.rows
                if row["event"] == "acquired" and row["boot"] >= since), default=since)


def first_record_at(kafka, topic, name, offset):
    """The broker's time of the first record of a process in log 0, on this machine's boot clock."""
    unix_minus_boot = time.time() - boot_now()
    for row in kafka.admin.read(topic, 0, offset):
        if json.loads(row["value"]).get("by") == name:
            return row["timestamp"] / 1000 - unix_minus_boot
    raise AssertionError(f"{name} wrote nothing to log 0")


def measure(kafka, folder, options):
    """Leaves and joins by turns, each from rest: milliseconds."""
    topic = "planned"
    found = {"leave_ms": [], "join_ms": []}
    with Fleet(kafka, folder, topic=topic, mode=options.mode, witness=False,
               partitions=options.partitions, slots=options.partitions * 16,
               **settings(options)) as fleet:
        for _ in range(options.processes):
            fleet.start()
        fleet.rest()
        for turn in range(options.repetitions):
            leaver = fleet.live()[0]
            since = leaver.leave()
            fleet.rest()
            found["leave_ms"].append((last_acquired(fleet, since) - since) * 1000)
            leaver.wait_exit()
            offset = kafka.admin.end_offsets(topic)[0]
            newcomer = fleet.start()
            began = boot_now()
            fleet.rest()
            since = first_record_at(kafka, topic, newcomer.name, offset)
            found["join_ms"].append((last_acquired(fleet, began) - since) * 1000)
            print(f"{turn}: leave {found['leave_ms'][-1]:.0f} ms, join "
                  f"{found['join_ms'][-1]:.0f} ms", flush=True)
    return found


def main():
    """Runs it on one broker."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="neliroute-bench-") as folder:
        with broker(options) as kafka:
            found = measure(kafka, Path(folder), options)
    about = {name: getattr(options, name) for name in
             ("assignment", "heartbeat", "session", "processes", "partitions", "mode")}
    soon_ms = SOON_MS[options.assignment]
    for what, times in found.items():
        print(f"{what}: median {statistics.median(times):.0f}, worst {max(times):.0f}; "
              f"{sum(ms <= soon_ms for ms in times)} of {len(times)} within {soon_ms} ms; "
              f"{options.assignment}, {options.mode}")
    machine.save(options.json, {**machine.context(kafka=VERSION), **about, **found})


if __name__ == "__main__":
    main()
