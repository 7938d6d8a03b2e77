#!/usr/bin/python3
"""Nobody reads what a process says: it does its work, and a signal ends it."""
import os
import signal
import socket
import subprocess
import unittest

from case import LaneCase, full_pipe, run_tool
from harness import children, process
from harness.owners import free_port


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Stalled(LaneCase):
    """On the embedded broker."""

    def unread(self, command, *arguments, **options):
        """A process whose output and errors nobody reads."""
        reader, full = full_pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, full)
        child = children.spawn([process.tool_path(), command, *arguments,
                                *process.option_list(options)],
                               stdout=full, stderr=full, env=process.environment())
        self.addCleanup(children.end, child)
        return child

    def owner(self, name, *arguments):
        return self.unread("run", *arguments, name=name, endpoint=f"{name}:1",
                           partitions=16, **self.lane)

    def owned(self):
        """{owner: partitions}, as another process reads it."""
        rows = run_tool("watch", once=True, json=True, partitions=16, **self.lane).rows()
        owners = [row.get("owner") for row in rows if "partition" in row]
        return {owner: owners.count(owner) for owner in owners}

    def wait_owned(self, **owned):
        children.wait_until(lambda: self.owned() == owned, 40, self.owned)

    def test_owners_own(self):
        """They join, share, lead on while others join, and hand over when they are told to end."""
        alpha = self.owner("alpha")
        self.wait_owned(alpha=16)
        beta = self.owner("beta", "--exec", "exec sleep 600")
        self.wait_owned(alpha=8, beta=8)
        gamma = self.owner("gamma")
        children.wait_until(lambda: self.owned().get("gamma", 0) >= 5, 40, self.owned)
        for leaving in (alpha, gamma, beta):
            leaving.terminate()
            self.assertEqual(leaving.wait(30), 0)

    def test_a_crash_ends_an_owner(self):
        """It waits for the reader of its last lines no longer than a second."""
        alpha = self.owner("alpha")
        self.wait_owned(alpha=16)
        alpha.send_signal(signal.SIGABRT)
        self.assertEqual(alpha.wait(20), -signal.SIGABRT)

    def test_a_gateway_ends(self):
        """By one signal."""
        self.owner("alpha")
        self.wait_owned(alpha=16)
        port = free_port()
        gateway = self.unread("gateway", listen=f"127.0.0.1:{port}", key="host", **self.lane)
        children.wait_until(lambda: listens(port), 30, "the gateway listens")
        gateway.terminate()
        self.assertEqual(gateway.wait(20), 0)

    def test_the_broker_ends(self):
        """Also before it has said where it listens."""
        port = free_port()
        broker = self.unread("broker", port=port)
        children.wait_until(lambda: listens(port), 20, "the broker listens")
        broker.send_signal(signal.SIGINT)
        self.assertEqual(broker.wait(10), 0)

    def test_exit_codes_without_a_place_for_the_text(self):
        """A full disk, and stderr closed."""
        for arguments, code in ((["route", "--bogus"], 2),
                                (["route", "k", "--brokers", "127.0.0.1:1", "--timeout", "1s"], 3),
                                (["cordon"], 2)):
            for place in ("2>/dev/full", "2>&-", ">/dev/full 2>/dev/full"):
                done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {place}', "sh",
                                       process.tool_path(), *arguments], check=False,
                                      stdout=subprocess.DEVNULL, timeout=30,
                                      env=process.environment())
                self.assertEqual(done.returncode, code, (arguments, place))


if __name__ == "__main__":
    unittest.main(verbosity=2)
