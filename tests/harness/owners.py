"""Owners that tests start with `neliroute run`: on ports that are free, until they lead it all."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from . import children, process
from .kafka_broker import free_ports
from .stores.by_name import STORES

STORE = STORES.get(os.environ.get("NELIROUTE_TEST_PROTOCOL"))  # None: the embedded broker


def free_port():
    """One that nobody listens on now, and no outgoing connection takes meanwhile."""
    return free_ports(1)[0]


def start_owner(case, key, name, folder, options):
    """`neliroute run`, ended with the test; `key` is for its files."""
    command = [process.tool_path(), "run", *process.option_list(options)]
    owner = process.Owner(key, name, folder, command, process.environment())
    if options.get("endpoint"):
        owner.port = int(options["endpoint"].rpartition(":")[2])
    case.addCleanup(children.end, owner.child, 0)
    return owner


def wait_shares(case, owners, partitions, limit):
    """Until they lead everything between them, each its share."""
    def settled():
        for owner in owners:
            case.assertTrue(owner.running(), owner.error_tail())
            owner.refresh()
        counts = [len(owner.leading) for owner in owners]
        return sum(counts) == partitions and max(counts) - min(counts) <= 1
    children.wait_until(settled, limit, lambda: "\n".join(o.error_tail() for o in owners))


def assigner(**lane):
    """Which member of the lane assigns; None: none does, as with Kafka's group."""
    done = process.run_tool("route", "any key", explain=True, json=True, **lane)
    return next((row["assigner"] for row in done.rows() if row.get("assigner")), None)


class LaneOwners(unittest.TestCase):
    """One embedded broker for the class, or the store that NELIROUTE_TEST_PROTOCOL names; each test
    has a topic, and so a lane, of its own."""
    partitions = 16
    more_topics = ()  # besides one for each test
    led_within = 40

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        if STORE:
            cls.store = cls.enterClassContext(STORE())
            return
        topics = [*unittest.TestLoader().getTestCaseNames(cls), *cls.more_topics]
        row = process.embedded_broker(cls.folder, cls.addClassCleanup,
                                      "--partitions", cls.partitions,
                                      *(part for topic in topics for part in ("--topic", topic)))
        cls.brokers = row["brokers"]

    def setUp(self):
        self.use(self.id().rpartition(".")[2])

    def use(self, topic, **options):
        """From now on, this lane."""
        self.topic = topic
        # Longer than a busy machine stands still, so nobody who lives counts as dead.
        place = self.store.place(topic) if STORE else {"brokers": self.brokers, "topic": topic}
        self.lane = {**place, "group": topic, "slots": 256, "partitions": self.partitions,
                     "profile": "fast", "session": "2s", **options}

    def path(self, name, kind):
        """A file of one process."""
        return self.folder / f"{self.topic}.{name}.{kind}"

    def start(self, name, **options):
        """`neliroute run`; None leaves an option out."""
        options = {**self.lane, "name": name, "endpoint": f"127.0.0.1:{free_port()}",
                   "events": self.path(name, "events"), **options}
        return start_owner(self, f"{self.topic}.{name}", name, self.folder, options)

    def gateway(self, **options):
        """`neliroute gateway`: its process and its port."""
        port, errors = free_port(), self.path("gateway", "err")
        options = {**self.lane, "listen": f"127.0.0.1:{port}", **options}
        with open(errors, "wb") as err:
            child = children.spawn([process.tool_path(), "gateway", *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child)
        children.wait_until(lambda: "gateway: http" in errors.read_text(), 30,
                            lambda: errors.read_text())
        return child, port

    def wait_led(self, *owners):
        """Until they lead everything between them, each its share."""
        wait_shares(self, owners, self.partitions, self.led_within)
