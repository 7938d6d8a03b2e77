#!/usr/bin/python3
"""Chaos on real Kafka: brokers and six owners on links of their own, one fault after another.

By hand: scripts/chaos --minutes 5 --mode exclusive. The run leaves a folder with every log in it;
judge.py and timeline.py work on that folder, and can be asked again.
"""
import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, deps, process  # noqa: E402
from harness.children import boot_now  # noqa: E402

import cluster  # noqa: E402
import evidence  # noqa: E402
import fleet as owners  # noqa: E402
import judge  # noqa: E402
import kinds  # noqa: E402
import network  # noqa: E402
import world  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
from case import PROTOCOLS, SLOW  # noqa: E402

TOPIC = "chaos"
PARTITIONS = 24
# Longer than the other Kafka tests' 500 ms: with two brokers and six owners on two cores a session
# of 500 ms expires now and then by itself, and what is to be seen here is what was injected.
SESSION_MS = {"consumer": 1000, "classic": 3000}
# Of three brokers, with each record on three: what production has rather than what is quickest. A
# broker that starts takes a core for seconds, and exclusive leases must last through that.
THREE_BROKERS_SESSION_MS = 6000
THREE_BROKERS_LEASE = {"exclusive": "4s"}  # the other mode's is longer than its session
# Where a member assigns, brokers are as they come, and the topic has its logs only. The session is
# the members' own. With 2 s and an interval of 100 ms on three brokers, at a load of 35, owners
# read nothing for 2.5 intervals now and then, so that sessions began again (A1), and an exclusive
# lease of 1.5 s ended while clients looked for a log's new leader, which takes them 2 s. With a
# lease of 1.1 s on two brokers, one of ten moves of a log's leader let leases end in other logs of
# the same brokers: these took nothing for a second (and not so with replica.fetch.backoff.ms at
# 100, a tenth of Kafka's own, in 15 moves).
ASSIGNED_SESSION_MS = {"exclusive": 5000, "non_exclusive": 3000}
# As where the group assigns: 2.25 s, which follow from a session of 3 s, ended when a third broker
# started and was slow to fetch, beside other work.
ASSIGNED_LEASE = {"exclusive": "4s"}
ASSIGNED_PROFILE = "balanced"  # the interval is a fifth of the session, at most 500 ms
MODES = ("exclusive", "non_exclusive")
TWO_AT_ONCE = 0.3
LEAVE_LIMIT = 60.0
HERE = Path(__file__).resolve().parent


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__.split("\n")[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=60.0, help="length of the chaos")
    length.add_argument("--minutes", type=float, help="the same in minutes")
    parser.add_argument("--mode", choices=(*MODES, "commit", "other"), default=MODES[0],
                        help="`commit`: each commit has one of the two; `other`: the one that it "
                             "has not (default exclusive)")
    parser.add_argument("--assignment", choices=sorted(kinds.BY_SOURCE), default="group",
                        help="who assigns: Kafka's consumer group, or one of the owners, on "
                             "brokers as they come (default group)")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS),
                        help="of the group (default consumer)")
    parser.add_argument("--brokers", type=int, choices=(2, 3), default=3,
                        help="3: as in production, replication 3, two in sync to write, three "
                             "controllers; 2: one controller, one in sync")
    parser.add_argument("--seed", default="1",
                        help="decides what is done, not when: a number, or `commit`, by which each "
                             "commit has its own")
    parser.add_argument("--warm", action="store_true",
                        help="owners prepare before a claim and warm up before they lead, each for "
                             "as long as it takes; one in four never gets ready")
    parser.add_argument("--stock", action="store_true",
                        help="brokers find each other dead, and lagging, after Kafka's own times "
                             "(9 s and 30 s) instead of 2 s and 5 s")
    parser.add_argument("--each-kind", action="store_true",
                        help="goes on until every kind has happened")
    parser.add_argument("--only", default="", metavar="KIND,...",
                        help=f"of {', '.join(kinds.kinds_of('group', 3))}; with --assignment "
                             "assigner also "
                             f"{', '.join(kind.kind for kind in kinds.BY_SOURCE['assigner'])}, "
                             "and none about the group")
    parser.add_argument("--out", type=Path, help="folder for logs, report and picture")
    parser.add_argument("-X", dest="properties", action="append", metavar="KEY=VALUE",
                        help="a librdkafka property for the owners, to try one out")
    parser.add_argument("--no-picture", action="store_true", help="draw no timeline")
    options = parser.parse_args()
    if options.minutes:
        options.seconds = 60 * options.minutes
    if options.assignment == "assigner" and options.protocol:
        parser.error("--protocol is the group's, and with --assignment assigner there is none: "
                     "leave it out")
    options.protocol = options.protocol or "consumer"
    options.only = [kind for kind in options.only.split(",") if kind]
    refused = kinds.refusal(options.only, options.assignment, options.brokers)
    if refused:
        parser.error(f"--only: {refused}")
    options.only = options.only or kinds.kinds_of(options.assignment, options.brokers)
    if options.mode not in MODES:
        number = seed_of_commit() + (options.mode == "other")
        options.mode = MODES[number % len(MODES)]
    if options.seed != "commit" and not options.seed.isdigit():
        parser.error("--seed: a number, or `commit`")
    options.commit = commit()  # of now: others may follow while it runs
    options.seed = seed_of_commit() if options.seed == "commit" else int(options.seed)
    return options


