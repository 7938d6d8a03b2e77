#!/usr/bin/python3
"""The command line as a newcomer meets it: what needs no ledger, or finds none."""
import json
import re
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from case import run_raw
from harness import children, process

COMMANDS = ("demo", "broker", "run", "gateway", "route", "watch", "voter", "audit", "slot",
            "schema", "completion", "man")
# Parts of the design that come later: a help that names them would promise too much.
NOT_YET = r"\b(doctor|plan)\b"
RUN = ("run", "--endpoint", "127.0.0.1:7001")


class Help(unittest.TestCase):
    """Texts fit an 80-column terminal and promise only what there is."""

    def test_every_help(self):
        for arguments in ((), *((name,) for name in COMMANDS)):
            for flag in ("--help", "-h"):
                done = run_raw(*arguments, flag)
                self.assertEqual(done.code, 0, done)
                self.assertEqual(done.err, "")
                for line in done.out.splitlines():
                    self.assertLessEqual(len(line), 80, line)
                    self.assertEqual(line, line.rstrip())
                self.assertNotRegex(done.out, NOT_YET)

    def test_top_level(self):
        done = run_raw("--help")
        for name in COMMANDS:
            self.assertRegex(done.out, rf"\n  {name} ")
        self.assertEqual(run_raw().code, 2)
        self.assertEqual(run_raw("help", "route").out, run_raw("route", "--help").out)
        self.assertRegex(run_raw("--version").out, r"^neliroute \d+\.\d+\.\d+ \(librdkafka .*\)\n$")

    def test_help_of_run_is_for_the_first_day(self):
        text = run_raw("run", "--help").out
        self.assertEqual(re.findall(r"(?m)^  (?:-h, )?--([\w-]+)", text),
                         "brokers topic ledger slots endpoint name mode http profile session "
                         "config help help-all upstream listen exec key".split())
        self.assertIn("run --help-all", text.splitlines()[-1])

    def test_every_option_is_in_the_whole_help_of_run(self):
        text = run_raw("run", "--help-all").out
        for name in ("brokers topic group slots partitions hash hash-tags allow-uneven lane logs "
                     "mode profile interval lease clock-error session group-protocol timeout "
                     "hang-limit serve-stale "
                     "drain-timeout name endpoint events log-level json config").split():
            self.assertRegex(text, rf"\n  --{name} ")
        self.assertIn("\n  -X ", text)


