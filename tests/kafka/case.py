"""What the real-Kafka cases share: a broker a class, fleets of owners, and what is always checked.

By hand: `tests/kafka/life_test.py --protocol classic [--full] [unittest's own arguments]`.
"""
import argparse
import dataclasses
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import checker  # noqa: E402
from harness.children import boot_now, wait_until  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.process import Fleet, LineFile, run_tool  # noqa: E402
from harness.shared_broker import SharedBroker  # noqa: E402
from harness.stores.by_name import STORES  # noqa: E402

# By how much Kafka's assignors exceed the least number of moves when one process joins or goes: not
# at all where they were measured, so not at all here.
ASSIGNOR_EXCESS = 0

# Exclusive mode: a planned hand-over takes milliseconds; but whose lease lapsed, on a machine that
# let it wait, leads again only when it reads on. And what a machine may add to a takeover.
LONGEST_PLANNED_S, TAKEOVER_SLACK_S = 5.0, 5.0


# How long an owner waits for the store when it starts: brokers make a topic's partitions one by one
# and wait for the disk at each, on a busy machine for longer in all than the tool's own 10 s.
START = {"timeout": "60s"}


def longest_takeover_s(session_s):
    """Exclusive mode, after a kill: the session, a lease and a grace, which end later than the
    session only if a renewal was acknowledged late; then a rebalance, classic's being the longest
    (`non_exclusive_bound` in neli_core/timing.cc)."""
    lease, grace, rebalance = 0.75 * session_s, max(session_s / 20, 0.1), 3.5
    return session_s + lease + grace + rebalance + TAKEOVER_SLACK_S * SLOW


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A group protocol with the Kafka that speaks it and the tool's options for it; or none, where
    one of the processes assigns."""
    name: str
    version: str
    session_ms: int
    heartbeat_ms: int
    options: dict

    @property
    def grouped(self):
        """Whether Kafka's group assigns."""
        return self.name in ("consumer", "classic")

    @property
    def on_kafka(self):
        """Whether the store is Kafka."""
        return self.name not in STORES

    @property
    def stamped(self):
        """Whether records have the store's time."""
        return self.name != "etcd"


# With sanitizers a process is many times slower: then everything may last so much longer.
SLOW = 6 if os.environ.get("NELIROUTE_TEST_SLOW") else 1
PROTOCOLS = {
    # The session is the broker's, which the tool reads.
    "consumer": Protocol("consumer", "4.1.1", 500, 50,
                         {"profile": "fast", "assignment": "group"}),
    "classic": Protocol("classic", "3.9.1", 3000, 300,
                        {"profile": "fast", "assignment": "group", "session": "3s"}),
    "assigner": Protocol("assigner", "4.1.1", 500, 50,
                         {"profile": "fast", "assignment": "assigner", "session": "500ms"}),
    "etcd": Protocol("etcd", "3.4", 500, 50,
                     {"profile": "fast", "assignment": "assigner", "session": "500ms"}),
    "postgres": Protocol("postgres", "15", 500, 50,
                         {"profile": "fast", "assignment": "assigner", "session": "500ms"}),
    "quorum": Protocol("quorum", "1", 500, 50,
                       {"profile": "fast", "assignment": "assigner", "session": "500ms"}),
} if SLOW == 1 else {
    "consumer": Protocol("consumer", "4.1.1", 3000, 300,
                         {"profile": "balanced", "assignment": "group"}),
    "classic": Protocol("classic", "3.9.1", 6000, 600,
                        {"profile": "balanced", "assignment": "group", "session": "6s"}),
    "assigner": Protocol("assigner", "4.1.1", 3000, 300,
                         {"profile": "balanced", "assignment": "assigner", "session": "3s"}),
    "etcd": Protocol("etcd", "3.4", 3000, 300,
                     {"profile": "balanced", "assignment": "assigner", "session": "3s"}),
    "postgres": Protocol("postgres", "15", 3000, 300,
                         {"profile": "balanced", "assignment": "assigner", "session": "3s"}),
    "quorum": Protocol("quorum", "1", 3000, 300,
                       {"profile": "balanced", "assignment": "assigner", "session": "3s"}),
}


def protocol():
    """The protocol of this run."""
    return PROTOCOLS[os.environ.get("NELIROUTE_TEST_PROTOCOL", "consumer")]


def address_of(owner):
    """Where the admin port is of an owner with http="0" and json=True."""
    return next(row["http"] for row in LineFile(owner.output).read() if "http" in row)


def full():
    """Whether the long repetitions are wanted (`scripts/test --full`)."""
    return bool(os.environ.get("NELIROUTE_TEST_FULL"))


