#!/usr/bin/python3
"""The load against a server of ours: how many connections it makes, and what it sends again."""
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]
import records  # noqa: E402
from cast import Load, address, program  # noqa: E402
from harness.children import wait_until  # noqa: E402

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"


class Server:
    """Answers each request on a connection after `pause`; closes when it has read one more than
    `answers`."""

    def __init__(self, pause=0.0, answers=1_000_000):
        self.pause, self.answers = pause, answers
        self.connections, self.requests = 0, []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                taken = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken):
        with taken:
            answered = 0
            while text := self._request(taken):
                self.requests.append(text)
                if answered == self.answers:
                    return
                answered += 1
                time.sleep(self.pause)  # the server is slow
                number = field(text, "Idempotency-Key") or field(text, "X-Bench-Call") or "0"
                body = f"{number} 1\n".encode()
                taken.sendall(ANSWER % (len(body), body))

    def _request(self, taken):
        text = b""
        while b"\r\n\r\n" not in text:
            try:
                part = taken.recv(4096)
            except OSError:
                return ""
            if not part:
                return ""
            text += part
        head, _, body = text.partition(b"\r\n\r\n")
        if b"Content-Length: 1" in head and not body:
            taken.recv(1)
        return head.decode()

    def end(self):
        """Takes no more connections."""
        self._listener.close()


def field(head, name):
    """Of a request; empty without it."""
    return next((line.partition(": ")[2] for line in head.splitlines()
                 if line.startswith(f"{name}: ")), "")


class Calls(unittest.TestCase):
    """A load for each test, until the server has had enough of it."""

    def calls(self, server, least, **options):
        """The records of a load that was stopped when the server had read so many requests."""
        self.addCleanup(server.end)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        load = Load(Path(folder), way="one", targets=address(server.port), keys=100, **options)
        self.addCleanup(load.end, 0)
        wait_until(lambda: len(server.requests) >= least, 60, load.tail)
        load.stop()
        return records.read(load.saved)

    def test_calls_wait_for_a_connection_of_a_fixed_number(self):
        server = Server(pause=0.02)  # at most 200 a second on four
        found = self.calls(server, 300, rate=400, connections=4, plain=True)
        self.assertEqual(server.connections, 4)
        self.assertEqual({one.outcome for one in found}, {records.SERVED})
        self.assertGreater(len(found), 400)
        self.assertGreater(found[-1].latency_us, 200_000, "it counts from when a call was due")

    def test_without_a_number_there_are_as_many_as_calls_under_way(self):
        server = Server(pause=0.2)
        found = self.calls(server, 100, rate=200, plain=True)
        self.assertGreater(server.connections, 10)
        self.assertEqual({one.outcome for one in found}, {records.SERVED})

    def test_a_part_has_no_idempotency_key(self):
        server = Server()
        found = self.calls(server, 400, rate=1000, without_keys=50)
        self.assertEqual({one.outcome for one in found}, {records.SERVED})
        bare = [one for one in server.requests if not field(one, "Idempotency-Key")]
        self.assertEqual(len(bare), sum(one.keyless for one in found))
        self.assertTrue(0.4 < len(bare) / len(found) < 0.6, f"{len(bare)} of {len(found)}")
        keys = {one.key for one in found if one.keyless} & {one.key for one in found
                                                           if not one.keyless}
        self.assertGreater(len(keys), 50, "it is calls that have none, not counters")

    def test_on_an_old_connection_that_breaks_only_calls_with_a_key_are_sent_again(self):
        broken = next(number for number, name in records.OUTCOMES.items() if name == "broken")
        server = Server(answers=1)
        found = self.calls(server, 100, rate=500)
        self.assertEqual({(one.outcome, one.attempts) for one in found},
                         {(records.SERVED, 1), (records.SERVED, 2)})
        server = Server(answers=1)
        found = self.calls(server, 100, rate=500, without_keys=100)
        self.assertEqual({(one.outcome, one.attempts) for one in found},
                         {(records.SERVED, 1), (broken, 1)})
        self.assertEqual(len(server.requests), len(found))


if __name__ == "__main__":
    program("load")
    unittest.main()
