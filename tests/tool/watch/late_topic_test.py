#!/usr/bin/python3
"""Lookups that are started before the topic is there: --wait has no limit, --timeout is one."""
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from case import run_tool  # noqa: E402
from harness import children, process  # noqa: E402
from harness.stream import fetch  # noqa: E402

TIMEOUT = 3


def make_topic(brokers, topic):
    """Has the embedded broker make it, which it does for a Metadata request (version 4) that
    allows it, as producers' do."""
    host, _, port = brokers.rpartition(":")
    name = topic.encode()
    request = struct.pack(f">hhih4sih{len(name)}s?", 3, 4, 1, 4, b"test", 1, len(name), name, True)
    with socket.create_connection((host, int(port)), 10) as broker:
        broker.sendall(struct.pack(">i", len(request)) + request)
        size, correlation = struct.unpack(">ii", broker.recv(8, socket.MSG_WAITALL))
        assert (size > 4, correlation) == (True, 1), (size, correlation)


class LateTopic(unittest.TestCase):
    """On an embedded broker that has other topics only."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.brokers = process.embedded_broker(self.folder, self.addCleanup, "--topic",
                                               "other")["brokers"]
        self.lane = {"brokers": self.brokers, "topic": "late", "group": "late", "profile": "fast"}

    def started(self, command, *arguments, **options):
        """A lookup; its output and errors are files."""
        out, err = self.folder / f"{command}.out", self.folder / f"{command}.err"
        with open(out, "wb") as output, open(err, "wb") as errors:
            child = children.spawn(
                [process.tool_path(), command, *process.option_list({**self.lane, **options}),
                 *arguments], stdout=output, stderr=errors, env=process.environment())
        self.addCleanup(children.end, child)
        return child, out, err

    def waiting(self, command, *arguments, **options):
        """One that says that it waits."""
        child, out, err = self.started(command, *arguments, **options)
        children.wait_until(lambda: "topic late is not there yet" in err.read_text(), 20,
                            lambda: f"{command} waits\n{err.read_text()}")
        return child, out, err

    def owner(self, *arguments):
        """It owns everything."""
        child = children.spawn([process.tool_path(), "run", "--name", "alpha", "--endpoint", "h:1",
                                *process.option_list(self.lane), *arguments],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=process.environment())
        self.addCleanup(children.end, child)
        return child

    @staticmethod
    def partitions(log):
        """How many there are, says the admin port that the log names last, once it listens."""
        address = re.findall(r"admin port: (http://127\.0\.0\.1:\d+/)", log.read_text())[-1]
        try:
            return json.loads(fetch(f"{address}v1/slots"))["partitions"]
        except urllib.error.URLError:
            return None

    def test_wait_has_no_limit(self):
        """It outlives --timeout, which begins only when the topic is there; and then answers."""
        options = {"wait": True, "timeout": f"{TIMEOUT}s", "json": True}
        route, out, err = self.waiting("route", "key", **options)
        watch, seen, _ = self.waiting("watch", **options)
        listed, _, no = self.waiting("overrides", **options)
        self.assertIn("waiting until an owner creates it", err.read_text())
        began = children.boot_now()
        children.wait_until(lambda: children.boot_now() > began + TIMEOUT + 0.5, TIMEOUT + 5,
                            "the time passes that would end them without --wait")
        self.assertEqual((route.poll(), watch.poll(), listed.poll()), (None, None, None))
        make_topic(self.brokers, "late")
        self.assertEqual(route.wait(20), 1, err.read_text())
        self.assertEqual(json.loads(out.read_text())["verdict"], "unowned")
        self.assertEqual(listed.wait(20), 2, no.read_text())
        self.assertIn("no member lives", no.read_text())
        self.owner()
        rows = process.LineFile(seen)
        children.wait_until(lambda: any(row.get("owner") == "alpha" for row in rows.read()), 30,
                            lambda: f"watch sees the owner: {rows.rows}")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(10), 0)

    def test_the_owners_have_another_number_of_partitions(self):
        """Before an owner has written, they take the topic's number; with an assigner its members
        have one of their own. They take it as soon as it is read, and go on."""
        make_topic(self.brokers, "late")
        watch, seen, said = self.started("watch", json=True, http=0)
        gateway, _, told = self.started("gateway", listen="127.0.0.1:0", key="host", http=0)
        for file in (said, told):  # each began with the topic's
            children.wait_until(lambda file=file: "http://" in file.read_text(), 20, file.read_text)
        children.wait_until(lambda: "gateway: http" in told.read_text(), 20, told.read_text)
        owner = self.owner("--partitions", "16")
        rows = process.LineFile(seen)

        def all_are_alphas():
            """Said in one batch of rows, or in several."""
            rows.read()
            return {row["partition"] for row in rows.rows
                    if row.get("owner") == "alpha"} == set(range(16))

        children.wait_until(all_are_alphas, 30, lambda: f"{rows.rows}\n{said.read_text()}")
        children.wait_until(lambda: self.partitions(told) == 16, 30, told.read_text)
        listens = "gateway: http://127.0.0.1:"
        children.wait_until(lambda: told.read_text().count(listens) == 2, 30, told.read_text)
        port = told.read_text().rpartition(listens)[2].partition("/")[0]
        client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
        self.addCleanup(client.close)
        client.request("TRACE", "/")
        self.assertEqual(client.getresponse().status, 405, "it serves")
        self.assertEqual((watch.poll(), gateway.poll()), (None, None))
        for text in (said.read_text(), told.read_text()):
            self.assertIn("going on with 16 partitions", text)
        owner.terminate()  # and the next ones may have yet another
        self.assertEqual(owner.wait(20), 0)
        self.owner("--partitions", "8")
        for file in (said, told):
            children.wait_until(lambda file=file: "going on with 8 partitions" in file.read_text(),
                                30, file.read_text)
        children.wait_until(lambda: self.partitions(told) == 8, 30, told.read_text)
        for child in (watch, gateway):
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(20), 0)

    def test_who_was_told_a_number_keeps_it(self):
        """Exit code 2, and what to do: a number that was given is meant."""
        make_topic(self.brokers, "late")
        watch, _, said = self.started("watch", json=True, partitions=8)
        self.owner("--partitions", "16")
        self.assertEqual(watch.wait(30), 2, said.read_text())
        self.assertIn("partitions is 8 here, but 16 in the running group", said.read_text())

    def test_timeout_is_the_limit(self):
        """Without --wait: exit 2, and what to do."""
        for command, arguments, options in (("route", ("key",), {}), ("watch", (), {"once": True}),
                                            ("cordon", ("alpha",), {})):
            done = run_tool(command, *arguments, **self.lane, **options, timeout="3s")
            self.assertEqual(done.code, 2, done)
            self.assertRegex(done.err, re.compile("topic late does not exist.*start an owner.*"
                                                  "--timeout, --wait", re.DOTALL))
            self.assertGreater(done.seconds, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