class WrongUse(unittest.TestCase):
    """Exit 2, nothing on stdout, and a line that names the input and what to do."""

    def refused(self, arguments, *words, env=None):
        """Runs it; every word is in what it said."""
        done = run_raw(*arguments, env=env, limit=5)
        self.assertEqual(done.code, 2, done)
        self.assertEqual(done.out, "", done)
        self.assertEqual(done.err.count("\n"), 1, done)
        for word in words:
            self.assertIn(word, done.err, done)

    def test_commands(self):
        self.refused(["rute"], '"rute"', "did you mean route?")
        self.refused(["rum"], '"rum"', "did you mean run?")
        self.refused(["frobnicate"], "--help")
        self.refused(["--json", "route"], "after the command")

    def test_options(self):
        self.refused([*RUN, "--frobnicate"], "--frobnicate", "--help")
        self.refused([*RUN, "--slotz=3"], "--slotz", "did you mean --slots?")
        self.refused([*RUN, "stray"], '"stray"')
        self.refused([*RUN, "--slots"], "--slots", "value")
        self.refused([*RUN, "--slots", "8", "--slots", "9"], "--slots", "one value")
        self.refused(["run"], "--endpoint is missing", "--endpoint 10.0.0.7:8080")
        self.refused(["route"], "no key", "--keys")
        self.refused(["route", "--no-such", "key"], "--no-such", "--")

    def test_endpoints(self):
        for text in ("x", "x:", ":1", "x:0", "x:65536", "x:1x", "x:-1", "10.0.0.256:1", "10.0.0:1",
                     "::1:80", "[::1]", "[::1:80", "[::g]:80", "a b:1", "http://x:1", "x/y:1"):
            self.refused(["run", "--endpoint", text], "--endpoint", f'"{text}"', "HOST:PORT",
                         "10.0.0.7:8080")

    def test_durations(self):
        for option in ("--lease", "--interval", "--session", "--timeout", "--drain-timeout",
                       "--clock-error", "--hang-limit"):
            self.refused([*RUN, option, "3000"], option, "3000 has no unit", "3000ms")
        for text in ("3x", "s", "", "-3s", "1.5s", "3 s", "99999999999999999999s"):
            self.refused([*RUN, "--lease", text], "--lease", f'"{text}"', "250ms")
        self.refused([*RUN, "--lease", "9999999m"], "more than a day")
        self.refused([*RUN, "--lease", "0s"], "above 0")

    def test_numbers(self):
        for text in ("0", "-1", "x", "", "1048577", "1e3", "99999999999999999999999"):
            self.refused([*RUN, "--slots", text], "--slots", f'"{text}"', "1 to 1048576")
        self.refused([*RUN, "--partitions", "0"], "--partitions", "1 to")
        self.refused([*RUN, "--slots", "1000", "--partitions", "64"], "1000", "64", "960", "1024",
                     "--allow-uneven")
        self.refused(["route", "key", "--slots", "32", "--partitions", "64"], "32", "64", "fewer")
        self.refused(["watch", "--lane", "1024"], "--lane", "0 to 1023")
        self.refused(["broker", "--port", "65536"], "--port", "0 to 65535")

    def test_words(self):
        self.refused([*RUN, "--hash", "md5"], '"md5"', "xxh3", "crc16", "murmur2")
        self.refused(["slot", "--hash", "crc16", "--slots", "65537", "a"], "65537", "65536 values",
                     "--slots", "xxh3")
        self.refused([*RUN, "--mode", "shared"], '"shared"', "non_exclusive", "exclusive")
        self.refused([*RUN, "--profile", "quick"], '"quick"', "fast", "balanced", "steady")
        self.refused([*RUN, "--group-protocol", "raft"], '"raft"', "auto", "consumer", "classic")
        self.refused([*RUN, "--log-level", "loud"], '"loud"', "warning")
        self.refused([*RUN, "--topic", ""], "--topic", "empty")
        for command in (RUN, ("route", "key"), ("watch",), ("broker",)):
            for name in ("bad topic/!", "..", "x" * 250):
                self.refused([*command, "--topic", name], "--topic", f'"{name}"', "1 to 249")

    def test_timing_with_an_assigner(self):
        """No broker has a say in it, so none is asked."""
        for options, words in ((("--hang-limit", "5s"), ("--hang-limit", "leave it out")),
                               (("--session", "200ms"), ("--session", "300 ms")),
                               (("--interval", "2s"), ("3 x", "--interval", "--session")),
                               (("--lease", "1s"), ("2 x session", "--lease"))):
            self.refused([*RUN, "--assignment", "assigner", *options], *words)

    def test_properties(self):
        """A refused property's value is not shown: it may be a secret."""
        done = run_raw(*RUN, "-X", "hunter2")
        self.assertEqual(done.code, 2)
        self.assertIn("key=value", done.err)
        self.assertNotIn("hunter2", done.err)
        for name in ("group.id", "session.timeout.ms", "acks", "isolation.level", "no.such.name"):
            done = run_raw(*RUN, "-X", f"{name}=hunter2", limit=5)
            self.assertEqual(done.code, 2, done)
            self.assertIn(name, done.err)
            self.assertNotIn("hunter2", done.err)
        self.refused([*RUN, "-X", "acks=1"], "-X acks", "leave it out")
        self.refused([*RUN, "-X", "log_level=99"], "-X log_level", "0..7")  # one line, no empty one
        self.refused([*RUN, "-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanisms=GSSAPIX"],
                     "-X sasl.mechanisms")

    def test_bytes_of_strangers(self):
        """What a terminal would obey is escaped, wherever it comes from."""
        odd = b"\xff\x1b[2J"
        with tempfile.NamedTemporaryFile() as file:
            for text in (odd, odd + b"=1", b"slots=" + odd, b"[" + odd + b"]\nslots=1"):
                file.write(text + b"\n")
                file.flush()
                self.refused(["slot", "k", "--config", file.name], "slot")
                self.assertNotIn("\x1b", run_raw("slot", "k", "--config", file.name).err)
                file.truncate(0)
                file.seek(0)
        for command in ((odd,), ("slot", b"--" + odd), ("slot", "k", b"--slots=" + odd),
                        (*RUN, b"--topic=" + odd), (*RUN, b"--log-level=" + odd)):
            done = run_raw(*command)
            self.assertEqual(done.code, 2, done)
            self.assertNotIn("\x1b", done.err)
            self.assertIn("\\xff\\x1b[2J", done.err)

    def test_the_demo_runs_on_kafka_or_on_voters(self):
        for arguments in (["--ledger", "etcd://127.0.0.1/demo"], ["--ledger=postgres:///demo"]):
            self.refused(["demo", *arguments], "--brokers", "--ledger quorum",
                         "neliroute run --ledger")
        for arguments in (["--brokers", "127.0.0.1:9"], ["--assignment", "group"],
                          ["--variation", "broadcast"]):
            self.refused(["demo", "--ledger", "quorum", *arguments], "--ledger quorum")

    def test_files(self):
        self.refused([*RUN, "--events", "/no/such/folder/events"], "--events", "/no/such/folder")
        self.refused(["slot", "--keys", "/no/such/file"], "--keys", "/no/such/file")
        self.refused(["slot", "--keys", "/"], "--keys")
        self.refused(["demo", "--keys", "/no/such/file"], "/no/such/file", "wamerican")
        for command in (("slot",), ("slot", "key"), ("route",), ("demo",)):
            self.refused([*command, "--keys", "/dev/null"], "/dev/null", "no key",
                         "one key per line")


