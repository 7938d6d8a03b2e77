#!/usr/bin/python3
"""Applications that close connections which are idle, as gunicorn, Node and Apache do: a request
that comes at that moment is lost, and one that may have been carried out is never sent again."""
import http.client
import select
import sys
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import children  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402
from messages import Ended, Malformed, Reader, Server  # noqa: E402


class Impatient(Server):
    """Closes a connection that was idle for so long. From when it has decided that until it closes,
    it takes no request: in a real server that is a moment, here until one comes, or a second."""

    def __init__(self, idle, fields=b""):
        self.idle, self.fields = idle, fields
        self.connections = 0
        self.over = threading.Event()  # a connection with a request: it is closed, or about to be
        self.lost = 0
        super().__init__()

    def _serve(self, connection):
        reader, first = Reader(connection), True
        with connection:
            try:
                while True:
                    reader.request()
                    self.connections += first
                    first = False
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + self.fields +
                                       b"\r\nok")
                    if not select.select([connection], [], [], self.idle)[0]:
                        return self._close(connection)
            except (Ended, Malformed, OSError):
                if not first:
                    self.over.set()
                return None

    def _close(self, connection):
        self.over.set()
        if select.select([connection], [], [], 1)[0] and connection.recv(1):
            self.lost += 1


class Idle(LaneOwners):
    """A caller, an owner, and an application behind it."""
    partitions = 4

    def application(self, idle, fields=b""):
        """Closed with the test."""
        made = Impatient(idle, fields)
        self.addCleanup(made.close)
        return made

    def owner(self, application, **options):
        """It owns everything."""
        made = self.start("alpha", key="header:X-Key", upstream=application.address, **options)
        self.wait_led(made)
        return made

    def caller(self, port):
        """method -> status, on one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        self.addCleanup(connection.close)

        def call(method):
            connection.request(method, "/", body=b"x" if method != "GET" else None,
                               headers={"X-Key": "k"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        return call

    def check_lost(self, application, call, method):
        """Two requests, the second one when the connection of the first is being closed."""
        application.over.clear()
        self.assertEqual(call(method), 200)
        self.assertTrue(application.over.wait(20), "its connection ends")
        self.assertEqual(call(method), 200)
        self.assertEqual(application.lost, 0)

    def check_posts(self, idle):
        """Each comes when the application closes what was idle for so long."""
        application = self.application(idle)
        call = self.caller(self.owner(application).port)
        for _ in range(3):
            self.check_lost(application, call, "POST")

    def test_a_post_never_meets_a_connection_that_is_being_closed(self):
        """By an application that keeps them for longer than owners do, as gunicorn does."""
        self.check_posts(2)

    def test_a_post_never_meets_one_that_is_closed_early(self):
        """By an application that keeps them for less than owners do."""
        self.check_posts(0.25)

    def test_connections_are_kept_for_a_second(self):
        """If the application does not say how long it keeps them."""
        application = self.application(2)
        call = self.caller(self.owner(application).port)
        self.check_lost(application, call, "GET")

    def test_connections_are_kept_as_the_application_says(self):
        """A second less than its Keep-Alive."""
        application = self.application(3, b"Keep-Alive: timeout=3, max=100\r\n")
        call = self.caller(self.owner(application).port)
        self.check_lost(application, call, "GET")
        self.assertEqual(application.connections, 2)
        self.assertEqual(call("GET"), 200)
        time.sleep(1.2)  # no longer than that is what is tested
        self.assertEqual(call("GET"), 200)
        self.assertEqual(application.connections, 2, "and not for a second only")

    def test_connections_are_kept_as_the_option_says(self):
        """Whatever the application says."""
        application = self.application(0.6, b"Keep-Alive: timeout=60\r\n")
        call = self.caller(self.owner(application, **{"upstream-idle": "300ms"}).port)
        self.check_lost(application, call, "GET")
        before = application.connections
        for _ in range(20):
            self.assertEqual(call("POST"), 200)
        self.assertLess(application.connections, before + 20, "those in a row share some")

    def test_no_connection_is_kept(self):
        """--upstream-idle 0ms."""
        application = self.application(5)
        call = self.caller(self.owner(application, **{"upstream-idle": "0ms"}).port)
        for count in range(1, 4):
            self.assertEqual(call("GET"), 200)
            self.assertEqual(application.connections, count)

    def test_a_gateway_before_owners_that_are_such_applications(self):
        """They are no proxies of ours."""
        application = self.application(0.3)
        owner = self.start("alpha", endpoint=application.address)
        self.wait_led(owner)
        _, port = self.gateway(key="header:X-Key")
        call = self.caller(port)
        children.wait_until(lambda: call("GET") == 200, 20, owner.error_tail)
        self.check_lost(application, call, "POST")


if __name__ == "__main__":
    unittest.main()
