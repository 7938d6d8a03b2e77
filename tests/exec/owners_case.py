"""What these tests share: a broker, and owners with programs behind them."""
import http.client
import json
import re
import socket
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, process  # noqa: E402

FOLLOWER = Path(__file__).with_name("follower.py")
PARTITIONS = 16
KEY_COUNT = 40


def free_port():
    """One that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def call(port, method, target, body=None, headers=None, timeout=30):
    """One request on a connection of its own: status, headers, and the body as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        fields = dict(headers or {})
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        connection.request(method, target, body=body, headers=fields)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, answer.headers, json.loads(text) if text else None
    finally:
        connection.close()


class OwnersCase(unittest.TestCase):
    """One broker for the class; each test has a topic, and so a lane, of its own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        topics = unittest.TestLoader().getTestCaseNames(cls)
        row = process.embedded_broker(cls.folder, cls.addClassCleanup,
                                      "--partitions", PARTITIONS,
                                      *(part for topic in topics for part in ("--topic", topic)))
        cls.brokers = row["brokers"]

    def setUp(self):
        self.topic = self.id().rpartition(".")[2]
        self.lane = {"brokers": self.brokers, "topic": self.topic, "group": self.topic,
                     "slots": 256, "profile": "fast"}

    def path(self, name, kind):
        """A file of one process."""
        return self.folder / f"{self.topic}.{name}.{kind}"

    def owner(self, name, **options):
        """`neliroute run`; None leaves an option out."""
        options = {**self.lane, "name": name, "endpoint": f"127.0.0.1:{free_port()}",
                   "events": self.path(name, "events"), **options}
        command = [process.tool_path(), "run", *process.option_list(options)]
        owner = process.Owner(f"{self.topic}.{name}", name, self.folder, command,
                              process.environment())
        self.addCleanup(children.end, owner.child, 0)
        return owner

    def watcher(self, **options):
        """`neliroute watch`, and the port of its admin port."""
        errors = self.path("watcher", "err")
        with open(errors, "wb") as err, open(self.path("watcher", "out"), "wb") as out:
            child = children.spawn(
                [process.tool_path(), "watch", *process.option_list({**self.lane, **options})],
                stdout=out, stderr=err, env=process.environment())
        self.addCleanup(children.end, child, 0)
        return admin_port(errors)

    def follower(self, name, mode, **options):
        """An owner with the program follower.py behind it. Its `port` is the program's."""
        port = free_port()
        log = self.path(name, "log")
        log.touch()
        program = " ".join(map(str, ("exec", sys.executable, "-B", FOLLOWER, port, log, mode)))
        owner = self.owner(name, **{"upstream": f"127.0.0.1:{port}", "key": "header:X-Key",
                                    "exec": program, **options})
        owner.port = port
        owner.log = process.LineFile(log)
        return owner

    def wait_led(self, *owners):
        """Until they lead everything between them, each its share."""
        def settled():
            for owner in owners:
                self.assertTrue(owner.running(), owner.error_tail())
                owner.refresh()
            counts = [len(owner.leading) for owner in owners]
            return sum(counts) == PARTITIONS and max(counts) - min(counts) <= 1
        children.wait_until(settled, 40, lambda: "\n".join(o.error_tail() for o in owners))

    def wait_row(self, owner, timeout=20.0, **fields):
        """Until its event log has a row with these fields: that row."""
        def found():
            owner.refresh()
            return next((row for row in owner.events.rows
                         if fields.items() <= row.items()), None)
        return children.wait_until(found, timeout,
                                   lambda: f"{fields}\n{owner.error_tail()}")

    def keys(self):
        """{key: the name of its owner}, by `neliroute route`."""
        rows = process.run_tool("route", *(f"k{n}" for n in range(KEY_COUNT)), json=True,
                                **self.lane).rows()
        return {row["key"]: row["owner"] for row in rows}


def admin_port(errors):
    """The port that a process logs."""
    found = children.wait_until(
        lambda: re.search(r"admin port: http://\S+:(\d+)/", errors.read_text()), 30,
        lambda: errors.read_text())
    return int(found[1])


def by_partition(events):
    """{partition: the names of its events, in order}."""
    found = {}
    for event in events:
        found.setdefault(event["partition"], []).append(event["event"])
    return found
