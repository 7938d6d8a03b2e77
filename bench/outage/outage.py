#!/usr/bin/python3
"""What share of calls is served while Kafka, or one of its brokers, is away for a while.

One cluster of three brokers with Kafka's own timings serves both modes at once: for each mode a
topic, two owners (`run --upstream`) with an application behind each, and a gateway. Each mode is
called in three ways: by its gateway, by any of its owners, and by a program that looks up the owner
with the library. Nothing of neliroute starts, stops or moves meanwhile. A call is served if it is
answered with 200 within its deadline. A cell is one fault of one length:

  outage.py --faults one-killed,one-frozen,all-frozen --seconds 1,10,60 --out rows.jsonl
  outage.py --table rows.jsonl

It needs root or user namespaces, and the programs routing_load and routing_application of
bench/routing.
"""
import argparse
import contextlib
import json
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / folder) for folder in ("tests", "tests/chaos", "bench/routing")]
from harness import deps, process  # noqa: E402
from harness.children import boot_now, wait_until  # noqa: E402
from harness.owners import free_port, start_owner  # noqa: E402

import away  # noqa: E402
import network  # noqa: E402
import records  # noqa: E402
import shares  # noqa: E402
from cast import KEY, Load, Process, address, program, wait_for  # noqa: E402

MODES, WAYS = ("non_exclusive", "exclusive"), ("gateway", "any", "library")
PARTITIONS, SLOTS, KEYS = 16, 256, 200
DEADLINE_MS, MARGIN_MS = 1000, 100  # of gateways and owners; what callers wait for longer
WARM_S, BEFORE_S, AFTER_S = 2, 5, 20
LED_S = 120


class Stage(contextlib.ExitStack):
    """What runs in a cell; `addCleanup` as a test has it."""

    def addCleanup(self, function, *arguments):
        """At the end, the last first."""
        self.callback(function, *arguments)


class Lane:
    """One mode: its topic, owners, applications and gateway."""

    def __init__(self, stage, kafka, mode, folder):
        self.folder = folder / mode
        self.folder.mkdir()
        self.topic = f"outage-{mode.replace('_', '-')}"
        self.lane = {"brokers": kafka.bootstrap, "topic": self.topic, "slots": SLOTS,
                     "partitions": PARTITIONS}
        self.owners = [self._owner(stage, mode, name) for name in ("alpha", "beta")]
        self.gateway = address(free_port())
        options = {**self.lane, "listen": self.gateway, "key": KEY, "deadline": f"{DEADLINE_MS}ms"}
        gateway = Process(self.folder, "gateway",
                          [process.tool_path(), "gateway", *process.option_list(options)])
        stage.callback(gateway.end)
        gateway.wait_said("gateway: http://", in_errors=True)

    def _owner(self, stage, mode, name):
        application = address(free_port())
        served = Process(self.folder, f"application-{name}",
                         [program("application"), "--listen", application, "--plain"])
        stage.callback(served.end, 0)
        served.wait_said("ready")
        return start_owner(stage, name, name, self.folder, {
            **self.lane, "mode": mode, "assignment": "assigner", "key": KEY, "name": name,
            "endpoint": address(free_port()), "upstream": application,
            "events": self.folder / f"{name}.events"})

    def wait_led(self):
        """Until its owners lead everything between them."""
        def led():
            for owner in self.owners:
                owner.refresh()
            return sum(len(owner.leading) for owner in self.owners) == PARTITIONS
        wait_until(led, LED_S, lambda: "\n".join(owner.error_tail() for owner in self.owners))

    def load(self, way, rate, folder):
        """Calls by this way, from now on."""
        targets = {"gateway": {"way": "one", "targets": self.gateway},
                   "any": {"way": "any", "targets": ",".join(
                       address(owner.port) for owner in self.owners)},
                   "library": {"way": "watch", **{name: self.lane[name]
                                                  for name in ("brokers", "topic")}}}
        folder.mkdir(parents=True)
        return Load(folder, rate=rate, keys=KEYS, slots=SLOTS, plain=True,
                    deadline_ms=DEADLINE_MS + MARGIN_MS, **targets[way])


