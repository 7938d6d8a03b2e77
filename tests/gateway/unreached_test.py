#!/usr/bin/python3
"""Owners that lead, and that a gateway cannot connect to: what its clients, its log and its metrics
say of it."""
import json
import os
import re
import resource
import socket
import sys
import unittest
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from gateway_test import Application, Authority, ask  # noqa: E402
from harness import children  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402


def settled_descriptors(pid):
    """Those of a process, once none opens or closes any more."""
    seen = []

    def settled():
        seen.append(set(map(int, os.listdir(f"/proc/{pid}/fd"))))
        return seen[-1] if seen[-1:] == seen[-2:-1] else None
    return children.wait_until(settled, 20, "descriptors at rest", poll=0.3)


class Unreached(LaneOwners):
    """One owner, which leads everything, and a gateway."""
    partitions = 4

    def lead(self, endpoint, **options):
        """Somebody leads there, whoever listens."""
        owner = self.start("alpha", endpoint=endpoint, **options)
        self.wait_led(owner)
        return owner

    def unreached(self, **options):
        """What the gateway's clients are told, and the lines of its log about that."""
        child, port = self.gateway(key="header:X-Key", deadline="1500ms", http=0, **options)
        for _ in range(3):
            status, text = ask(port, "k")
            self.assertEqual(status, 503, text)
        return text, self.lines(), child, port

    def lines(self):
        """Of the log, about owners that cannot be reached."""
        return re.findall("warning (.* cannot be reached: .*)", self.log())

    def log(self):
        """The gateway's."""
        return self.path("gateway", "err").read_text()

    def results(self):
        """result -> requests, in the gateway's metrics."""
        return {result: float(count) for result, count in re.findall(
            r'neliroute_proxy_requests_total\{.*result="(\w+)"\} (\S+)',
            self.admin("metrics"))}

    def admin(self, path):
        """What the gateway's admin port answers."""
        address = re.search(r"admin port: (http://\S+/)", self.log())[1]
        with urllib.request.urlopen(address + path, timeout=10) as answer:
            return answer.read().decode()

    def check(self, endpoint, told, logged, **options):
        """One line of the log, the clients' text, and a count of its own."""
        text, lines, *_ = self.unreached(**options)
        self.assertIn(f"this key's owner cannot be reached: {told}", text)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], f"^the owner at {re.escape(endpoint)} cannot be reached: "
                                   f"{told}: {logged}$")
        for counts in (self.results(), json.loads(self.admin("v1/requests"))):
            self.assertEqual((counts["unreachable"], counts["unowned"]), (3, 0), counts)

    def test_refused(self):
        """Nobody listens at its endpoint."""
        endpoint = f"127.0.0.1:{free_port()}"
        self.lead(endpoint)
        self.check(endpoint, "it refuses connections", "Connection refused")

    def test_no_answer(self):
        """Its machine drops what comes."""
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            endpoint = "127.0.0.1:%d" % deaf.getsockname()[1]
            self.lead(endpoint)
            waiting = [socket.socket() for _ in range(3)]
            for one in waiting:  # more than it has room for
                self.addCleanup(one.close)
                one.setblocking(False)
                one.connect_ex(deaf.getsockname())
            self.check(endpoint, "it does not answer in time", "Connection timed out")

    def test_unresolved(self):
        """A name that only its own machine knows."""
        self.lead("nowhere.invalid:8080")
        self.check("nowhere.invalid:8080", "its name could not be resolved", ".+")

    def test_tls(self):
        """A certificate of somebody else: the log says what is wrong with it."""
        authority, other = Authority(self.folder, "ca"), Authority(self.folder, "other")
        files = {"tls-cert": self.folder / "own.pem", "tls-key": self.folder / "own.key"}
        authority.sign("alpha", *files.values())
        application = Application("alpha")
        self.addCleanup(application.close)
        endpoint = f"127.0.0.1:{free_port()}"
        self.lead(endpoint, key="header:X-Key", upstream=application.address, **files)
        self.check(endpoint, "no TLS connection to it could be made",
                   "unable to get local issuer certificate",
                   **{"upstream-tls": True, "upstream-ca": other.certificate})

    def test_an_application(self):
        """That is down, behind an owner that is not."""
        application = Application("alpha")
        endpoint = f"127.0.0.1:{free_port()}"
        owner = self.lead(endpoint, key="header:X-Key", upstream=application.address,
                          deadline="500ms")
        application.close()
        for _ in range(3):
            status, text = ask(owner.port, "k")
            self.assertEqual(status, 503)
            self.assertIn("this key's application cannot be reached: it refuses connections", text)
        self.assertEqual(owner.errors.read_text().count(
            f"the application at {application.address} cannot be reached"), 1)

    def test_no_descriptors(self):
        """The gateway's own: that is no owner's fault, and ends with the want."""
        application = Application("alpha")
        self.addCleanup(application.close)
        self.lead(f"127.0.0.1:{free_port()}", key="header:X-Key", upstream=application.address)
        child, port = self.gateway(key="header:X-Key", deadline="1500ms")
        before = resource.prlimit(child.pid, resource.RLIMIT_NOFILE)

        def lacks():
            # The client's connection takes the last one, unless another of its own comes or goes.
            resource.prlimit(child.pid, resource.RLIMIT_NOFILE, before)
            used = settled_descriptors(child.pid)
            free = sorted(set(range(max(used) + 3)) - used)
            resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (free[1], before[1]))
            try:
                return ask(port, "k")
            except OSError:
                return None
        status, text = children.wait_until(
            lambda: (told := lacks()) and told[0] != 200 and told, 60, self.log)
        self.assertEqual(status, 503)
        self.assertIn("this process lacks descriptors or ports", text)
        self.assertEqual(len(self.lines()), 1)
        self.assertIn("Too many open files", self.lines()[0])
        resource.prlimit(child.pid, resource.RLIMIT_NOFILE, before)
        children.wait_until(lambda: ask(port, "k")[0] == 200, 20, self.lines)

    def test_nobody_leads(self):
        """That has another text, and another count."""
        owner = self.lead(f"127.0.0.1:{free_port()}")
        _, port = self.gateway(key="header:X-Key", deadline="300ms", http=0)
        owner.leave()
        self.assertEqual(owner.wait_exit(), 0, owner.error_tail())
        children.wait_until(lambda: '"unowned"' in self.admin("v1/route?key=k"), 20, self.log)
        status, text = ask(port, "k")
        self.assertEqual((status, text), (503, "nobody serves this key at present; try again\n"))
        self.assertEqual(self.results()["unreachable"], 0)
        self.assertEqual(self.lines(), [])


if __name__ == "__main__":
    unittest.main()
