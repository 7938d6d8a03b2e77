#!/usr/bin/python3
"""The pricing stream: what its subscribers hear when owners leave and die, and the live show.

  pricing_stream_test.py EXAMPLE BUILD_FOLDER [TEST...]
"""
import contextlib
import json
import re
import signal
import socket
import sys
import tempfile
import unittest
from pathlib import Path

import case  # noqa: F401  (finds the harness)
from harness import children, process
from harness.stream import INSTRUMENTS, PARTITIONS, Subscriber, fetch, first_line, rest

BUILD = Path(sys.argv.pop(2)).resolve()
EXAMPLE = Path(sys.argv.pop(1)).resolve()


class PricingStream(unittest.TestCase):
    """examples/03_pricing_stream.cc, three owners and subscribers on the embedded broker."""

    assignment = "assigner"

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.brokers = process.embedded_broker(
            self.folder, self.addCleanup, "--partitions", PARTITIONS,
            "--topic", "neliroute-pricing", "--topic", "neliroute-quotes")["brokers"]

    def start(self, name, *arguments):
        """A process of the example; what it says is in the file `name`."""
        out = self.folder / name
        with open(out, "wb") as file, open(self.folder / f"{name}.log", "wb") as log:
            child = children.spawn([EXAMPLE, *arguments], stdout=file, stderr=log,
                                   env=process.environment(
                                       {"NELIROUTE_ASSIGNMENT": "group"}
                                       if self.assignment == "group" else None))
        self.addCleanup(children.end, child, 0)
        log = self.folder / f"{name}.log"
        self.addCleanup(lambda: print(f"{name}, exit code {child.poll()}: "
                                      f"{log.read_text(errors='replace')[-1500:]}"))
        return child, out

    def owner(self, name):
        """An owner, and the address of its page."""
        child, out = self.start(name, "owner", name, self.brokers, "0")
        said = first_line(out, name)
        self.assertTrue(said.startswith(f"{name} http://127.0.0.1:"), said)
        return child, said.split()[1]

    def subscriber(self, name):
        """A subscriber that hears what is published from now on."""
        return Subscriber(*self.start(name, "subscriber", self.brokers))

    def test_with_a_group(self):
        """The same where Kafka's group assigns."""
        self.assignment = "group"
        self.test_one_leaves_and_one_is_killed()

    def test_one_leaves_and_one_is_killed(self):
        """No quote is missing either way. Silences are printed, not compared: a machine that stands
        still for seconds while an owner leaves is silent as well."""
        (alpha, page), (bravo, _), (charlie, _) = map(self.owner, ("alpha", "bravo", "charlie"))
        rest(page, 3)
        self.assertEqual(json.loads(fetch(f"{page}v1/assignment"))["source"], self.assignment)
        first = self.subscriber("first")
        first.wait("alpha", "bravo", "charlie")
        charlie.terminate()
        self.assertEqual(charlie.wait(30), 0, (self.folder / "charlie.log").read_text()[-2000:])
        rest(page, 2)
        first.wait("alpha", "bravo")
        left = first.report()
        self.assertEqual(len(left), INSTRUMENTS)
        self.assertEqual((first.code, [one for one in left if left[one][0]]), (0, []), left)

        second = self.subscriber("second")
        second.wait("alpha", "bravo")
        owners = {one: json.loads(fetch(f"{page}v1/route?key={one}"))["owner"] for one in left}
        orphans = {one for one in owners if owners[one] == "bravo"}
        bravo.kill()
        second.wait("alpha")
        killed = second.report()
        self.assertEqual((second.code, [one for one in killed if killed[one][0]]), (0, []), killed)
        # Of these two owners published the same quotes.
        self.assertTrue(0 < len(orphans) < INSTRUMENTS, orphans)
        self.assertEqual([one for one in orphans if not killed[one][1]], [], killed)

        silence = {name: max(report[one][2] for one in report)
                   for name, report in (("leave", left), ("kill", killed))}
        lease = json.loads(fetch(f"{page}v1/slots"))["lease_ms"] / 1000
        print(f"longest silence of an instrument: {silence['leave']:.2f} s when its owner leaves, "
              f"{silence['kill']:.2f} s when it is killed; lease {lease:.2f} s")
        self.assertIsNone(alpha.poll())

    def test_wrong(self):
        """What to give, exit code 2."""
        for arguments in ((), ("owner", "alpha"), ("listener", self.brokers)):
            child, _ = self.start("wrong", *arguments)
            self.assertEqual(child.wait(20), 2)
            self.assertIn("use: owner NAME", (self.folder / "wrong.log").read_text())
        child, _ = self.start("wrong", "owner", "alpha", self.brokers, "nowhere:port")
        self.assertEqual(child.wait(30), 2)
        self.assertIn("nowhere:port", (self.folder / "wrong.log").read_text())


