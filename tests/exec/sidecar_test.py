#!/usr/bin/python3
"""--control: an owner and a watcher as sidecars of programs in other languages."""
import http.client
import json
import os
import re
import socket
import threading
import unittest
import urllib.request

from owners_case import PARTITIONS, OwnersCase, admin_port, call
from harness import children, process


def text_of(epoch):
    """As a query and the field Neliroute-Epoch have it."""
    return f"{epoch['inc']}:{epoch['offset']}"


class Waiting(threading.Thread):
    """One long poll, and what came of it."""

    def __init__(self, port, target):
        super().__init__(daemon=True)
        self.port, self.target, self.answer = port, target, None
        self.start()

    def run(self):
        """Ends with the answer."""
        self.answer = call(self.port, "GET", self.target, timeout=70)

    def row(self):
        """What was answered."""
        self.join(70)
        status, _, row = self.answer
        assert status == 200, self.answer
        return row


class Sidecar(OwnersCase):
    """Processes with --control on the embedded broker."""

    def sidecar(self, name, **options):
        """An owner with an admin port that takes control calls; its `http` is the port."""
        owner = self.start(name, **{"http": "0", "control": True, **options})
        owner.http = admin_port(owner.errors)
        return owner

    def metric(self, port, name):
        """The value of one without labels of its own."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            found = re.search(rf"^neliroute_{name}{{[^}}]*}} (\S+)$", answer.read().decode(), re.M)
        return float(found[1])

    def admit(self, port, headers=None, **question):
        """POST /v1/admit that must be answered: the answer."""
        status, _, row = call(port, "POST", "/v1/admit", question, headers)
        self.assertEqual(status, 200, row)
        return row

    def test_a_caller_waits_for_the_next_owner(self):
        """At a watcher: until a record names it."""
        alpha = self.sidecar("alpha")
        self.wait_led(alpha)
        watcher = self.watcher(http="0", control=True)
        first = call(watcher, "GET", "/v1/route?key=a&wait=60s")[2]
        self.assertEqual((first["owner"], first["verdict"]), ("alpha", "remote"))
        known = text_of(first["epoch"])
        again = call(watcher, "GET", f"/v1/route?key=a&after={known}&wait=1ms")[2]
        self.assertEqual(again["epoch"], first["epoch"], "its time was over")
        waiting = Waiting(watcher, f"/v1/route?key=a&after={known}&wait=60s")
        children.wait_until(lambda: self.metric(watcher, "waiters") == 1, 20, "it waits")
        beta = self.sidecar("beta")
        children.wait_until(lambda: beta.refresh() or beta.leading, 30, beta.error_tail)
        alpha.leave()
        row = waiting.row()
        self.assertEqual(row["owner"], "beta")
        self.assertGreater((row["epoch"]["inc"], row["epoch"]["offset"]),
                           (first["epoch"]["inc"], first["epoch"]["offset"]))
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())

    def test_a_caller_that_goes_away_waits_no_more(self):
        """Its wait is cancelled, here and at the router."""
        watcher = self.watcher(http="0", control=True)
        gone = socket.create_connection(("127.0.0.1", watcher), timeout=10)
        gone.sendall(b"GET /v1/route?key=a&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n")
        children.wait_until(lambda: self.metric(watcher, "waiters") == 1, 20, "it waits")
        self.assertEqual(self.metric(watcher, "control_waits"), 1)
        gone.close()
        children.wait_until(lambda: self.metric(watcher, "waiters") == 0, 20, "it is cancelled")
        self.assertEqual(self.metric(watcher, "control_waits"), 0)

    def test_requests_are_admitted_or_sent_on(self):
        """Each owner serves its own, and names the other's."""
        owners = {name: self.sidecar(name) for name in ("alpha", "beta")}
        self.wait_led(*owners.values())
        routes = {name: self.keys_seen(owner.http) for name, owner in owners.items()}
        children.wait_until(lambda: all(routes["alpha"]().values()), 20, "all are known")
        for key, name in routes["alpha"]().items():
            other = "beta" if name == "alpha" else "alpha"
            served = self.admit(owners[name].http, key=key)
            self.assertEqual(served["answer"], "serve", served)
            status, _, row = call(owners[name].http, "POST", "/v1/done", {"work": served["work"]})
            self.assertEqual((status, row), (200, {"ended": True}))
            status, _, row = call(owners[name].http, "POST", "/v1/done", {"work": served["work"]})
            self.assertEqual(status, 404, row)
            moved = self.admit(owners[other].http, key=key)
            self.assertEqual((moved["answer"], moved["owner"]), ("redirect", name))
            self.assertEqual(moved["epoch"], served["epoch"])
            obeyed = self.admit(owners[name].http, slot=moved["slot"], epoch=moved["epoch"],
                                hops=1)
            self.assertEqual(obeyed["answer"], "serve")
            stale = self.admit(owners[other].http, key=key, epoch=text_of(served["epoch"]))
            self.assertEqual(stale["answer"], "wait")
            spent = self.admit(owners[other].http, key=key, hops=3)
            self.assertEqual((spent["answer"], spent["leaving"]), ("refuse", False))

    def keys_seen(self, port):
        """A function: {key: the owner's name, or None}, as this process sees it."""
        def look():
            return {f"k{n}": call(port, "GET", f"/v1/route?key=k{n}")[2].get("owner")
                    for n in range(10)}
        return look

    def test_a_hand_over_waits_for_work(self):
        """Nothing is released before POST /v1/done."""
        alpha = self.sidecar("alpha", lease="10s")
        self.wait_led(alpha)
        works = [self.admit(alpha.http, slot=slot)["work"] for slot in range(PARTITIONS)]
        self.assertEqual(self.metric(alpha.http, "control_works"), PARTITIONS)
        beta = self.sidecar("beta", lease="10s")
        stopped = self.wait_row(alpha, 40, event="stopped")
        alpha.refresh()
        self.assertEqual([row for row in alpha.events.rows if row["event"] == "released"], [])
        ended = children.boot_now()
        for work in works:
            self.assertEqual(call(alpha.http, "POST", "/v1/done", {"work": work})[0], 200)
        released = self.wait_row(alpha, event="released", partition=stopped["partition"])
        # Work is abandoned at the lease's end: on a machine that stands still.
        self.assertGreater(released["boot"], min(ended, stopped["boot"] + 8))
        self.wait_led(alpha, beta)

    def test_an_owner_is_asked_to_leave(self):
        """It hands over and ends; a signal right afterwards, as of a supervisor, means the same."""
        alpha, beta = self.sidecar("alpha"), self.sidecar("beta")
        self.wait_led(alpha, beta)
        for again in (False, True):
            try:
                status, _, row = call(alpha.http, "POST", "/v1/drain", {})
            except OSError:
                if not again:
                    raise
                break  # it has handed over by now
            self.assertEqual((status, row), (202, {"draining": True}))
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.assertIn("as POST /v1/drain asks", alpha.errors.read_text())
        self.wait_led(beta)
        alpha.refresh()
        self.assertEqual(alpha.leading, {})

    def test_a_watcher_owns_nothing(self):
        """It says so, and points elsewhere."""
        watcher = self.watcher(http="0", control=True)
        for target, body in (("/v1/admit", {"key": "a"}), ("/v1/done", {}), ("/v1/drain", {})):
            status, _, row = call(watcher, "POST", target, body)
            self.assertEqual(status, 404)
            self.assertIn("ask an owner", row["error"])

    def test_nobody_acts_without_control(self):
        """403, and how to turn it on."""
        alpha = self.sidecar("alpha", control=None)
        watcher = self.watcher(http="0")
        for port in (alpha.http, watcher):
            for method, target in (("POST", "/v1/admit"), ("POST", "/v1/drain"),
                                   ("GET", "/v1/route?key=a&wait=1s")):
                status, _, row = call(port, method, target, {} if method == "POST" else None)
                self.assertEqual(status, 403)
                self.assertIn("--control", row["error"])
        self.wait_led(alpha)

    def test_nobody_acts_without_the_token(self):
        """At an address that others can reach."""
        secret = self.path("alpha", "token")
        secret.touch(mode=0o600)
        secret.write_text("s3cret\n", encoding="ascii")
        alpha = self.sidecar("alpha", http="0.0.0.0:0", control_token=secret)
        self.wait_led(alpha)
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            status, fields, row = call(alpha.http, "POST", "/v1/drain", {}, headers)
            self.assertEqual((status, fields["WWW-Authenticate"]), (401, "Bearer"), row)
        row = self.admit(alpha.http, {"Authorization": "Bearer s3cret"}, slot=0)
        self.assertEqual(row["answer"], "serve")
        self.assertTrue(alpha.running())

    def test_web_pages_cannot_act(self):
        """What a form can send is refused, and so is any other page's script."""
        alpha = self.sidecar("alpha")
        self.wait_led(alpha)
        for expected, headers in (
                (415, {"Content-Type": "application/x-www-form-urlencoded"}),
                (415, {"Content-Type": "text/plain"}),
                (403, {"Origin": "http://evil.example"}), (403, {"Origin": "null"}),
                (421, {"Host": "evil.example"})):
            status, _, row = call(alpha.http, "POST", "/v1/drain", {}, headers)
            self.assertEqual(status, expected, row)
        own = {"Origin": f"http://127.0.0.1:{alpha.http}"}
        self.assertEqual(self.admit(alpha.http, own, slot=0)["answer"], "serve")
        connection = http.client.HTTPConnection("127.0.0.1", alpha.http, timeout=10)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/admit")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))
        self.assertIn("POST", json.loads(answer.read())["error"])

    def test_wrong_options_are_named(self):
        """Exit 2, the option or the file, and what to do; before any broker is asked."""
        missing = self.path("no", "token")
        empty, open_to_all = self.path("empty", "token"), self.path("open", "token")
        for path in (empty, open_to_all):
            path.touch(mode=0o600)
        open_to_all.write_text("secret", encoding="ascii")
        os.chmod(open_to_all, 0o644)
        wide = {"http": "0.0.0.0:0", "control": True}
        for options, expected in (
                ({"control": True}, "give --http"),
                ({"http": "0", "control_token": empty}, "give --control"),
                (wide, "--control-token FILE"),
                ({**wide, "control_token": missing}, f"{missing}: it cannot be read"),
                ({**wide, "control_token": empty}, f"{empty}: it is empty"),
                ({**wide, "control_token": open_to_all}, f"chmod 600 {open_to_all}")):
            for command in ("run", "watch"):
                with self.subTest(command=command, expected=expected):
                    done = process.run_tool(command, endpoint="127.0.0.1:1",
                                            **{**self.lane, "brokers": "127.0.0.1:1", **options})
                    self.assertEqual(done.code, 2, done)
                    self.assertIn(expected, done.err)


if __name__ == "__main__":
    unittest.main()
