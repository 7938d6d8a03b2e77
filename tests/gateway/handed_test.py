#!/usr/bin/python3
"""A gateway's listening socket that is passed to it (LISTEN_FDS), and to the next one: no client is
refused or reset when one is replaced."""
import os
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from gateway_test import Application, Callers, ask  # noqa: E402
from harness import children, process  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402


class Handed(LaneOwners):
    """One owner, callers, and gateways that come and go."""
    partitions = 4

    def setUp(self):
        super().setUp()
        application = Application("alpha")
        self.addCleanup(application.close)
        self.owner = self.start("alpha", key="header:X-Key", upstream=application.address)
        self.wait_led(self.owner)
        self.started = 0

    def run_gateway(self, port, before=(), awaited=True, **options):
        """A gateway at this port, by such a command; and what it logs."""
        self.started += 1
        errors = self.path(f"gateway-{self.started}", "err")
        fields = {**self.lane, "key": "header:X-Key", "listen": f"127.0.0.1:{port}", **options}
        with open(errors, "wb") as err:
            child = children.spawn([*before, process.tool_path(), "gateway",
                                    *process.option_list(fields)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment(), close_fds=False)
        self.addCleanup(children.end, child)
        if awaited:
            children.wait_until(lambda: "gateway: http" in errors.read_text(), 30,
                                errors.read_text)
        return child, errors

    def stop(self, child):
        """It finishes what is under way."""
        os.kill(child.pid, signal.SIGTERM)
        self.assertEqual(child.wait(30), 0)

    def test_one_is_replaced_while_clients_connect(self):
        """With the next one beside it, and with nobody for a moment."""
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
            port = listener.getsockname()[1]
            os.set_inheritable(listener.fileno(), True)
            passed = ["bash", "-c", 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&' +
                      str(listener.fileno()), "bash"]
            first, _ = self.run_gateway(port, passed)
            callers = Callers(port, 4)
            self.addCleanup(callers.stop)

            def called_on():
                served = callers.served
                children.wait_until(lambda: callers.served > served + 50, 30,
                                    lambda: f"they call: {callers.failed}")
            called_on()
            second, _ = self.run_gateway(port, passed)
            called_on()
            self.stop(first)
            called_on()
            self.stop(second)
            self.run_gateway(port, passed)
            called_on()
            self.assertEqual(callers.stop(), [])

    def test_by_systemd(self):
        """Which starts it when the first client connects."""
        port = free_port()
        child, errors = self.run_gateway(
            port, ["systemd-socket-activate", f"--listen=127.0.0.1:{port}",
                   *(f"--setenv={name}" for name in process.environment())], awaited=False)
        children.wait_until(lambda: "Listening on" in errors.read_text(), 30, errors.read_text)
        status, text = ask(port, "k", timeout=40)
        self.assertEqual(status, 200, text + errors.read_text())
        self.stop(child)

    def test_one_that_was_passed_for_another_address(self):
        """Is not taken; the error names it."""
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            os.set_inheritable(listener.fileno(), True)
            child, errors = self.run_gateway(
                taken.getsockname()[1],
                ["bash", "-c", 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&' +
                 str(listener.fileno()), "bash"], awaited=False)
            self.assertEqual(child.wait(30), 2)
            self.assertIn("passed to this process: 127.0.0.1:%d" % listener.getsockname()[1],
                          errors.read_text())

    def test_one_is_added_at_the_same_port(self):
        """--reuse-port: without it the address is in use."""
        port = free_port()
        first, _ = self.run_gateway(port, **{"reuse-port": True})
        self.run_gateway(port, **{"reuse-port": True})
        for _ in range(20):
            self.assertEqual(ask(port, "k")[0], 200)
        other, errors = self.run_gateway(port, awaited=False)
        self.assertEqual(other.wait(30), 2)
        self.assertIn("in use", errors.read_text())
        self.stop(first)
        self.assertEqual(ask(port, "k")[0], 200)


if __name__ == "__main__":
    unittest.main()