def bound(taken, port):
    """Whether the socket has the port now."""
    with contextlib.suppress(OSError):
        taken.bind(("127.0.0.1", port))
        return True
    return False


class Show(unittest.TestCase):
    """scripts/show, as a person has it."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.out = self.folder / "out"

    def show(self, *arguments):
        """The script, with a folder for temporary files by which its children are known."""
        with open(self.out, "wb") as file:
            child = children.spawn(
                [process.REPOSITORY / "scripts" / "show", *arguments], stdout=file, stderr=file,
                env=process.environment({"TMPDIR": str(self.temporary),
                                         "NELIROUTE_BUILD": str(BUILD)}))
        self.addCleanup(children.end, child)
        return child

    def left(self):
        """The processes that it started, and its files."""
        mine = f"TMPDIR={self.temporary}\0".encode()
        found = [str(path) for path in self.temporary.iterdir()]
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mine in path.read_bytes():
                    found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" "))
            except OSError:
                continue
        return found

    def started(self):
        """{name: (pid, page)} as it tells them."""
        found = re.findall(r"(?m)^ +(\w+) +pid (\d+) +(http://127\.0\.0\.1:\d+/)$",
                           self.out.read_text())
        return {name: (int(pid), page) for name, pid, page in found}

    def test_kill_and_end(self):
        """Pages and metrics are where it says, a killed owner's instruments move, Ctrl-C ends it"""
        child = self.show()
        owners = children.wait_until(self.started, 60, self.out.read_text)
        self.assertEqual(sorted(owners), ["alpha", "bravo", "charlie"])
        stream = Subscriber(child, self.out)
        stream.wait("alpha", "bravo", "charlie")
        for name, (_, page) in owners.items():
            self.assertIn("<!doctype html>", fetch(page).lower()[:100])
            self.assertIn(f'process="{name}"', fetch(f"{page}metrics"))
        children.os.kill(owners["bravo"][0], signal.SIGKILL)
        stream.wait("alpha", "charlie")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(40), 0, self.out.read_text()[-3000:])
        text = self.out.read_text()
        self.assertEqual(len(re.findall(r"(?m)^\w+: quote .* missing 0,", text)), INSTRUMENTS)
        self.assertNotIn("Killed", text)
        self.assertEqual(self.left(), [])

    def test_it_is_killed_itself(self):
        """SIGKILL for the script: what it started does not outlive it. Its first port looked free,
        as nobody listens there, and is taken all the same. And one of the owners assigns."""
        with socket.socket() as taken:
            # Whoever has it now may end before the script looks; and its connections outlive it.
            children.wait_until(lambda: bound(taken, 7481), 120, "port 7481 is free", poll=0.5)
            child = self.show("--assignment", "assigner")
            owners = children.wait_until(self.started, 60, self.out.read_text)
        self.assertFalse(owners["alpha"][1].endswith(":7481/"), owners)
        rest(owners["alpha"][1], 3)
        told = json.loads(fetch(f"{owners['alpha'][1]}v1/assignment"))
        self.assertEqual(told["source"], "assigner", told)
        self.assertIn("NELIROUTE_ASSIGNMENT=assigner", self.out.read_text())
        child.kill()
        child.wait()
        children.wait_until(lambda: all(str(one).startswith("/") for one in self.left()), 30,
                            lambda: f"only files are left: {self.left()}")

    def test_wrong(self):
        """Exit code 2, with what to give."""
        for arguments, words in ((["--frobnicate"], "unknown option: --frobnicate"),
                                 (["--brokers"], "--brokers needs HOST:PORT"),
                                 (["--assignment", "kafka"], "is group or assigner"),
                                 (["--assignment"], "is group or assigner")):
            child = self.show(*arguments)
            self.assertEqual(child.wait(20), 2)
            self.assertIn(words, self.out.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