def main():
    """Runs the cases of the calling script."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS))
    parser.add_argument("--full", action="store_true")
    options, rest = parser.parse_known_args()
    if options.protocol:
        os.environ["NELIROUTE_TEST_PROTOCOL"] = options.protocol
    if options.full:
        os.environ["NELIROUTE_TEST_FULL"] = "1"
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2, failfast=False, testLoader=_Loader())


def kafka_only(test):
    """Marks a test of what no other store has: there it is none."""
    test.on_kafka = True
    return test


def beside_kafka(test):
    """Marks a test of what Kafka has not."""
    test.on_kafka = False
    return test


class _Loader(unittest.TestLoader):
    """Finds the tests that this run's store can have."""

    def getTestCaseNames(self, testCaseClass):
        here = protocol().on_kafka
        return [name for name in super().getTestCaseNames(testCaseClass)
                if getattr(getattr(testCaseClass, name), "on_kafka", here) == here]


class KafkaCase(unittest.TestCase):
    """One broker for all tests of a class; each test has a folder that is kept when it fails."""
    maxDiff = None
    security = None
    brokers = 1
    broker_properties = None
    store_options = ()  # of a store that is no Kafka
    store_tls = False
    store_rooms = ()  # where its servers run: links of tests/chaos/network.py

    @classmethod
    def setUpClass(cls):
        speaks = protocol()
        cls.kept = Path(tempfile.mkdtemp(prefix="neliroute-test-"))
        cls.addClassCleanup(cls._drop_folder)
        began = boot_now()
        shared = os.environ.get("NELIROUTE_TEST_BROKER")  # given to scripts that do it no harm
        if not speaks.on_kafka:
            rooms = {"rooms": cls.store_rooms} if cls.store_rooms else {}
            broker = STORES[speaks.name](cls.brokers, options=cls.store_options, tls=cls.store_tls,
                                         keep_logs=cls.kept / "broker", **rooms)
        elif shared and SharedBroker.serves(speaks.session_ms, speaks.heartbeat_ms):
            broker = SharedBroker(shared, cls.kept / "broker")
        else:
            broker = KafkaBroker(
                speaks.version, session_ms=speaks.session_ms, heartbeat_ms=speaks.heartbeat_ms,
                brokers=cls.brokers, security=cls.security, properties=cls.broker_properties,
                keep_logs=cls.kept / "broker")
        cls.kafka = cls.enterClassContext(broker)
        store = "Kafka" if speaks.on_kafka else speaks.name
        cls.note(f"{store} {cls.kafka.version} up in {boot_now() - began:.1f} s")

    @classmethod
    def _drop_folder(cls):
        if any(cls.kept.iterdir()):
            cls.note(f"logs kept in {cls.kept}")
        else:
            cls.kept.rmdir()

    @staticmethod
    def note(text):
        """A line in the test's log."""
        print(text, flush=True)

    def run(self, result=None):
        """Keeps this test's folder and the broker's logs if it failed."""
        def bad():
            return len(result.failures) + len(result.errors)
        before = bad()
        self.folder = self.kept / self._testMethodName
        self.folder.mkdir()
        began = boot_now()
        super().run(result)
        self.note(f"{self.id()}: {boot_now() - began:.1f} s")
        if bad() > before:
            self.kafka.failed = True
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        return result

    def topic(self):
        """A topic and group of this test's own, also where scripts share a broker."""
        return f"{type(self).__name__}-{self._testMethodName}".lower().replace("_", "-")

    def fleet(self, partitions=32, slots=256, topic=None, **options):
        """A fleet with this run's protocol and a topic of its own, ended with the test."""
        topic = topic or self.topic()
        # One folder a fleet: event files are appended to, and an old fleet's are not this one's.
        folder = Path(tempfile.mkdtemp(prefix=f"{topic}-", dir=self.folder))
        if protocol().name == "quorum":  # its voters say how many logs there are
            self.kafka.create_topic(topic, partitions, options.get("logs") or 1)
        return self.enterContext(Fleet(self.kafka, folder, topic=topic, partitions=partitions,
                                       slots=slots,
                                       **{**protocol().options, **START, **options}))

    def pair(self, name=None, **options):
        """A fleet in each mode."""
        topic = self.topic() + (f"-{name}" if name else "")
        return [self.fleet(topic=f"{topic}-{mode}".replace("_", "-"), mode=mode, **options)
                for mode in ("non_exclusive", "exclusive")]

    def start_rested(self, fleet, count, **options):
        """Starts `count` owners at once and returns the assignment when they are at rest."""
        for _ in range(count):
            fleet.start(**options)
        return fleet.rest()

    @staticmethod
    def leave(fleet, leaver=None):
        """The oldest, or this one, leaves as planned."""
        leaver = leaver or fleet.live()[0]
        leaver.leave()
        assert leaver.wait_exit() == 0, leaver.error_tail()

    @staticmethod
    def kill(fleet):
        """The oldest dies."""
        fleet.live()[0].kill()

    def live_without_writes(self, begin, end, says=(), name=None, keeps=False):
        """While the store takes no writes exclusive owners stop, and the others serve on. `says`:
        what each of them tells meanwhile. `name`: tells it from another one in the same test.
        `keeps`: no record is removed meanwhile."""
        calm, strict = fleets = self.pair(name=name)
        for fleet in fleets:
            self.start_rested(fleet, 2)
        since = boot_now()
        before = [self.records(fleet) for fleet in fleets if keeps]
        begin()
        wait_until(lambda: len(strict.unled()) == len(strict.partitions), 30,
                   lambda: f"nobody leads\n{strict.describe()}")
        for owner in [*calm.owners, *strict.owners]:
            wait_until(lambda owner=owner: all(one in owner.error_tail(10_000) for one in says),
                       20, lambda owner=owner: f"it says why\n{owner.error_tail(10_000)}")
        self.assertEqual([], calm.unled())
        end()
        for fleet in fleets:
            fleet.rest()
        for fleet, records in zip(fleets, before):
            self.assert_nothing_lost(fleet, records)
        strict.disturb(since, boot_now())
        for fleet in fleets:
            self.assert_clean(fleet, since, boot_now())

    def records(self, fleet):
        """Those of log 0: all that were acknowledged until now, at the least."""
        return self.kafka.admin.read(fleet.topic, 0)

    def assert_nothing_lost(self, fleet, before):
        """They are still there, each at its position."""
        self.assertTrue(before)
        after = self.kafka.admin.read(fleet.topic, 0, before[0]["offset"])
        self.assertEqual(before, after[:len(before)])

    def assert_moves(self, what, before, after):
        """Moved == the least possible, by ASSIGNOR_EXCESS, and balanced; else it is printed whole.

        `after` is a rest state, in which logs and group agree: so a partition that moved without
        need, or that one holds too many, is by the group's assignor: Kafka's uniform one or
        librdkafka's cooperative-sticky, of which both balance.
        """
        went = checker.moved(before, after)
        least = checker.min_moves(before, set(after.values()))
        self.note(f"{what}: moved {len(went)}, least {least}")
        counts = [list(after.values()).count(owner) for owner in set(after.values())]
        if not checker.balanced(counts) or len(went) != least:
            self.note(f"EXCEPTION {what}: moved {went}\n before\n{checker.describe(before)}\n"
                      f" after\n{checker.describe(after)}")
        self.assertLessEqual(len(went), least + ASSIGNOR_EXCESS, what)
        self.assertTrue(checker.balanced(counts), f"{what}: {sorted(counts)}")

    def assert_clean(self, fleet, since=None, until=None, session_s=None):
        """No violation by log or witness; in non-exclusive mode no gap outside the disturbances.

        Ends the fleet. Gaps are looked for in [since, until] if they are given. In exclusive mode
        they are bounded only if the session is given.
        """
        exclusive = fleet.defaults.get("mode") == "exclusive"
        lane = fleet.defaults.get("lane", 0)
        report = fleet.report()
        found = report.violations(exclusive)
        if since is not None:
            self.note(f"{fleet.group}: {report.transitions()} transitions, "
                      f"{report.worst(fleet.partitions, since, until, lane)}")
            undisturbed = report.unled(fleet.partitions, since, until, fleet.disturbances, lane)
            if not exclusive:
                found += undisturbed
            elif session_s is not None:
                found += self.too_long(undisturbed, LONGEST_PLANNED_S * SLOW, "planned")
                found += self.too_long(report.unled(fleet.partitions, since, until, lane=lane),
                                       longest_takeover_s(session_s), "any")
        if fleet.witness:
            for owner in fleet.owners:
                self.assertTrue(owner.samples.rows, f"the witness of {owner.key} wrote nothing")
        self.assertEqual([], [str(finding) for finding in found[:10]], f"{len(found)} findings")
        return report

    def too_long(self, gaps, most, what):
        """Those of more seconds than `most`; says how long the longest was."""
        longest = max((gap.seconds for gap in gaps), default=0.0)
        self.note(f"longest gap, {what}: {longest:.3f} s of at most {most:.3f} s")
        return [gap for gap in gaps if gap.seconds > most]

    def audit(self, topic, **options):
        """What `neliroute audit` finds, all of its rows, and the whole of it for messages."""
        done = run_tool("audit", **self.kafka.place(topic), json=True, **options)
        self.assertIn(done.code, (0, 1), done)
        rows = done.rows()
        found = [row for row in rows if "finding" in row]
        self.assertEqual(done.code, 1 if found else 0, done)
        self.assertEqual(rows[-1]["findings"], len(found), done)
        return found, rows, done

    def lookup(self, fleet, subcommand, *positional, **options):
        """`route` or `watch` with what a caller must know: no group protocol, no endpoint."""
        wanted = {name: fleet.defaults[name] for name in
                  ("group", "slots", "partitions", "profile")}
        wanted |= self.kafka.place(fleet.topic)
        wanted["mode"] = fleet.defaults.get("mode")
        return run_tool(subcommand, *positional, **{**wanted, **options})