def commit():
    """Its short name; empty where git tells of none."""
    # Also of a tree that belongs to another user, as containers have it.
    asked = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(HERE), "rev-parse",
                            "--short=8", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else ""


def seed_of_commit():
    """A seed that this commit has and the next one has not; of the day where git tells of none."""
    name = commit()
    return int(name, 16) if name else int(time.time() // 86400)


class Deck:
    """Every kind comes once before any comes again; sometimes two at once."""

    def __init__(self, state, only):
        self._state, self._kinds = state, only
        self._cards = []
        self._left = set(only)

    def draw(self):
        """A kind."""
        if not self._cards:
            self._cards = list(self._kinds)
            self._state.random.shuffle(self._cards)
        kind = self._cards.pop()
        self._left.discard(kind)
        return kinds.KINDS[kind]

    def all_drawn(self):
        """Whether every kind came at least once."""
        return not self._left

    def second(self, first):
        """A kind that may overlap with the first, or None."""
        if not (first.process or first.broker) or self._state.random.random() > TWO_AT_ONCE:
            return None
        fits = [kinds.KINDS[name] for name in self._kinds
                if kinds.KINDS[name].process and not kinds.KINDS[name].at_rest]
        return self._state.random.choice(fits) if fits else None


def one_round(state, deck):
    """One fault, or two that overlap, and then rest."""
    first = deck.draw()(state)
    done = [first]
    first.start()
    state.hold(first.hold())
    kind = deck.second(first)
    if kind:
        done.append(kind(state, [getattr(first, "seat", None)]))
        done[1].start()
        state.hold(done[1].hold())
        state.random.shuffle(done)
    for fault in done:
        fault.finish()
    state.rest()
    for fault in done:
        state.log.write(what="rest", n=fault.number)
    print("  " + " + ".join(f"{fault.kind} {fault.owners or fault.detail or ''}"
                            for fault in sorted(done, key=lambda one: one.number)), flush=True)


def make_chaos(state, options, folder):
    """Rounds until the time is over; returns what went wrong with living, if anything."""
    for seat in state.seats:
        state.sit_down(seat)
    problem = ""
    try:
        state.rest()
        state.log.write(what="rest", n=0)
        print("at rest: " + ", ".join(f"{name} {value}" for name, value
                                      in state.learn_facts().items()), flush=True)
        state.log.write(what="chaos", **state.facts)
        deck, until = Deck(state, options.only), boot_now() + options.seconds
        while boot_now() < until or (options.each_kind and not deck.all_drawn()):
            one_round(state, deck)
    except Exception as error:  # whatever it was, what is there is judged, and the run has failed
        problem = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    state.log.write(what="over", problem=problem)
    if problem:
        evidence.keep(state, folder)
    elif SLOW > 1:
        problem = leave_all(state)
    return problem


def leave_all(state):
    """Everybody leaves as planned: what a sanitizer tells only of a process that ends in order."""
    owners = state.fleet.live()
    for owner in owners:
        owner.leave()
    try:
        codes = {owner.key: owner.wait_exit(LEAVE_LIMIT) for owner in owners}
    except TimeoutError as error:
        return str(error)
    bad = {key: code for key, code in codes.items() if code != 0}
    return f"who left ended with {bad}" if bad else ""


def timing(options):
    """(the brokers' session for a group or None, the topic's partitions, the owners' options)."""
    speaks = PROTOCOLS[options.protocol]
    if options.assignment == "assigner":
        own = {"profile": ASSIGNED_PROFILE, "assignment": "assigner",
               "session": f"{ASSIGNED_SESSION_MS[options.mode] * SLOW}ms",
               "lease": ASSIGNED_LEASE.get(options.mode) if SLOW == 1 else None}
        return None, cluster.LOGS, own
    session = SESSION_MS[options.protocol]
    if options.brokers > 2 or SLOW > 1:
        session = THREE_BROKERS_SESSION_MS
    lease = THREE_BROKERS_LEASE.get(options.mode) if options.brokers > 2 else None
    return session, PARTITIONS, {**speaks.options, "lease": lease}


def about_run(options, state):
    """What run.json says of a run, beside how it went."""
    lives = {key: {**life, "ended": None if life["ended"] == math.inf else life["ended"]}
             for key, life in state.lives().items()}
    return {"seed": options.seed, "commit": options.commit, "protocol": options.protocol,
            "kafka": PROTOCOLS[options.protocol].version, "mode": options.mode,
            "assignment": options.assignment, "warm": options.warm,
            "brokers": options.brokers, "stock": options.stock, "slow": SLOW,
            "seconds": options.seconds, "wall_minus_boot": time.time() - boot_now(),
            "facts": state.facts, "lives": lives}


def run(options, folder):
    """The run; its logs and run.json are in the folder then."""
    speaks = PROTOCOLS[options.protocol]
    network.make_hub()
    session, topic_partitions, own = timing(options)
    brokers = cluster.Cluster(folder, speaks, session, TOPIC, topic_partitions, options.brokers,
                              options.stock)
    log = world.ScriptLog(folder / "script.jsonl")
    with brokers.kafka as kafka:
        kafka.failed = True  # for all that is known before it is judged: its logs are kept
        log.write(what="begin", n=0, kind="topic_made", owners=[], logs=list(cluster.ALL_LOGS))
        brokers.make_topics()
        log.write(what="end", n=0)
        with owners.ChaosFleet(kafka, folder, topic=TOPIC, partitions=PARTITIONS,
                               slots=PARTITIONS, mode=options.mode,
                               X=options.properties, **own) as fleet:
            state = world.World(folder, brokers, fleet, log, options)
            stalls = world.StallWatch()
            problem = make_chaos(state, options, folder)
            counts = {} if problem else state.counts()
            evidence.keep_assignments(fleet, folder)
            fleet.end()
            state.close()
            about = {**about_run(options, state), "stalls": stalls.close(), "counts": counts,
                     "problem": problem}
            (folder / "run.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    log.close()
    brokers.close()


def picture(folder):
    """Draws the timeline with the Python that has matplotlib."""
    python = deps.cache_folder() / "python" / "bin" / "python"
    if not python.is_file():
        raise deps.MissingTool(f"{python} not found: run `scripts/setup --tests`")
    subprocess.run([str(python), "-B", str(HERE / "timeline.py"), str(folder)], check=True)


def main():
    """Exit code 0: nothing found."""
    options = arguments()
    speaks = PROTOCOLS[options.protocol]
    process.tool_path()
    process.witness_path()
    deps.kafka_jars(speaks.version)  # there is no way out to the world from inside
    deps.admin_classes(speaks.version)
    network.enter()
    folder = options.out or Path(tempfile.mkdtemp(prefix="neliroute-chaos-"))
    if (folder / "script.jsonl").exists():
        shutil.rmtree(folder)  # an earlier run's: owners append to their logs
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    print(f"chaos: {options.mode}, {judge.who_assigns(vars(options))}, {options.brokers} brokers, "
          f"Kafka {speaks.version}, seed {options.seed}, {options.seconds:g} s, logs in {folder}",
          flush=True)
    run(options, folder)
    report = judge.judge(folder)
    print(judge.table(report))
    if not options.no_picture:
        picture(folder)
    bad = bool(report["problem"] or report["findings"])
    if not bad:
        shutil.rmtree(folder / "brokers" if options.out else folder)
    children.end_all()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
