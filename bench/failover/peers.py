#!/usr/bin/python3
"""neliroute, etcd's elections and ZooKeeper's LeaderLatch: the same kill on the same machine.

    bench/failover/peers.py             sessions of 300 ms, 500 ms, 1 s and 3 s, 10 kills a cell
    bench/failover/peers.py --quick     session 500 ms, 2 kills a cell

One server of each kind, one kind at a time; members stamp what they gain themselves, on a clock
that all share. Needs etcd (Debian: etcd-server); ZooKeeper, Curator and jetcd come by Maven. Prints
a table, and with --json FILE writes every single time. Exit code 1: a cell failed.
"""
import argparse
import itertools
import statistics
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import elections  # noqa: E402
import figures  # noqa: E402
import machine  # noqa: E402
from group import Group  # noqa: E402
from harness import deps  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import tool_path  # noqa: E402
from harness.stores import by_name  # noqa: E402

# processes, roles. What we hold as 1 role is one partition: with 8 of them everybody has some.
SHAPES = ((3, 1), (3, 256), (6, 256))
OUR_LEAST = 8
SLOTS = 4096
OURS = "neliroute"
ASSIGNED = "assigner"  # ours, where a member assigns and the broker is a stock one
# The same, on one server of these with its own settings.
STORES = {f"on {name}": store for name, store in by_name.STORES.items()}
MINE = (OURS, ASSIGNED, *STORES)
MODE = "exclusive"  # as elections promise it
# The session at which we are set beside etcd, which has no choice of its own.
BESIDE_ETCD_MS = 500

FOOT = """\
Milliseconds from SIGKILL until others hold all that the victim held. max/mean: the greatest number
of roles of one process over the mean, at rest. ours/it, assigner/it: our median over this one's,
of the same processes and roles, at the same session (etcd: beside ours at {beside} ms).
neliroute: a heartbeat every tenth of a session, so Kafka expels the dead one 0.9 to 1 x session
after the kill; then one round through the log.
assigner: neliroute on a broker without settings of ours; a member says every fifth of a session
that it lives, so another takes it for dead 0.8 to 1 x session after the kill; then three rounds.
on etcd, on postgres, on quorum: the same, where an etcd or a PostgreSQL with its own settings, or
three voters, keep the log.
ZooKeeper: a client that is idle pings every third of its session (half of a read timeout of 2/3),
so the session ends 0.67 to 1 x session after the kill, rounded up to the next tick ({tick} ms).
etcd: leases are whole seconds and last at least 3/2 x election timeout, rounded up: 2 s at its
defaults, 1 s here ({heartbeat} and {election} ms). Its clients look every 500 ms whether a third of
one has passed, so it ends 0.5 to 1 s after the kill; the server looks for ended ones every 500 ms,
so roles are free after 0.5 to 1.5 s."""


def cell(system, session_ms, shape, work):
    """One cell by `work`, which fills in the row. What goes wrong ends only this cell."""
    processes, roles = shape
    print(f"{system}, session {session_ms} ms, {processes} processes, {roles} roles", flush=True)
    row = {"system": system, "session_ms": session_ms, "processes": processes, "roles": roles,
           "problem": "", "times_ms": []}
    try:
        work(row)
    except Exception as error:  # whatever it was, the other cells can do without
        row["problem"] = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return row


def theirs(kind, session_ms, shape, kills, folder):
    """One election on a server of its own: no session of an earlier cell is still to expire."""
    def work(row):
        with kind(folder) as server:
            with elections.Members(server, *shape, session_ms) as members:
                try:
                    members.kills(kills)
                finally:
                    row.update(members.result())
    return cell(kind.name, session_ms, shape, work)