class Settings(unittest.TestCase):
    """Command line before file before variable."""

    def setUp(self):
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "settings"

    def slots_of(self, *arguments, env=None):
        """The slot of a key tells how many slots there are."""
        row = json.loads(run_raw("slot", "--json", "k", *arguments, env=env).out)
        return {29: 1024, 2077: 4096, 1: 2}.get(row["slot"], row["slot"])

    def test_precedence(self):
        env = {"NELIROUTE_SLOTS": "4096"}
        self.file.write_text("# a comment\nslots=2\nendpoint=only-run-knows:1\nX=[\"a=b\"]\n")
        self.assertEqual(self.slots_of(), 1024)
        self.assertEqual(self.slots_of(env=env), 4096)
        self.assertEqual(self.slots_of("--config", self.file, env=env), 2)
        self.assertEqual(self.slots_of("--slots", "1024", "--config", self.file, env=env), 1024)

    def test_mistakes(self):
        for text, word in (("slotz=2\n", "did you mean slots?"), ("slots=x\n", '"x"'),
                           ("[run]\nslots=2\n", "[run]")):
            self.file.write_text(text)
            done = run_raw("slot", "k", "--config", self.file)
            self.assertEqual(done.code, 2, done)
            self.assertIn(word, done.err)
        self.assertEqual(run_raw("slot", "k", "--config", "/no/such").code, 2)
        self.assertIn("--slots", run_raw("slot", "k", env={"NELIROUTE_SLOTS": "x"}).err)

    def test_mistakes_are_told_with_their_place(self):
        """The file and the line, or the variable; nothing of the kind for the command line."""
        for text, words in (("# a comment\n\nslotz=2\n", "line 3: unknown setting slotz"),
                            ("slots=2\n  hash = md5 # no\n", "line 2: --hash: "),
                            ("slots=1\n\nslots=2\n", "line 3: --slots: takes one value"),
                            ('X=["a=b",\n"c=d"]\nslots\n', 'line 3: --slots: "true"'),
                            ("\n[run]\nslots=2\n", "line 2: it has a section [run]"),
                            ("\nrun.slots=2\n", "line 2: it has a section [run]"),
                            ("json=perhaps\n", 'line 1: --json: "perhaps" is neither')):
            self.file.write_text(text)
            env = {"NELIROUTE_HASH": "md4"} if "hash" in text else {}
            done = run_raw("slot", "k", "--config", self.file, env=env)
            self.assertEqual(done.code, 2, done)
            self.assertIn(f"settings file {self.file}: {words}", done.err)
            self.assertEqual(done.err.count("\n"), 1, done)
        env = {"NELIROUTE_JSON": "perhaps"}
        self.assertIn("neliroute slot: NELIROUTE_JSON: --json: ", run_raw("slot", "k", env=env).err)
        self.assertIn('neliroute slot: --json: "perhaps" is', run_raw("slot", "--json=perhaps").err)
        env = {"NELIROUTE_SLOTS": "x"}
        self.assertIn("neliroute slot: NELIROUTE_SLOTS: --slots: ",
                      run_raw("slot", "k", env=env).err)
        self.file.write_text("slots=2\n")
        for arguments in (("--slots=0",), ("--slots", "0")):
            done = run_raw("slot", "k", *arguments, "--config", self.file, env=env)
            self.assertIn("neliroute slot: --slots: ", done.err)

    def test_unknown_variables(self):
        """Told, with the nearest one, and ignored: they may be somebody else's."""
        done = run_raw("slot", "k", env={"NELIROUTE_SLOTZ": "2", "NELIROUTE_ENDPOIN": "x:1",
                                         "NELIROUTE_FROBNICATE": "1", "NELIROUTEX": "1"})
        self.assertEqual((done.code, done.out), (0, "k  slot 29\n"), done)
        lines = dict(re.findall(r"neliroute slot: warning: (\w+) in the environment is no setting, "
                                r"so it is ignored; (.*)\n", done.err))
        self.assertEqual(lines, {"NELIROUTE_SLOTZ": "did you mean NELIROUTE_SLOTS?",
                                 "NELIROUTE_ENDPOIN": "did you mean NELIROUTE_ENDPOINT?",
                                 "NELIROUTE_FROBNICATE":
                                     "`neliroute slot --help` lists the options"})
        self.assertEqual(done.err.count("\n"), 3)
        known = {"NELIROUTE_ENDPOINT": "x:1", "NELIROUTE_DEPS": "/", "NELIROUTE_SLOTS": "2"}
        self.assertEqual(run_raw("slot", "k", env=known).err, "")

    def test_secret_in_a_wrong_setting_is_not_shown(self):
        """`acks` is refused; the password beside it is nobody's business."""
        self.file.write_text('X=["sasl.password=hunter#2","acks=1"]\n')
        for env in ({}, {"NELIROUTE_X": "sasl.password=hunter#2\nacks=1"}):
            more = () if env else ("--config", self.file)
            done = run_raw(*RUN, *more, env=env, limit=5)
            self.assertEqual(done.code, 2, done)
            self.assertIn("acks", done.err)
            self.assertNotIn("hunter", done.err)


