#!/usr/bin/python3
"""`run --notify`: events as POSTs, with servers that answer well, badly or never."""
import http.server
import json
import threading
import unittest

from owners_case import PARTITIONS, OwnersCase, by_partition, free_port
from harness import children, process
from harness.http_server import Handler

UPON_A_START = ["prepare", "warm_up", "acquired"]


class Listening:
    """A server that writes down what is POSTed; `status` is its answer, once `open` is set."""

    def __init__(self, status=204):
        self.status = status
        self.events = []
        self.kinds = set()
        self.open = threading.Event()
        self.open.set()
        listening = self

        class Answers(Handler):
            """One POST."""

            def do_POST(self):
                """Answers when it may."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                event = {**json.loads(body), "boot": children.boot_now()}
                listening.events.append(event)
                listening.kinds.add((self.path, self.headers["Content-Type"]))
                listening.open.wait(60)
                self.send_response(listening.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Server(http.server.ThreadingHTTPServer):
            """One that nobody waits to be accepted by, and that says nothing of closed clients."""
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *_):
                """Nothing."""

        self.server = Server(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        """For --notify."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/events"

    def close(self):
        """Nobody can connect any more."""
        self.open.set()
        self.server.shutdown()
        self.server.server_close()


class Notify(OwnersCase):
    """Owners, each with a server of the test that it notifies."""

    def listening(self, status=204):
        """One that is closed at the end."""
        made = Listening(status)
        self.addCleanup(made.close)
        return made

    def wait_told(self, server, count):
        """Until so many events came: all of them."""
        return children.wait_until(lambda: len(server.events) >= count and list(server.events), 30,
                                   lambda: f"{count}\n{server.events}")

    def test_events_in_order(self):
        """At both ends of a move, each once."""
        servers = {name: self.listening() for name in ("alpha", "beta")}
        alpha = self.start("alpha", notify=servers["alpha"].url)
        self.wait_led(alpha)
        told = self.wait_told(servers["alpha"], 3 * PARTITIONS)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in range(PARTITIONS)})
        self.assertEqual(sorted(event["seq"] for event in told), list(range(1, len(told) + 1)))
        self.assertEqual(servers["alpha"].kinds, {("/events", "application/json")})
        beta = self.start("beta", notify=servers["beta"].url)
        self.wait_led(alpha, beta)
        told = self.wait_told(servers["beta"], 3 * PARTITIONS // 2)
        self.assertEqual(by_partition(told), {p: UPON_A_START for p in beta.leading})
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        for partition, events in by_partition(servers["alpha"].events).items():
            self.assertEqual(events[-2:], ["stopped", "released"], partition)
        stopped = [event for event in servers["alpha"].events if event["event"] == "stopped"]
        self.assertEqual({event["successor"]["name"] for event in stopped}, {"beta"})

    def test_an_answer_is_waited_for(self):
        """Nothing is led before the server has answered what comes first."""
        server = self.listening()
        server.open.clear()
        alpha = self.start("alpha", notify=server.url)
        self.wait_told(server, 1)
        asked = server.events[0]["boot"]
        answered = children.boot_now()
        server.open.set()
        self.wait_led(alpha)
        first = min(row["boot"] for row in alpha.events.rows if row["event"] == "acquired")
        # prepare_timeout is 5 s: on a machine that stands still, it goes on without the answer.
        self.assertGreater(first, min(answered, asked + 4))

    def test_a_server_that_refuses(self):
        """Three times each, logged once, and everything goes on."""
        server = self.listening(status=500)
        alpha = self.start("alpha", notify=server.url)
        self.wait_led(alpha)
        told = self.wait_told(server, 9 * PARTITIONS)
        tries = {}
        for event in told:
            tries[event["seq"]] = tries.get(event["seq"], 0) + 1
        self.assertEqual(set(tries.values()), {3})
        self.assertEqual(alpha.errors.read_text().count("the answer is 500"), 1)

    def test_a_server_that_never_answers(self):
        """It holds up what it may, and no more: leading and leaving are bounded."""
        server = self.listening()
        server.open.clear()
        alpha = self.start("alpha", notify=server.url, drain_timeout="2s", stop_timeout="1s")
        self.wait_led(alpha)
        self.assert_leaves(alpha, drain_s=2, answer_s=5, stop_s=1)  # NotifierOptions::each

    def test_in_place_of_stdin(self):
        """With --exec, the program's stdin stays silent."""
        server = self.listening()
        alpha = self.follower("alpha", "answers", notify=server.url)
        self.wait_led(alpha)
        self.wait_told(server, 3 * PARTITIONS)
        alpha.log.read()
        self.assertEqual(alpha.log.rows, [])

    def test_nobody_listens(self):
        """It owns nothing, and does not wait for ever."""
        port = free_port()
        late = process.run_tool("run", endpoint="127.0.0.1:1", timeout="1s",
                                notify=f"http://127.0.0.1:{port}/", **self.lane)
        self.assertNotEqual(late.code, 0, late)
        self.assertIn(f"--notify 127.0.0.1:{port} accepts no connection", late.err)

    def test_urls_elsewhere_are_refused(self):
        """Exit 2, what was given, and what was expected."""
        for url in ("https://127.0.0.1:1/", "http://10.0.0.7:1/", "127.0.0.1:1",
                    "http://0.0.0.0:1"):
            done = process.run_tool("run", endpoint="127.0.0.1:1", notify=url, **self.lane)
            self.assertEqual(done.code, 2, done)
            self.assertIn(url, done.err)
            self.assertIn("http://127.0.0.1:9000/events", done.err)


if __name__ == "__main__":
    unittest.main()