def store_of(system, session_ms):
    """What keeps the log of ours."""
    if system in STORES:
        return STORES[system]()
    return KafkaBroker(session_ms=None if system == ASSIGNED else session_ms,
                       heartbeat_ms=session_ms // 10)


def ours(system, session_ms, shape, kills, folder):
    """The same on a group of ours, on a store of its own."""
    processes, roles = shape
    partitions = max(roles, OUR_LEAST)

    def work(row):
        settings = {"interval": f"{session_ms // 5}ms"}
        if system != OURS:
            settings.update(assignment="assigner", session=f"{session_ms}ms")
        with store_of(system, session_ms) as store:
            with Group(store, folder, mode=MODE, processes=processes, partitions=partitions,
                       slots=SLOTS, settings=settings) as group:
                try:
                    group.kills(kills)
                finally:
                    found = group.result()
                    row.update(times_ms=found["taken_ms"]["kill"], peaks=found["peaks"],
                               partitions=partitions, negotiated_ms=[session_ms])
        if found["violations"]:
            raise AssertionError("\n".join(found["violations"]))
    return cell(system, session_ms, shape, work)


def run(options, folder, keep):
    """All cells; `keep` gets each one's figures."""
    number = itertools.count()

    def fresh():
        return folder / f"cell-{next(number)}"
    for shape in options.shapes:
        keep(theirs(elections.Etcd, None, shape, options.kills, fresh()))
    for session_ms in options.sessions:
        for shape in options.shapes:
            for system in MINE:
                keep(ours(system, session_ms, shape, options.kills, fresh()))
            keep(theirs(elections.Zookeeper, session_ms, shape, options.kills, fresh()))


def add_ratios(rows):
    """Our median over each peer's."""
    medians = {(row["system"], row["session_ms"], row["processes"], row["roles"]):
               statistics.median(row["times_ms"]) for row in rows if row["times_ms"]}
    for row in rows:
        key = (row["session_ms"] or BESIDE_ETCD_MS, row["processes"], row["roles"])
        if row["system"] in MINE or not row["times_ms"]:
            continue
        for system, name in ((OURS, "ours_over_it"), (ASSIGNED, "assigner_over_it")):
            if mine := medians.get((system, *key)):
                row[name] = mine / statistics.median(row["times_ms"])


def first_of(problem):
    """What fits the table; the figures' file has all of it."""
    return problem.partition("\n")[0][:60]


def table(result):
    """The figures for people."""
    where, versions = result["machine"], result["versions"]
    lines = ["", f"{where['cores']} x {where['processor']}, load {where['load_at_start']:.1f} at "
             "the start", ", ".join(f"{name} {version}" for name, version in versions.items()),
             f"{'':<11}{'session':>8}{'in force':>9}{'P':>3}{'roles':>6}{'median':>8}{'worst':>8}"
             f"{'/session':>9}{'n':>4}{'max/mean':>9}{'ours/it':>8}{'assigner/it':>12}"]
    for row in result["cells"]:
        head = (f"{row['system']:<11}{row['session_ms'] or '-':>8}"
                f"{'/'.join(map(str, row.get('negotiated_ms', []))):>9}{row['processes']:>3}"
                f"{row['roles']:>6}")
        if not row["times_ms"]:
            lines.append(f"{head}  no figure: {first_of(row['problem'])}")
            continue
        median = statistics.median(row["times_ms"])
        ratios = [f"{row[name]:.2f}" if name in row else ""
                  for name in ("ours_over_it", "assigner_over_it")]
        lines.append(f"{head}{median:>8.0f}{max(row['times_ms']):>8.0f}"
                     f"{median / row['negotiated_ms'][-1]:>9.2f}{len(row['times_ms']):>4}"
                     f"{statistics.median(row['peaks']):>9.2f}{ratios[0]:>8}{ratios[1]:>12}")
        if row.get("lost_unprovoked"):
            lines.append(f"{'':<11}NOTE: members lost {row['lost_unprovoked']} roles by themselves")
        if row["problem"]:
            lines.append(f"{'':<11}FAILED then: {first_of(row['problem'])}")
    lines.append(FOOT.format(beside=BESIDE_ETCD_MS, tick=elections.Zookeeper.tick_ms,
                             heartbeat=elections.Etcd.heartbeat_ms,
                             election=elections.Etcd.election_ms))
    return "\n".join(lines)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10, help="a cell")
    parser.add_argument("--sessions", default="300,500,1000,3000", metavar="MS,...",
                        type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--shapes", default=SHAPES, metavar="PxROLES,...",
                        type=lambda text: [tuple(map(int, part.split("x")))
                                           for part in text.split(",")])
    parser.add_argument("--quick", action="store_true", help="500 ms, 3x1 and 3x256, 2 kills")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.quick:
        options.kills, options.sessions, options.shapes = 2, [500], SHAPES[:2]
    return options


def main():
    """Runs it all."""
    options = arguments()
    tool_path()
    versions = {"kafka": deps.DEFAULT_VERSION, "zookeeper": elections.ZOOKEEPER,
                "curator": elections.CURATOR, "jetcd": elections.JETCD,
                "etcd": machine.first_line(deps.need("etcd"), "--version").split()[-1]}
    context = machine.context(**versions)
    elections.classes("LatchMember", elections.zookeeper_jars())
    elections.classes("CampaignMember", elections.etcd_jars())
    result = {**context, "kills": options.kills, "slots": SLOTS, "mode": MODE,
              "settings": {"zookeeper": {"tickTime": elections.Zookeeper.tick_ms},
                           "etcd": {"heartbeat-interval": elections.Etcd.heartbeat_ms,
                                    "election-timeout": elections.Etcd.election_ms}},
              "cells": []}

    def keep(row):
        result["cells"].append(row)
        add_ratios(result["cells"])
        machine.save(options.json, result)
    with tempfile.TemporaryDirectory(prefix="neliroute-bench-") as folder:
        run(options, Path(folder), keep)
    print(table(result))
    sys.exit(any(row["problem"] for row in result["cells"]))


if __name__ == "__main__":
    main()