class Slot(unittest.TestCase):
    """Golden slots: a promise to every process in every version."""

    def rows(self, *arguments, stdin=b""):
        """Its JSON rows."""
        done = run_raw("slot", "--json", *arguments, stdin=stdin)
        self.assertEqual(done.code, 0, done)
        return done.rows()

    def test_golden(self):
        self.assertEqual(self.rows("hello", "ключ", ""), [
            {"key": "hello", "slot": 253, "hash": "xxh3"},
            {"key": "ключ", "slot": 734, "hash": "xxh3"},
            {"key": "", "slot": 194, "hash": "xxh3"}])
        # CLUSTER KEYSLOT of a Redis server.
        redis = ("--hash", "crc16", "--slots", "16384", "--hash-tags")
        self.assertEqual([(row["slot"], row["hash"]) for row in
                          self.rows(*redis, "123456789", "foo", "{user1000}.following",
                                    "{user1000}.followers")],
                         [(12739, "crc16+tags"), (12182, "crc16+tags"), (3443, "crc16+tags"),
                          (3443, "crc16+tags")])
        # Utils.toPositive(Utils.murmur2("foobar")) % 64 of Kafka.
        row, = self.rows("--hash", "murmur2", "--slots", "64", "foobar")
        self.assertEqual(row["slot"], (-790332482 & 0x7fffffff) % 64)

    def test_partition_only_when_asked_for(self):
        row, = self.rows("hello", "--partitions", "64")
        self.assertEqual((row["slot"], row["partition"]), (253, 253 % 64))
        row, = self.rows("hello", "--slots", "1000")  # not a multiple of 64, and nobody asked
        self.assertNotIn("partition", row)

    def test_any_bytes(self):
        row, = self.rows(b"\xff\xfe")
        self.assertEqual(row, {"key_base64": "//4=", "slot": 902, "hash": "xxh3"})
        odd = ["[a,b]", "a,b", "a b", "%%", "{x}", "-", '"q"', "a\nb", "'"]
        self.assertEqual([row["key"] for row in self.rows(*odd)], odd)
        self.assertEqual([row["key"] for row in self.rows("a", "--", "--json", "-5", "--", "")],
                         ["a", "--json", "-5", "--", ""])
        text = run_raw("slot", b"\xff", "a\nb", "").out
        self.assertEqual([line.split("  ")[0] for line in text.splitlines()],
                         ["\\xff", "a\\x0ab", '""'])

    def test_keys_from_a_file_of_another_system(self):
        """What an editor adds is no part of a key; what a key may end in otherwise is."""
        plain = self.rows("a", "b", "c\r")
        self.assertEqual(self.rows("--keys", "-", stdin=b"\xef\xbb\xbfa\r\nb\n\r\nc\r\r\n"), plain)
        for text in (b"\xff\xfea\0\n\0", b"\xfe\xff\0a\0\n"):
            done = run_raw("slot", "--keys", "-", stdin=text)
            self.assertEqual(done.code, 2, done)
            self.assertIn("UTF-16; save it as UTF-8", done.err)
        done = run_raw("slot", "--keys", "-", stdin=b"\xef\xbb\xbf\r\n\n")
        self.assertEqual(done.code, 2, done)
        self.assertIn("it contains no key", done.err)

    def test_keys_that_are_no_text(self):
        """Any bytes, by base64, on the command line and in a file."""
        rows = self.rows("--base64", "//4=", "YQ==", "--keys", "-", stdin=b"YQo=\r\n\nYWJj\nAAAA\n")
        self.assertEqual(rows[0], {"key_base64": "//4=", "slot": 902, "hash": "xxh3"})
        self.assertEqual([row["key"] for row in rows[1:]], ["a", "a\n", "abc", "\0\0\0"])
        self.assertEqual(rows[1:], self.rows("--base64", "YQ==", "YQo=", "YWJj", "AAAA"))
        self.assertEqual(rows[1]["slot"], self.rows("a")[0]["slot"])
        for text in ("YQ", "YQ=a", "=YQ=", "YR==", "Y===", "YQ==YQ==", "a-_a"):
            done = run_raw("slot", "--base64", text)
            self.assertEqual(done.code, 2, done)
            self.assertIn(f"key {text} is not in base64", done.err)

    def test_keys_from_a_file(self):
        self.assertEqual([row["key"] for row in self.rows("--keys", "-", "z", stdin=b"a\n\nb")],
                         ["z", "a", "b"])
        self.assertTrue(Path("/usr/share/dict/words").is_file(), "wamerican is not installed")
        rows = self.rows("--keys", "/usr/share/dict/words")
        self.assertGreater(len(rows), 100_000)
        self.assertEqual(len({row["slot"] for row in rows}), 1024)


