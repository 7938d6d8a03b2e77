#!/usr/bin/python3
"""Failover and hand-over, cell by cell, on a real Apache Kafka.

    bench/failover/matrix.py --cells headline     session 500 ms, 50 kills a cell
    bench/failover/matrix.py --cells assigner     the same where a member assigns, on stock brokers
    bench/failover/matrix.py --cells all          every event, session, protocol and mode
    bench/failover/matrix.py --cells seat         of these, what happens to the assigner itself
    bench/failover/matrix.py --cells large        60 processes; 65,536 partitions
    bench/failover/matrix.py --cells planned      leaves, joins and rolling restarts of a group and
                                                  where a member assigns, beside what claims take
    bench/failover/matrix.py --cells ledgers      a member assigns on Kafka, an etcd, a PostgreSQL
                                                  (one server each, with its own settings), and on
                                                  three voters
    bench/failover/matrix.py --cells quick        one of each event in both modes, for a look

Heartbeat = session/10, interval = session/5. Where a member assigns, the broker has no setting of
ours about groups, and the session is the members' own. Prints a table, and with --json FILE writes
every single time with the machine, the versions and the command behind it. Cutting links needs
root or user namespaces: the run then lives in a network of its own. Exit code 1: a cell failed, or
a partition was led twice where it must not be.
"""
import argparse
import contextlib
import dataclasses
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
sys.path.insert(0, str(REPOSITORY / "tests" / "chaos"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402
import machine  # noqa: E402
import network  # noqa: E402
from group import Group  # noqa: E402
from idle_assigner import WAYS, IdleAssigner  # noqa: E402
from harness import deps  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import tool_path  # noqa: E402
from harness.stores.by_name import STORES  # noqa: E402

NETWORK = "10.78"
HUB = f"{NETWORK}.0.1"
VERSIONS = {"consumer": "4.1.1", "classic": "3.9.1", "assigner": "4.1.1", "assigner-3.9": "3.9.1"}
MODES = ("non_exclusive", "exclusive")
SESSIONS = [("consumer", ms) for ms in (300, 500, 1000, 3000)] + [("classic", 3000)]
HARD = [("consumer", 500), ("classic", 3000)]  # where everything is done
SMALL, LARGE = (3, 8), (6, 256)
SLOTS = 4096
IN_GROUP = ("kills", "leaves", "stops", "cuts", "rollings", "hangs", "pairs", "machines")
EVENTS = (*IN_GROUP, "idles")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One group, and how often what is done to it."""
    protocol: str
    session_ms: int
    mode: str
    processes: int
    partitions: int
    kills: int = 0
    leaves: int = 0
    stops: int = 0
    cuts: int = 0
    rollings: int = 0
    hangs: int = 0  # of an executor
    pairs: int = 0  # the assigner and another owner killed at once
    machines: int = 0  # the same, and the voter that leads
    idles: int = 0  # an assigner that owns nothing is killed, stopped, half cut: so many of each
    metered: bool = False  # the processes say how long their claims took

    @property
    def slots(self):
        """At least one for each partition."""
        return max(SLOTS, self.partitions)

    @property
    def needs_links(self):
        """Whether each process has a link that can be cut."""
        return bool(self.cuts or self.idles)

    def settings(self):
        """The tool's options. The consumer protocol's session is the broker's."""
        found = {"interval": f"{self.session_ms // 5}ms"}
        if assigned(self.protocol):
            found["assignment"] = "assigner"
        if self.protocol != "consumer":
            found["session"] = f"{self.session_ms}ms"
        if self.processes > LARGE[0]:
            found["timeout"] = "60s"  # all start at once
        return found


def assigned(protocol):
    """Whether a member assigns, and no group of Kafka's."""
    return protocol.startswith("assigner") or protocol in STORES


def seat_cells():
    """What happens to an assigner, and a hung executor, which the hang limit of a group bounds."""
    return [cell for mode in MODES for cell in (
        Cell("assigner", 500, mode, *LARGE, hangs=5, pairs=10),
        Cell("assigner", 500, mode, *LARGE, idles=3))]


def planned_cells():
    """Planned moves of each source of assignments, beside what a claim takes to be read back."""
    return [Cell(protocol, 500, mode, *LARGE, leaves=10, rollings=2, metered=True)
            for protocol in ("consumer", "assigner", "assigner-3.9") for mode in MODES]


def ledger_cells():
    """The same on each ledger."""
    found = [Cell(protocol, session_ms, mode, *LARGE, kills=20, stops=5, leaves=5, rollings=1,
                  hangs=5)
             for session_ms in (500, 3000) for mode in MODES
             for protocol in ("assigner", *STORES)]
    return found + [Cell("quorum", 500, mode, *LARGE, machines=10) for mode in MODES]


def large_cells():
    """Many processes, and as many partitions as there may be, at the default session."""
    many = [Cell(protocol, 3000, mode, 60, 256, kills=5, leaves=5)
            for protocol in ("consumer", "assigner") for mode in MODES]
    return many + [Cell("assigner", 3000, mode, 6, 65536, kills=5, leaves=5) for mode in MODES]


def assigner_cells():
    """On both versions, in both modes: what a group does in the headline cells, planned moves, and
    what hangs.
    """
    found = [cell for protocol in ("assigner", "assigner-3.9") for mode in MODES for cell in (
        Cell(protocol, 500, mode, *SMALL, kills=20, leaves=10),
        Cell(protocol, 500, mode, *LARGE, kills=50, leaves=10),
        Cell(protocol, 500, mode, *LARGE, stops=5, cuts=5, rollings=2))]
    return found + planned_cells() + seat_cells()


def cells(which):
    """The cells of a run; those of one broker follow each other."""
    if which == "assigner":
        return assigner_cells()
    if which == "ledgers":
        return ledger_cells()
    if which == "large":
        return large_cells()
    if which == "seat":
        return seat_cells()
    if which == "planned":
        return planned_cells()
    if which == "quick":
        found = [Cell(protocol, 500, mode, *SMALL, kills=1, leaves=1, stops=1, cuts=1, rollings=1)
                 for protocol in ("consumer", "assigner") for mode in MODES]
        return [*found, Cell("assigner", 500, MODES[0], *SMALL, hangs=1, pairs=1),
                Cell("assigner", 500, MODES[0], *SMALL, idles=1),
                Cell("assigner", 500, MODES[1], *SMALL, leaves=1, rollings=1, metered=True)]
    found = []
    for protocol, session_ms in SESSIONS:
        head = (protocol, session_ms) == ("consumer", 500)
        for mode in MODES:
            cell = (protocol, session_ms, mode)
            if head:
                found.append(Cell(*cell, *SMALL, kills=50, leaves=10))
            if head or which == "all":
                found.append(Cell(*cell, *LARGE, kills=50 if head else 10, leaves=10))
            hard = which == "all" and cell[:2] in HARD
            if head or hard:
                found.append(Cell(*cell, *LARGE, hangs=5))
            if hard:
                found.append(Cell(*cell, *LARGE, stops=5, cuts=5, rollings=2))
    return found


def with_counts(found, counts):
    """The same cells with other counts where they had any; those with none left are gone."""
    for event in EVENTS:
        if counts[event] is not None:
            found = [dataclasses.replace(cell, **{event: counts[event]})
                     if getattr(cell, event) else cell for cell in found]
    return [cell for cell in found if any(getattr(cell, event) for event in EVENTS)]


def broker(protocol, session_ms, hosts=()):
    """A broker for these cells, or another store."""
    if protocol in STORES:
        return STORES[protocol]()
    if assigned(protocol):
        return KafkaBroker(VERSIONS[protocol], session_ms=None, hosts=hosts)
    return KafkaBroker(VERSIONS[protocol], session_ms=session_ms, heartbeat_ms=session_ms // 10,
                       hosts=hosts)


def grouped(kind, cell, kafka, folder, seats):
    """A group for a cell."""
    return kind(kafka, folder, mode=cell.mode, processes=cell.processes,
                partitions=cell.partitions, slots=cell.slots, settings=cell.settings(), seats=seats,
                can_hang=cell.hangs > 0, metered=cell.metered)


def lose_idle_assigners(cell, kafka, folder, seats):
    """A group for each, as the seat does not come back; the rows so far where one fails."""
    rows, problem = [], ""
    try:
        for turn in range(cell.idles):
            for way in WAYS:
                made = folder.with_name(f"{folder.name}-{way.replace(' ', '-')}-{turn}")
                with grouped(IdleAssigner, cell, kafka, made, seats) as group:
                    rows.append(group.lose(way))
    except Exception as error:  # whatever it was, the other cells can do without
        problem = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return {"problem": problem, "idle": rows,
            "violations": [found for row in rows for found in row["violations"]]}


def measure(cell, kafka, folder, seats=()):
    """One cell. What goes wrong ends only this cell, and what it measured is kept."""
    said = dataclasses.asdict(cell)
    print(", ".join(f"{name} {value}" for name, value in said.items() if value), flush=True)
    if cell.idles:
        return {**said, **lose_idle_assigners(cell, kafka, folder, seats)}
    group = grouped(Group, cell, kafka, folder, seats)
    problem = ""
    try:
        with group:
            for event in IN_GROUP:
                getattr(group, event)(getattr(cell, event))
    except Exception as error:  # whatever it was, the other cells can do without
        problem = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return {**said, "problem": problem, **group.result()}


@contextlib.contextmanager
def links(wanted, folder):
    """A seat for each process of the cells that cut links; none if no cell does."""
    count = max((cell.processes + bool(cell.idles) for cell in wanted if cell.needs_links),
                default=0)
    if count:
        network.make_hub([HUB])
    with contextlib.ExitStack() as undo:
        seats = []
        for number in range(count):
            seats.append(network.Seat(number + 1, folder, NETWORK))
            undo.callback(seats[-1].close)
        yield seats


def run(wanted, folder, keep):
    """All cells, those of one protocol and session on one broker; `keep` gets each one's figures.
    """
    with links(wanted, folder) as seats:
        for kind in dict.fromkeys((cell.protocol, cell.session_ms) for cell in wanted):
            left = [(number, cell) for number, cell in enumerate(wanted)
                    if (cell.protocol, cell.session_ms) == kind]
            try:
                with broker(*kind, hosts=[HUB] if seats else ()) as kafka:
                    while left:
                        number, cell = left.pop(0)
                        keep(measure(cell, kafka, folder / f"cell-{number}",
                                     seats if cell.needs_links else ()))
            except Exception as error:  # the broker's: its other cells have no figures
                traceback.print_exc()
                for _, cell in left:
                    keep({**dataclasses.asdict(cell), "problem": f"broker: {error}"})


def main():
    """Runs the cells that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="headline",
                        choices=("headline", "assigner", "seat", "large", "planned", "ledgers",
                                 "all", "quick"))
    for event in EVENTS:
        parser.add_argument(f"--{event}", type=int, metavar="N",
                            help="that many, in the cells that have any; 0 leaves them out")
    parser.add_argument("--session", type=int, metavar="MS", help="only the cells of this one")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    wanted = [cell for cell in with_counts(cells(options.cells), vars(options))
              if options.session in (None, cell.session_ms)]
    if not wanted:
        parser.error(f"--cells {options.cells} has none of {options.session} ms")
    tool_path()
    kafkas = {VERSIONS[cell.protocol] for cell in wanted if cell.protocol in VERSIONS}
    for version in kafkas:
        deps.admin_classes(version)  # from inside there is no way out to the world
    if any(cell.needs_links for cell in wanted):
        network.enter()
    context = machine.context(kafka=sorted(kafkas))
    result = {**context, "slots": SLOTS, "cells": []}

    def keep(row):
        result["cells"].append(row)
        machine.save(options.json, result)
    with tempfile.TemporaryDirectory(prefix="neliroute-bench-") as folder:
        run(wanted, Path(folder), keep)
    print(figures.matrix(result))
    sys.exit(any(row["problem"] or row.get("violations") for row in result["cells"]))


if __name__ == "__main__":
    main()
