#!/usr/bin/python3
"""What callers experience while owners move, on a real Apache Kafka.

    bench/routing/routing.py --out DIR                 every way and move, exclusive; 10 minutes
    bench/routing/routing.py --moves rolling --modes exclusive,non_exclusive
    bench/routing/routing.py --moves kill --without-keys 50
    bench/routing/routing.py --quick                   at rest, and two restarts three ways

Six owners; calls at a fixed rate, whatever becomes of those before. Each increments a counter once,
in a store that refuses older epochs. Latency counts from the time at which a call was due, and
late answers count. At the end the values are compared with the answers. With --without-keys some
calls have no idempotency key, so they count as often as they are carried out: nobody may send them
again who does not know that nothing was done.

Ways: any      (i)   a random owner, which forwards; another one, once, if it does not answer
      gateway  (ii)  neliroute gateway
      library  (iii) the caller looks up itself by a Watcher, and obeys 421
      envoy    (iv)  Envoy, by the files of neliroute watch --xds-dir
Moves: rest (a), rolling restart (b), kill (c), broker restart (d), scale 6 -> 12 -> 3 (e),
       hang: an executor hangs (f), stop: the same by SIGSTOP

Prints a table; writes routing.json, and a picture of each run, into DIR. With --plots docs/plots
the pictures of docs/benchmarks.md are made again, too.
Exit code: 1 if a value at the end is wrong (an increment lost or doubled, two processes under one
epoch), or if a call failed that the victim of a kill, hang or stop does not explain, or that was
due after others must have taken over from one that hangs or is stopped (seen only with --hang 25,
as a call waits up to 15 s for its answer); with --quick also if any call failed; 2 if a run could
not be carried out.
"""
import argparse
import contextlib
import itertools
import resource
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE), str(REPOSITORY / "bench"), str(REPOSITORY / "tests")]
import cell  # noqa: E402
import envoy  # noqa: E402
import machine  # noqa: E402
import table  # noqa: E402
from cast import SLOTS, program  # noqa: E402
from harness import children, deps  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import tool_path  # noqa: E402
from moves import MOVES, OWNERS  # noqa: E402
from ways import WAYS  # noqa: E402

KAFKA = "4.1.1"
MODES = ("exclusive", "non_exclusive")
# A rolling restart begins at rest, so one run at rest will do. None of these may lose a call.
QUICK = [("any", "rest"), ("any", "rolling"), ("gateway", "rolling"), ("library", "rolling")]


def some_of(known):
    """A list of these, by comma."""
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return names
    return parse


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", type=some_of(WAYS), default=list(WAYS), metavar="NAME,...")
    parser.add_argument("--moves", type=some_of(MOVES), default=list(MOVES), metavar="NAME,...")
    parser.add_argument("--modes", type=some_of(MODES), default=["exclusive"], metavar="MODE,...")
    parser.add_argument("--assignment", choices=("group", "assigner"), default="group")
    parser.add_argument("--rate", type=float, default=5000, help="calls a second (default 5000)")
    parser.add_argument("--session-ms", type=int, default=3000)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=15, help="of a run at rest")
    parser.add_argument("--rounds", type=int, default=1, help="of all runs")
    parser.add_argument("--quick", action="store_true",
                        help="rest, and two restarts for each of three ways; 500 calls a second")
    parser.add_argument("--out", type=Path, metavar="DIR", help="for routing.json and pictures")
    parser.add_argument("--plots", type=Path, metavar="DIR",
                        help="put pictures of (b), (c) and (e) by gateway and library there, "
                        "under their names in docs/plots")
    parser.add_argument("--draw-only", action="store_true",
                        help="measure nothing: draw what is in --out")
    parser.add_argument("--lease-ms", type=int, metavar="MS",
                        help="T, if it is not to follow from the session")
    parser.add_argument("--outage", type=float, default=0, metavar="SECONDS",
                        help="from the broker's stop to its start (default 0)")
    parser.add_argument("--hang", type=float, default=0, metavar="SECONDS",
                        help="for which an owner hangs or is stopped (default: until others "
                             "lead, and a second more)")
    parser.add_argument("--without-keys", type=int, default=0, metavar="PERCENT",
                        help="of the calls have no idempotency key (default 0)")
    parser.add_argument("--logs", type=Path, metavar="DIR",
                        help="keep what all processes wrote, in this new folder")
    options = parser.parse_args()
    options.restarts = 0
    if options.quick:
        options.ways = sorted({way for way, _ in QUICK})
        options.rate, options.seconds, options.restarts = 500, 3, 2
        options.session_ms, options.partitions = 2000, 32
    if not 300 <= options.session_ms <= 60_000:
        parser.error(f"--session-ms {options.session_ms}: choose 300 to 60000")
    if options.partitions < 1 or SLOTS % options.partitions:
        parser.error(f"--partitions {options.partitions}: choose a divisor of {SLOTS} slots")
    if not 0 <= options.without_keys <= 100:
        parser.error(f"--without-keys {options.without_keys}: choose 0 to 100")
    if not options.out and (options.plots or options.draw_only):
        parser.error("--plots, --draw-only: give --out DIR")
    if options.quick and options.plots:
        parser.error("--plots: a quick run is too short for figures")
    if options.rate < 1:
        parser.error(f"--rate {options.rate:g}: choose at least 1")
    return options


