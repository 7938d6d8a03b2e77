"""What these tests share: a broker, and owners with programs behind them."""
import http.client
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, process  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402

FOLLOWER = Path(__file__).with_name("follower.py")
PARTITIONS = LaneOwners.partitions
KEY_COUNT = 40
# How long the clients of a process that leaves may take to end.
CLIENTS_S = 1


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


class OwnersCase(LaneOwners):
    """Owners, watchers, and programs behind owners."""

    def watcher(self, **options):
        """`neliroute watch`, and the port of its admin port."""
        errors = self.path("watcher", "err")
        with open(errors, "wb") as err, open(self.path("watcher", "out"), "wb") as out:
            child = children.spawn(
                [process.tool_path(), "watch", *process.option_list({**self.lane, **options})],
                stdout=out, stderr=err, env=process.environment())
        self.addCleanup(children.end, child, 0)
        return admin_port(errors)

    def follower(self, name, mode, forked=False, **options):
        """An owner with the program follower.py behind it. Its `port` is the program's.

        `forked`: its shell starts the program, and waits; otherwise it becomes the program.
        """
        port = free_port()
        log = self.path(name, "log")
        log.touch()
        program = " ".join(map(str, (sys.executable, "-B", FOLLOWER, port, log, mode)))
        program = f"{program}; true" if forked else f"exec {program}"
        owner = self.start(name, **{"upstream": f"127.0.0.1:{port}", "key": "header:X-Key",
                                    "exec": program, **options})
        owner.port = port
        owner.log = process.LineFile(log)
        return owner

    def assert_leaves(self, owner, drain_s, answer_s, stop_s):
        """It leaves in order although nobody answers: after the time to hand over, the one for
        which an answer is waited for, and the one for its program to end; half as much again for a
        busy machine."""
        self.assertTrue(owner.running(), owner.error_tail())
        bound = 1.5 * (drain_s + answer_s + stop_s + CLIENTS_S)
        since = owner.leave()
        self.assertEqual(owner.wait_exit(60), 0, owner.error_tail())
        took = owner.life.ended - since
        print(f"{owner.name}: left after {took:.2f} s of at most {bound:.2f} s", flush=True)
        self.assertLess(took, bound, owner.error_tail())

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