class Scene:
    """A cluster and both lanes, on which one cell after the other is measured."""

    def __init__(self, stage, rooms, folder):
        folder.mkdir()
        self.cluster = away.Cluster(rooms)
        stage.enter_context(self.cluster.kafka)
        for mode in MODES:
            self.cluster.make_ledger(f"outage-{mode.replace('_', '-')}")
        self.lanes = {mode: Lane(stage, self.cluster.kafka, mode, folder) for mode in MODES}

    def cell(self, fault, seconds, rate):
        """A row for each mode and way."""
        self.cluster.wait_whole([lane.topic for lane in self.lanes.values()])
        for lane in self.lanes.values():
            lane.wait_led()
        name = f"{fault}-{seconds:g}"
        with Stage() as stage:
            loads = {}
            for mode, lane in self.lanes.items():
                for way in WAYS:
                    loads[mode, way] = lane.load(way, rate / len(WAYS), lane.folder / name / way)
                    stage.callback(loads[mode, way].end, 0)
            wait_for(WARM_S)
            marks = self._marks(fault, seconds)
            said = {key: load.stop() for key, load in loads.items()}
            for (mode, way), load in loads.items():
                yield {"fault": fault, "seconds": seconds, "lasted": round(marks[2] - marks[1], 1),
                       "mode": mode, "way": way,
                       **shares.of(records.read(load.saved), marks),
                       "refusals": [one["text"].strip() for one in
                                    said[mode, way]["refusals"][:3]]}

    def _marks(self, fault, seconds):
        """The instants between the phases, and the end of the last."""
        marks = [boot_now()]
        wait_for(BEFORE_S)
        marks.append(boot_now())
        with away.away(self.cluster, fault):
            wait_for(seconds)
        marks.append(boot_now())
        wait_for(AFTER_S)
        return [*marks, boot_now()]


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default=",".join(away.FAULTS))
    parser.add_argument("--seconds", default="1,10,60,600")
    parser.add_argument("--calls", type=float, default=500, help="a second and mode")
    parser.add_argument("--out", type=Path, help="a file that rows are added to, as they come")
    parser.add_argument("--keep", type=Path, help="an empty folder for the logs of all processes")
    parser.add_argument("--table", type=Path, metavar="ROWS",
                        help="print what such a file has, and measure nothing")
    given = parser.parse_args()
    given.faults = given.faults.split(",")
    given.seconds = [float(seconds) for seconds in given.seconds.split(",")]
    unknown = set(given.faults) - set(away.FAULTS)
    if unknown:
        parser.error(f"--faults {','.join(sorted(unknown))}: expected some of "
                     f"{','.join(away.FAULTS)}")
    return given


def measure(given, folder):
    """A cluster for each fault: what one leaves behind does not blur the next."""
    rooms, bad = away.make_rooms(folder), 0
    for number, fault in enumerate(given.faults):
        try:
            with Stage() as stage:
                scene = Scene(stage, rooms, folder / f"{number}-{fault}")
                for seconds in given.seconds:
                    for row in scene.cell(fault, seconds, given.calls):
                        tell(row, given.out)
        except (RuntimeError, TimeoutError, OSError):
            traceback.print_exc()
            bad += 1
    for room in rooms.values():
        room.close()
    return bad


def tell(row, out):
    """A line of JSON, to stdout or to the file."""
    text = json.dumps(row)
    print(text, flush=True)
    if out:
        with open(out, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def main():
    """Rows as they come, or the table of rows that are there."""
    given = arguments()
    if given.table:
        rows = [json.loads(line) for line in given.table.read_text("utf-8").splitlines()]
        print(shares.table([row for row in rows if "fault" in row], MODES, WAYS))
        return 0
    deps.kafka_jars(deps.DEFAULT_VERSION)  # in the machine's network
    network.enter()
    tell({"kafka": deps.DEFAULT_VERSION, "calls_a_second_and_mode": given.calls,
          "deadline_ms": DEADLINE_MS}, given.out)
    with tempfile.TemporaryDirectory() as folder:
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
        return 1 if measure(given, given.keep or Path(folder)) else 0


if __name__ == "__main__":
    sys.exit(main())