class Outside(unittest.TestCase):
    """What the system, not the user, refuses."""

    def test_output_that_cannot_be_written(self):
        """Exit 3 and the reason, once; nothing is lost silently."""
        for arguments in (("slot", "a", "b"), ("slot", "a", "--json"), ("--help",),
                          ("run", "--help"), ("--version",)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([process.tool_path(), *arguments], stdout=full,
                                      stderr=subprocess.PIPE, timeout=10, check=False)
            self.assertEqual(done.returncode, 3, done)
            self.assertEqual(done.stderr.count(b"No space left on device"), 1, done)
        with open("/dev/full", "wb") as full:  # bad usage stays bad usage
            self.assertEqual(subprocess.run([process.tool_path()], stdout=full, check=False,
                                            stderr=subprocess.DEVNULL).returncode, 2)
        done = subprocess.run(["/bin/sh", "-c", '"$0" slot a >&-', process.tool_path()],
                              stderr=subprocess.PIPE, timeout=10, check=False)
        self.assertEqual(done.returncode, 3, done)
        self.assertIn(b"Bad file descriptor", done.stderr)

    def test_reader_that_has_seen_enough(self):
        """`| head -1` is no error."""
        child = children.spawn([process.tool_path(), "slot", "--keys", "/usr/share/dict/words"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=process.environment())
        self.addCleanup(children.end, child)
        child.stdout.readline()
        child.stdout.close()
        child.stdout = None
        self.assertEqual(child.stderr.read(), b"")
        self.assertIn(child.wait(10), (0, -signal.SIGPIPE))

    def test_too_few_files(self):
        """A sentence and an exit code, not an abort."""
        for files, command in (*((files, ["broker", "--port", "0"]) for files in range(5, 18)),
                               (8, [*RUN, "--brokers", "127.0.0.1:1", "--timeout", "100ms"])):
            done = subprocess.run(
                ["/bin/sh", "-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", str(files),
                 process.tool_path(), *command],
                capture_output=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 3, (files, done))
            self.assertNotIn(b"terminate", done.stderr)
            self.assertEqual(command[0] == "broker", b"ulimit -n" in done.stderr, done.stderr)


class Unreachable(unittest.TestCase):
    """Nobody listens, or somebody who says nothing: exit 3 once --timeout is over."""

    def test_nobody_and_somebody_silent(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(64)
            dead = socket.socket()
            dead.bind(("127.0.0.1", 0))  # taken, so that nobody else listens there; never listens
            for number in (dead.getsockname()[1], silent.getsockname()[1]):
                for arguments in (RUN, ("route", "key"), ("watch", "--once"), ("watch",)):
                    done = run_raw(*arguments, "--brokers", f"127.0.0.1:{number}", "--timeout",
                                   "1s", limit=15)
                    self.assertEqual(done.code, 3, done)
                    self.assertIn(str(number), done.err)
                    self.assertEqual(done.out, "")
                    self.assertTrue(0.8 <= done.seconds, done)
                    self.assertFalse(re.search(r"\w_\w+_\w+\(", done.err), done)
            dead.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
