#!/usr/bin/python3
"""What a person at a terminal sees: the screen of watch, progress, and why a key is where it is."""
import json
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request
from pathlib import Path

from case import LONG_SESSION, run_raw
from emulator import Terminal
from harness import children, process

PARTITIONS = 16
SLOTS = 256
COLOURED = re.compile(r"\x1b\[(?:\d+;)*[34]\d(?:;\d+)*m")
ALTERNATE_OFF = "\x1b[?1049l"


class Screen(unittest.TestCase):
    """watch on a pseudo-terminal, beside two owners on the embedded broker."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_CORE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # some tests end the tool badly
        topics = unittest.TestLoader().getTestCaseNames(cls)
        row = process.embedded_broker(cls.folder, cls.addClassCleanup, "--partitions", PARTITIONS,
                                      *(part for topic in topics for part in ("--topic", topic)))
        cls.brokers = row["brokers"]

    def setUp(self):
        topic = self.id().rpartition(".")[2]
        self.settings = {"brokers": self.brokers, "topic": topic, "group": topic, "slots": SLOTS,
                         "partitions": PARTITIONS, "profile": "fast", **LONG_SESSION}

    def owner(self, name, port, **options):
        """Started, and ended with the test."""
        options = {**self.settings, "name": name, "endpoint": f"127.0.0.1:{port}", **options}
        with open(self.folder / f"{name}.err", "wb") as err:
            child = children.spawn([process.tool_path(), "run", *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child)
        return child

    def watch(self, *arguments, env=None, **options):
        """On a terminal of its own."""
        command = [process.tool_path(), "watch", *process.option_list(self.settings), *arguments]
        variables = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
                     **(env or {})}
        terminal = Terminal(command, process.environment(variables), **options)
        self.addCleanup(terminal.close)
        return terminal

    def assert_given_back(self, terminal):
        """As it was, and what it showed is gone."""
        self.assertEqual(terminal.settings(), terminal.before)
        self.assertIn(ALTERNATE_OFF, terminal.raw)
        self.assertEqual(terminal.raw.count("\x1b[?1049h"), terminal.raw.count(ALTERNATE_OFF))

    @staticmethod
    def names(lines):
        """The first word of each row of the table."""
        return [line.split()[0] for line in lines[5:-1] if line]

    def test_a_session(self):
        """Sees, resizes, filters, sees a kill, and quits."""
        alpha = self.owner("alpha", 7001)
        self.owner("bravo", 7002)
        terminal = self.watch()
        lines = terminal.wait(lambda lines: "256 slots: 0 unowned, 0 unknown" in lines[1]
                              and self.names(lines) == ["alpha", "bravo"]
                              and all(re.search(r" 128 .* 8  127", line) for line in lines[5:7]),
                              "both owners, each with its share")
        self.assertIn("2 owners, fair share 128.0", lines[1])
        self.assertIn("ledger answered", lines[2])
        self.assertTrue(lines[23].startswith("q quit"), lines)

        terminal.resize(160, 50)
        lines = terminal.wait(lambda lines: lines[49].startswith("q quit"), "50 lines")
        self.assertIn("NEWEST EPOCH", lines[4])
        terminal.resize(40, 10)
        lines = terminal.wait(lambda lines: lines[9].startswith("q quit"), "10 lines")
        self.assertNotIn("EPOCH", lines[4])
        self.assertEqual(self.names(lines), ["alpha", "bravo"])
        terminal.resize(80, 24)
        terminal.wait(lambda lines: lines[23].startswith("q quit"), "24 lines")

        terminal.press("/lpH")
        terminal.wait(lambda lines: self.names(lines) == ["alpha"]
                      and lines[23] == "filter: lpH_", "what passes the filter")
        terminal.press("\r2")
        terminal.wait(lambda lines: "[2 Partitions" in lines[3]
                      and len(self.names(lines)) == PARTITIONS // 2, "alpha's partitions")
        terminal.press("\x1b")
        terminal.wait(lambda lines: len(self.names(lines)) == PARTITIONS, "no filter any more")
        terminal.resize(80, 14)
        terminal.wait(lambda lines: self.names(lines)[:1] == ["0"], "from the first")
        terminal.press("\x1bOF")
        terminal.wait(lambda lines: self.names(lines)[-1:] == ["15"], "the end key")

        alpha.kill()
        terminal.wait(lambda lines: ": 0 unowned, 0 unknown; 1 owner," in lines[1],
                      "bravo took over")
        terminal.press("3")
        terminal.wait(lambda lines: "[3 Moves" in lines[3]
                      and any(re.search(r"alpha +bravo +\d", line) for line in lines), "the moves")
        terminal.press("q")
        self.assertEqual(terminal.wait_exit(), 0)
        self.assert_given_back(terminal)

    def test_signals_give_the_terminal_back(self):
        """Those that ask for the end are a planned one; a crash is one, and yet gives it back."""
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0),
                             (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGABRT, -signal.SIGABRT),
                             (signal.SIGSEGV, -signal.SIGSEGV)):
            with self.subTest(signal=number.name):
                terminal = self.watch()
                terminal.wait(lambda lines: lines[23].startswith("q quit"), "the screen")
                self.assertNotEqual(terminal.settings(), terminal.before)
                terminal.child.send_signal(number)
                self.assertEqual(terminal.wait_exit(), code)
                self.assert_given_back(terminal)

    def test_a_failure_gives_the_terminal_back(self):
        """An owner with other slots comes first: the watcher refuses, and that can be read."""
        self.owner("other", 7003, slots=512)
        terminal = self.watch()
        self.assertEqual(terminal.wait_exit(40), 2)
        self.assert_given_back(terminal)
        self.assertIn("512", "\n".join(terminal.read()))

    def test_colours_are_as_asked(self):
        """What needs attention is red on a terminal that has colours; not with NO_COLOR."""
        for env, coloured in (({}, True), ({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False)):
            with self.subTest(env=env):
                terminal = self.watch(env=env)
                terminal.wait(lambda lines: "256 unowned" in lines[1], "nobody owns anything")
                terminal.press("q")
                self.assertEqual(terminal.wait_exit(), 0)
                self.assertEqual(bool(COLOURED.search(terminal.raw)), coloured)

    def test_lines_where_no_screen_can_be(self):
        """With --json, on a dumb terminal, without a keyboard, and on one that nobody knows."""
        self.owner("alpha", 7001)
        terminal = self.watch("--json", columns=400, on=("stdin", "stdout"),
                              stderr=subprocess.DEVNULL)
        lines = terminal.wait(lambda lines: lines[PARTITIONS - 1], "a line each")
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual({row["partition"] for row in rows}, set(range(PARTITIONS)))
        self.assertNotIn("\x1b", terminal.raw)
        for options in ({"env": {"TERM": "dumb"}}, {"on": ("stdout", "stderr")},
                        {"env": {"TERM": "no-such-terminal"}}):
            with self.subTest(options=options):
                terminal = self.watch(**options)
                lines = terminal.wait(
                    lambda lines: any(re.search(r"partition \d+ +16 slots +alpha", line)
                                      for line in lines), "lines")
                self.assertNotIn("\x1b[?1049h", terminal.raw)

    def test_explain(self):
        """Hash, tag, slot, partition, owner, epoch and why; as JSON what /v1/route answers."""
        errors = self.folder / "alpha.err"
        self.owner("alpha", 7001, http="0", hash="crc16", hash_tags=True)
        port = children.wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/",
                                                     errors.read_text()), 20, "it listens")[1]
        options = {**self.settings, "hash": "crc16", "hash_tags": True, "explain": True}
        key = "{user1000}.cart"
        done = children.wait_until(
            lambda: (lambda ran: ran if ran.code == 0 else None)(
                process.run_tool("route", key, **options)), 30, "it is owned")
        explained = dict(re.findall(r"^(\w+) +(.*)$", done.out, re.MULTILINE))
        self.assertEqual(list(explained), ["key", "hash", "slot", "partition", "verdict", "owner",
                                           "epoch", "assigner", "why"])
        slot = 3443 % SLOTS  # what Redis answers to CLUSTER KEYSLOT {user1000}.cart, and so 2^14
        self.assertIn("crc16 of the tag user1000", explained["hash"])
        self.assertTrue(explained["slot"].startswith(f"{slot}, "), done)
        self.assertTrue(explained["partition"].startswith(f"{slot % PARTITIONS}, "), done)
        self.assertRegex(explained["owner"], r"^alpha at 127\.0\.0\.1:7001, id [0-9a-f]{16}$")
        self.assertRegex(done.out, r"\(rule 3\)")

        row, = process.run_tool("route", key, json=True, **options).rows()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/route?key=%7Buser1000%7D.cart",
                                    timeout=10) as answer:
            served = json.load(answer)
        self.assertEqual(list(row), list(served))
        for told in (row, served):
            told.pop("valid_for_ms")
        self.assertEqual({**served, "verdict": "remote"}, row)

        done = run_raw("route", "--explain", "--count", "key")
        self.assertEqual(done.code, 2, done)


class Progress(unittest.TestCase):
    """A broker that takes connections and never answers."""

    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        """Until the server is closed."""
        try:
            while True:
                self.taken.append(self.server.accept()[0])
        except OSError:
            for connection in self.taken:
                connection.close()

    def test_is_told_on_a_terminal(self):
        for command in (["route", "key"], ["watch", "--once"], ["audit"],
                        ["run", "--endpoint", "h:1", "--log-level", "error"]):
            with self.subTest(command=command[0]):
                terminal = Terminal(
                    [process.tool_path(), *command, "--brokers", self.address, "--timeout", "3s",
                     *(["--log-level", "error"] if command[0] != "run" else [])],
                    process.environment({"TERM": "xterm"}), on=("stderr",),
                    stdout=subprocess.DEVNULL)
                self.addCleanup(terminal.close)
                terminal.wait(lambda lines: any(
                    re.search(rf"(connecting to|at) {self.address} \.\.\. 1 s", line)
                    for line in lines), "progress")
                self.assertEqual(terminal.wait_exit(), 3)
                shown = "\n".join(terminal.read())
                self.assertRegex(shown, rf"{self.address} took \d+\.\d s")
                self.assertIn(f"neliroute {command[0]}: ", shown)

    def test_is_not_written_into_files(self):
        env = process.environment({"TERM": "xterm"})
        done = run_raw("route", "key", "--brokers", self.address, "--timeout", "2s", env=env)
        self.assertEqual(done.code, 3, done)
        self.assertNotIn("connecting to", done.err)
        self.assertNotIn("\x1b", done.err)


if __name__ == "__main__":
    unittest.main()