def without_envoy(options):
    """Leaves that way out where Envoy, or what writes its files, is not there."""
    if "envoy" not in options.ways:
        return
    helped = subprocess.run([str(tool_path()), "watch", "--help"], capture_output=True,
                            text=True, check=False, timeout=20).stdout
    missing = None if envoy.binary() else "Envoy is not installed (scripts/setup --tests, or set " \
        "NELIROUTE_ENVOY)"
    if "--xds-dir" not in helped:
        missing = "neliroute watch has no --xds-dir"
    if missing:
        print(f"routing: without way envoy: {missing}", file=sys.stderr)
        options.ways.remove("envoy")


def settings_of(options, mode, number):
    """Of the runs in this mode and round."""
    return cell.Settings(rate=options.rate, keys=options.keys, partitions=options.partitions,
                         session_ms=options.session_ms, assignment=options.assignment,
                         seconds=options.seconds, restarts=options.restarts, mode=mode,
                         round=number, outage_s=options.outage, hang_s=options.hang,
                         lease_ms=options.lease_ms, without_keys=options.without_keys)


def runs_of(options):
    """(round, mode, way, move) of each."""
    pairs = QUICK if options.quick else list(itertools.product(options.ways, options.moves))
    return [(number, mode, *pair) for number in range(1, options.rounds + 1)
            for mode in options.modes for pair in pairs]


def broker(options):
    """A broker as these need it: with an assigner, as Kafka comes."""
    if options.assignment == "assigner":
        return KafkaBroker(KAFKA, session_ms=None)
    return KafkaBroker(KAFKA, session_ms=options.session_ms,
                       heartbeat_ms=options.session_ms // 10)


def measure(options, folder, keep):
    """All runs on one broker; one that fails ends alone."""
    with broker(options) as kafka:
        for number, mode, way, move in runs_of(options):
            settings = settings_of(options, mode, number)
            print(f"  {way}, {move}, {mode}", flush=True)
            try:
                keep(cell.Cell(kafka, folder, way, move, settings).run())
            except Exception as error:  # whatever it was, the other runs can do without
                traceback.print_exc()
                keep(cell.failed(way, move, settings, f"{type(error).__name__}: {error}"))
                kafka.start()  # if it was the run that stopped it


def draw(out, plots):
    """By the Python that has matplotlib; whether it could."""
    python = deps.cache_folder() / "python" / "bin" / "python"
    if not python.is_file():
        print(f"routing: error: {python} not found: run `scripts/setup --tests`", file=sys.stderr)
        return False
    return subprocess.run([str(python), "-B", str(HERE / "draw.py"), str(out),
                           *([str(plots)] if plots else [])], check=False).returncode == 0


# Which failed calls the victim of a move does not explain: what a row calls them, and in words.
ELSEWHERE = {"failed_elsewhere": "calls failed of slots that the victim did not own"}
LATE = {"failed_beyond_bound": "that were due after others must have taken over"}
UNEXPLAINED = {
    "kill": {**ELSEWHERE, "failed_without_key_later": "without a key that began after it was gone"},
    "hang": {**ELSEWHERE, **LATE},
    "stop": {**ELSEWHERE, **LATE}}


def verdict(cells, drawn, quick):
    """The exit code, and why it is 1 where the table does not say so."""
    done = [row for row in cells if "problem" not in row]
    failed = [row for row in done if quick and row["failed"]]
    for row in failed:
        print(f"routing: error: {row['way']}, {row['move']}: {row['failed']} of {row['calls']} "
              f"calls failed: {row['failed_as']}; refused first of all: {row['refusals'][:3]}",
              file=sys.stderr)
    spread = [row for row in done
              if any(row.get(what) for what in UNEXPLAINED.get(row["move"], {}))]
    for row in spread:
        kinds = UNEXPLAINED[row["move"]].items()
        said = ", ".join(f"{row[what]} {text}" for what, text in kinds)
        print(f"routing: error: {row['way']}, {row['move']}: {said}", file=sys.stderr)
    if failed or spread or any(row["values"]["wrong"] for row in done):
        return 1
    return 0 if drawn and len(done) == len(cells) else 2


def main():
    """Exit code as above."""
    options = arguments()
    if options.draw_only:
        return 0 if draw(options.out, options.plots) else 2
    try:
        for name in ("store", "application", "load", "owner"):
            program(name)
        without_envoy(options)
        context = machine.context(kafka=KAFKA)
    except (FileNotFoundError, deps.MissingTool) as error:
        print(f"routing: error: {error}", file=sys.stderr)
        return 2
    # Each call under way has a connection; children inherit it.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    result = {"bench": "routing", **context, "quick": options.quick, "owners": OWNERS, "cells": []}
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)

    def keep(row):
        result["cells"].append(row)
        machine.save(options.out and options.out / "routing.json", result)
    with contextlib.ExitStack() as undo:
        if options.logs:
            options.logs.mkdir(parents=True)
        measure(options, options.logs or Path(undo.enter_context(
            tempfile.TemporaryDirectory(prefix="neliroute-routing-"))), keep)
        children.end_all()
    print(table.text(result["cells"]))
    print(table.added(result["cells"]))
    drawn = draw(options.out, options.plots) if options.out else True
    return verdict(result["cells"], drawn, options.quick)


if __name__ == "__main__":
    sys.exit(main())
