#!/usr/bin/python3
"""How much each ledger carries: Kafka, an etcd, a PostgreSQL (one server each, with its own
settings), and three voters.

    bench/ledgers/ledgers.py            about 17 minutes
    bench/ledgers/ledgers.py --quick    to see that it works

Members write records of 750 bytes to one log and read all of it, without the protocol, all in one
process (bench/ledgers/ledger_load.cc), on the machine of the servers: every 500 ms, more and more
of them, until records are read back too late: a member's renewal has a quarter of the interval. Of
45 and 60 members, for a minute: what the servers use. Then as fast as it goes. Needs the target
ledger_load.
Prints a table, and with --json FILE writes all figures.
"""
import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
import machine  # noqa: E402
from meter import proportional_mib, server_pids  # noqa: E402
from harness import children, deps  # noqa: E402
from harness.children import boot_now  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.stores.by_name import STORES  # noqa: E402

KINDS = ("kafka", *STORES)
FAST = ((1, 1), (8, 1), (20, 1), (20, 16))  # members, and how many records each has on the way
EVERY_MS = 500
STEPS = (20, 45, 60, 100, 150, 200, 300, 400, 600)
METERED, METERED_S = (45, 60), 60
LATE_MS = EVERY_MS / 4


def program():
    """What makes the load."""
    folder = os.environ.get("NELIROUTE_BENCH_PROGRAMS") or REPOSITORY / "build/bench/lookup"
    path = Path(folder) / "ledger_load"
    if not path.exists():
        sys.exit(f"no {path}: cmake --build build --target ledger_load")
    return path


def store_of(kind):
    """The servers of one."""
    return KafkaBroker(session_ms=None) if kind == "kafka" else STORES[kind]()


@contextlib.contextmanager
def new_log(kind, store, topic):
    """The address of an empty log: nobody reads what an earlier row left."""
    store.admin.create_topic(topic, 1)
    try:
        yield (f"kafka://{store.bootstrap}/{topic}" if kind == "kafka"
               else store.place(topic)["ledger"])
    finally:
        store.admin.delete_topic(topic)


def used(pid):
    """Processor time, and what it sent to a disk so far; none: it has gone."""
    try:
        rows = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
        return children.cpu_seconds(pid), int(dict(row.split(": ") for row in rows)["write_bytes"])
    except (FileNotFoundError, ProcessLookupError):
        return None


class Meter:
    """What the servers of a store use, from now on."""

    def __init__(self, store):
        self.store, self.began = store, boot_now()
        self.before = self._now()

    def _now(self):
        found = ((pid, used(pid)) for pid in server_pids(self.store))
        return {pid: row for pid, row in found if row}

    def rates(self):
        """Percent of a core, bytes an hour, memory."""
        seconds, now = boot_now() - self.began, self._now()
        cpu = sum(row[0] - self.before.get(pid, (0, 0))[0] for pid, row in now.items())
        wrote = sum(row[1] - self.before.get(pid, (0, 0))[1] for pid, row in now.items())
        return {"cpu_percent": cpu / seconds * 100,
                "written_mb_h": wrote / seconds * 3600 / 1e6,
                "proportional_mib": sum(proportional_mib(pid) for pid in now)}


def load(place, seconds, clients, **options):
    """The figures of one run."""
    words = [word for name, value in options.items()
             for word in (f"--{name.replace('_', '-')}", str(value))]
    done = subprocess.run([program(), "--ledger", place, "--clients", str(clients), "--seconds",
                           str(seconds), *words], capture_output=True, text=True, check=False,
                          timeout=seconds + 240)
    if done.returncode:
        return {"clients": clients, "problem": done.stderr.strip(), **options}
    return {**json.loads(done.stdout), **options}


def is_late(row):
    """Whether it is more than the ledger carries."""
    return "problem" in row or row["failed"] or row["read_back_ms"]["p99"] > LATE_MS


def measure(kind, seconds, fast, steps, keep):
    """One kind of ledger; `keep` gets each row."""
    topics = (f"load-{number}" for number in itertools.count())
    with store_of(kind) as store:
        for clients in steps:
            metered = clients in METERED and seconds > 1
            with new_log(kind, store, next(topics)) as place:
                meter = Meter(store) if metered else None
                row = load(place, METERED_S if metered else seconds, clients, every_ms=EVERY_MS)
                row = {"ledger": kind, **row, **(meter.rates() if meter else {})}
            keep(row)
            if is_late(row):
                break
        for clients, in_flight in fast:
            with new_log(kind, store, next(topics)) as place:
                keep({"ledger": kind, **load(place, seconds, clients, in_flight=in_flight)})


def line(row):
    """Of the table."""
    way = f"every {row['every_ms']} ms" if row.get("every_ms") else f"{row['in_flight']} each"
    head = f"{row['ledger']:<9} {row['clients']:>4} {way:>13}"
    if "problem" in row:
        return f"{head}  {row['problem'][:70]}"
    back = row["read_back_ms"]
    text = (f"{head} {row['stored_s']:>9.0f} {row['delivered_s']:>10.0f} {back['median']:>8.1f} "
            f"{back['p99']:>8.1f} {row['failed']:>7}")
    if "cpu_percent" in row:
        text += (f"   servers: {row['cpu_percent']:.0f} % of a core, "
                 f"{row['proportional_mib']:.0f} MiB, {row['written_mb_h']:.0f} MB written an hour")
    return text


HEAD = (f"{'ledger':<9} {'n':>4} {'writes':>13} {'stored/s':>9} {'delivered/s':>10} "
        f"{'back ms':>8} {'p99':>8} {'failed':>7}")


def main():
    """All of them, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ledgers", default=",".join(KINDS), metavar="NAME,...")
    parser.add_argument("--seconds", type=int, default=10, help="that each row is counted for")
    parser.add_argument("--quick", action="store_true", help="two rows of each, 1 s")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    kinds = options.ledgers.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"no ledger {', '.join(unknown)}; there are {', '.join(KINDS)}")
    seconds, fast, steps = options.seconds, FAST, STEPS
    if options.quick:
        seconds, fast, steps = 1, FAST[1:2], STEPS[:1]
    result = {"bench": "ledgers", **machine.context(kafka=deps.DEFAULT_VERSION), "rows": []}
    print(HEAD, flush=True)

    def keep(row):
        print(line(row), flush=True)
        result["rows"].append(row)
        machine.save(options.json, result)
    for kind in kinds:
        measure(kind, seconds, fast, steps, keep)
    sys.exit(any("problem" in row for row in result["rows"]))


if __name__ == "__main__":
    main()
