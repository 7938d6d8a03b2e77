#!/usr/bin/python3
"""`neliroute voter`: what it says, what it refuses, and how it ends."""
import json
import os
import resource
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from case import run_raw
from harness import children, process
from harness.kafka_broker import free_ports
from harness.stores import quorum_client


class Voter(unittest.TestCase):
    """One process, of a quorum of one or of three."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def ledger(self, ports, query=""):
        """The address of voters on this machine."""
        voters = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"quorum://{voters}/shop{query}"

    def start(self, ledger, port, *options, before=lambda: None):
        """It listens: the process, and the line by which it says so. `before` sets
        limits for it."""
        out, err = self.folder / f"{port}.out", self.folder / f"{port}.err"
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        with open(out, "wb") as to, open(err, "wb") as errors:
            before()
            try:
                child = children.spawn(
                    [process.tool_path(), "voter", "--ledger", ledger, "--voter",
                     f"127.0.0.1:{port}", "--json", *options],
                    stdout=to, stderr=errors, env=process.environment())
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.addCleanup(children.end, child)
        children.wait_until(lambda: out.read_text().endswith("\n"), 20,
                            lambda: f"it listens\n{err.read_text()}")
        return child, json.loads(out.read_text()), err

    def refused(self, *arguments, words, code=2):
        """Each of the words is in what it says."""
        done = run_raw("voter", *arguments, limit=10)
        self.assertEqual((done.code, done.out), (code, ""), done)
        for word in words:
            self.assertIn(word, done.err, done)

    def test_wrong_use(self):
        three = self.ledger((7100, 7101, 7102))
        one = ("--voter", "127.0.0.1:7100")
        self.refused("--ledger", three, words=("--voter is missing",))
        self.refused("--ledger", three, *one, words=("?dir=FOLDER",))
        self.refused("--ledger", f"{three}?dir={self.folder}", "--voter", "127.0.0.1:7103",
                     words=("127.0.0.1:7103", "127.0.0.1:7102"))
        self.refused("--ledger", "etcd://127.0.0.1/shop", *one, words=("quorum://",))
        self.refused(*one, words=("quorum://",))
        for name, value in (("election", "0s"), ("election", "3"), ("kept", "often"),
                            ("logs", "0")):
            self.refused("--ledger", f"{three}?dir={self.folder}", *one, f"--{name}", value,
                         words=(f"--{name}", value))

    def test_an_owner_that_cannot_be_a_voter(self):
        for place, word in ((["--brokers", "127.0.0.1:9"], "quorum://"),
                            (["--ledger", self.ledger((7100,))], "?dir=FOLDER")):
            done = run_raw("run", "--endpoint", "127.0.0.1:7001", "--voter", "127.0.0.1:7100",
                           *place, limit=10)
            self.assertEqual((done.code, done.out), (2, ""), done)
            self.assertIn("--voter", done.err)
            self.assertIn(word, done.err)

    def test_it_says_where_it_listens_and_ends_when_it_is_told(self):
        for number, sent in enumerate((signal.SIGTERM, signal.SIGINT)):
            port, = free_ports(1)
            folder = self.folder / str(number)
            child, row, err = self.start(self.ledger((port,), f"?dir={folder}"), port)
            self.assertEqual(row, {"voter": f"127.0.0.1:{port}", "ledger": self.ledger((port,)),
                                   "folder": str(folder), "logs": 1, "kept_ms": 1_200_000,
                                   "election_ms": 300})
            os.kill(child.pid, sent)
            self.assertEqual(child.wait(20), 0, err.read_text())
            self.assertTrue(any(folder.rglob("vote")), "it keeps nothing")

    def test_text(self):
        port, = free_ports(1)
        out = self.folder / "out"
        with open(out, "wb") as to:
            child = children.spawn(
                [process.tool_path(), "voter", "--ledger",
                 self.ledger((port,), f"?dir={self.folder}/files"), "--voter", f"127.0.0.1:{port}"],
                stdout=to, stderr=subprocess.DEVNULL, env=process.environment())
        self.addCleanup(children.end, child)
        children.wait_until(lambda: out.read_text().count("\n") >= 3, 20, "it says so")
        for word in (f"listens on 127.0.0.1:{port}", "1 log", "20 min", f"{self.folder}/files"):
            self.assertIn(word, out.read_text())

    def test_two_processes_do_not_share_a_folder_or_a_port(self):
        first, second = free_ports(2)
        ledger = self.ledger((first,), f"?dir={self.folder}/files")
        self.start(ledger, first)
        for port, folder, word in ((first, "others", str(first)),
                                   (second, "files", f"{self.folder}/files")):
            ledger = self.ledger((port,), f"?dir={self.folder}/{folder}")
            done = run_raw("voter", "--ledger", ledger, "--voter", f"127.0.0.1:{port}", limit=10)
            self.assertIn(done.code, (2, 3), done)
            self.assertEqual(done.out, "", done)
            self.assertIn(word, done.err)

    def test_a_disk_that_fails_ends_it(self):
        """Nobody knows what is on it, so somebody must look."""
        port, = free_ports(1)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        child, _, err = self.start(self.ledger((port,), f"?dir={self.folder}/files"), port,
                                   before=little_room)

        def is_full():
            try:
                with quorum_client.Channel(f"127.0.0.1:{port}", "shop", 0) as channel:
                    while True:
                        channel.append(b"x" * 1000)
            except OSError:
                return child.poll() is not None
        children.wait_until(is_full, 30, lambda: f"it ends\n{err.read_text()}")
        self.assertEqual(child.returncode, 1, err.read_text())
        self.assertIn(f"{self.folder}/files", err.read_text().splitlines()[-1])

    def test_an_owner_finds_what_they_keep(self):
        """And `run` says no if the voters were started for another number of logs."""
        port, = free_ports(1)
        ledger = self.ledger((port,))
        self.start(f"{ledger}?dir={self.folder}/files", port, "--logs", "2")
        done = run_raw("watch", "--ledger", ledger, "--once", "--json", "--timeout", "5s",
                       limit=30)
        self.assertIn(done.code, (0, 1, 3), done)
        done = run_raw("run", "--ledger", ledger, "--endpoint", "127.0.0.1:7001", "--logs", "3",
                       "--timeout", "10s", limit=30)
        self.assertEqual(done.code, 2, done)
        self.assertIn("--logs", done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
