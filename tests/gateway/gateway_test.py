#!/usr/bin/python3
"""A gateway, owners with an application behind each, and callers that know nothing of slots."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tool"))
from case import run_raw  # noqa: E402
from harness import children, process  # noqa: E402
from harness.http_server import Handler, Server  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402
from prometheus import documented  # noqa: E402


class Application(Server):
    """An HTTP server that counts per key, and says which process it stands behind."""

    def __init__(self, name):
        self.name = name
        self.requests = []
        self.delay = threading.Event()
        self.delay.set()
        application = self

        class Answers(Handler):
            """One request."""

            def do_GET(self):
                """Answers at once, unless the test holds it up."""
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                application.requests.append((self.path, dict(self.headers), body))
                application.delay.wait(20)
                answer = json.dumps({"served_by": application.name, "path": self.path,
                                     "bytes": len(body),
                                     "epoch": self.headers.get("Neliroute-Epoch")}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET

        super().__init__(Answers)

    def close(self):
        """Who is held up goes on."""
        self.delay.set()
        super().close()


def ask(port, key, path="/", body=None, timeout=15, tls=None):
    """One request on a connection of its own: its status and its body."""
    connection = (http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=tls)
                  if tls else http.client.HTTPConnection("127.0.0.1", port, timeout=timeout))
    try:
        connection.request("POST" if body is not None else "GET", path, body=body,
                           headers={"X-Key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Authority:
    """Signs certificates of 127.0.0.1."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate = folder / f"{name}.ca.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", folder / f"{name}.ca.key", "-out", self.certificate,
                     "-days", "2", "-subj", f"/CN={name}")

    @staticmethod
    def openssl(*arguments):
        """The command, which must succeed."""
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    def sign(self, subject, certificate, key):
        """A certificate of 127.0.0.1, and its key, in place of those that are there."""
        request, names = self.folder / "request.pem", self.folder / "names.cnf"
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", key, "-out", request, "-subj", f"/CN={subject}")
        self.openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
                     self.folder / f"{self.name}.ca.key", "-CAcreateserial", "-days", "2",
                     "-extfile", names, "-out", certificate)

    def client(self):
        """For callers that believe it."""
        return ssl.create_default_context(cafile=self.certificate)


class Callers:
    """Threads that send one request after the other until they are stopped."""

    def __init__(self, port, count):
        self.port = port
        self.failed = []
        self.served = 0
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(number,), daemon=True)
                        for number in range(count)]
        for thread in self.threads:
            thread.start()

    def call(self, number):
        """Keys of its own, over and over."""
        turn = 0
        while not self.ends.is_set():
            turn += 1
            try:
                status, text = ask(self.port, f"key {number} {turn % 50}")
            except OSError as broken:
                status, text = 0, str(broken)
            with self.lock:
                if status == 200:
                    self.served += 1
                else:
                    self.failed.append((children.boot_now(), status, text))

    def stop(self):
        """All that failed."""
        self.ends.set()
        for thread in self.threads:
            thread.join(20)
        return self.failed


class Gateway(LaneOwners):
    """One broker for the class; each test has a topic of its own."""
    led_within = 30

    def setUp(self):
        super().setUp()
        self.applications = {}

    def owner(self, name, **options):
        """An owner before an application of its own."""
        if name not in self.applications:
            self.applications[name] = Application(name)
            self.addCleanup(self.applications[name].close)
        self.path(name, "events").unlink(missing_ok=True)
        return self.start(name, **{"key": "header:X-Key",
                                   "upstream": self.applications[name].address, **options})

    def gateway(self, **options):
        """With the owners' key."""
        return super().gateway(**{"key": "header:X-Key", **options})

    def test_each_key_is_served_by_its_owner(self):
        """Whoever is asked: the gateway, or any owner."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        _, port = self.gateway()
        rows = process.run_tool("route", *(f"k{n}" for n in range(40)), json=True,
                                **self.lane).rows()
        owners = {row["key"]: row["owner"] for row in rows}
        self.assertEqual(set(owners.values()), {"alpha", "beta"})
        for key, owner in owners.items():
            for asked in (port, alpha.port, beta.port):
                status, text = ask(asked, key, "/x?y=1")
                self.assertEqual(status, 200, text)
                answer = json.loads(text)
                self.assertEqual(answer["served_by"], owner, (key, asked))
                self.assertEqual(answer["path"], "/x?y=1")
                self.assertRegex(answer["epoch"], r"^\d+:\d+$")
        status, text = ask(port, "k1", body="x" * 300_000)
        self.assertEqual((status, json.loads(text)["bytes"]), (200, 300_000))

    def restart_in_turn(self, **options):
        """Each owner leaves and comes back, while callers call."""
        owners = {name: self.owner(name, **options) for name in ("alpha", "beta", "gamma")}
        self.wait_led(*owners.values())
        _, port = self.gateway()
        callers = Callers(port, 4)
        for name, old in list(owners.items()):
            served = callers.served
            children.wait_until(lambda: callers.served > served + 50, 20, "they call")
            old.leave()
            self.assertEqual(old.wait_exit(), 0, old.error_tail())
            owners[name] = self.owner(name, **options)
            self.wait_led(*owners.values())
        failed = callers.stop()
        self.assertEqual(failed, [])
        self.assertGreater(callers.served, 200)

    def test_a_rolling_restart_fails_no_request(self):
        """In the default mode."""
        self.restart_in_turn()

    def test_a_rolling_restart_fails_no_request_in_exclusive_mode(self):
        """Though nobody serves between two owners."""
        self.restart_in_turn(mode="exclusive")

    def test_who_starts_refuses_connections_until_it_knows_the_owners(self):
        """So callers go to another owner instead of waiting at this one."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        beta = self.owner("beta", http=0, weight=0)  # it owns nothing, or would begin with that

        def first_answer():
            try:
                return ask(beta.port, "k1")[0]
            except ConnectionRefusedError:
                return None
        self.assertEqual(children.wait_until(first_answer, 30, beta.error_tail, poll=0.001), 200)
        row = self.requests_of(beta.errors)
        self.assertEqual((row["waited"], row["served"] + row["forwarded"]), (0, 1), row)

    def test_who_is_killed_is_replaced_and_callers_wait(self):
        """Requests that had not reached the victim are served by its successor."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        _, port = self.gateway()
        row = next(row for row in process.run_tool("route", *(f"k{n}" for n in range(40)),
                                                   json=True, **self.lane).rows()
                   if row["owner"] == "alpha")
        self.assertEqual(json.loads(ask(port, row["key"])[1])["served_by"], "alpha")
        alpha.kill()
        self.applications["alpha"].close()
        status, text = ask(port, row["key"], timeout=30)
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)["served_by"], "beta")
        self.assertTrue(beta.running())

    def test_nobody_owns_anything(self):
        """503, with how long to wait, once the deadline has passed."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        _, port = self.gateway(deadline="500ms")
        self.assertEqual(ask(port, "k")[0], 200)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.addCleanup(connection.close)
        connection.request("GET", "/", headers={"X-Key": "k"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_requests_without_a_key(self):
        """400, and says which key."""
        alpha = self.owner("alpha", key="path:2")
        self.wait_led(alpha)
        _, port = self.gateway(key="path:2")
        self.assertEqual(json.loads(ask(port, "", "/users/anna")[1])["served_by"], "alpha")
        status, text = ask(port, "", "/users")
        self.assertEqual(status, 400)
        self.assertIn("path:2, is missing", text)

    def test_sigterm_finishes_what_is_under_way(self):
        """And nothing new is accepted."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        child, port = self.gateway()
        application = self.applications["alpha"]
        application.delay.clear()
        answers = []
        caller = threading.Thread(target=lambda: answers.append(ask(port, "k")), daemon=True)
        caller.start()
        children.wait_until(lambda: application.requests, 10, "it is under way")
        for _ in range(2):  # two at once are one request, as wrappers and supervisors send them
            os.kill(child.pid, signal.SIGTERM)

        def refused():
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except ConnectionRefusedError:
                return True
            except OSError:
                pass  # the machine is busy: nobody has answered yet
            return False
        children.wait_until(refused, 10, "it accepts nothing")
        self.assertIsNone(child.poll())
        application.delay.set()
        caller.join(10)
        self.assertEqual(answers[0][0], 200)
        self.assertEqual(child.wait(10), 0)

    def test_an_owner_waits_for_its_application(self):
        """It owns nothing before; and does not wait for ever."""
        port = free_port()
        late = process.run_tool("run", endpoint=f"127.0.0.1:{free_port()}", key="header:X-Key",
                                upstream=f"127.0.0.1:{port}", timeout="1s", **self.lane)
        self.assertNotEqual(late.code, 0)
        self.assertIn(f"--upstream 127.0.0.1:{port} accepts no connection", late.err)

    def test_tls(self):
        """To clients, and to owners; whoever is not believed gets no request."""
        authority = Authority(self.folder, "ca")
        files = {"tls-cert": self.folder / "own.pem", "tls-key": self.folder / "own.key"}
        authority.sign("first", *files.values())
        to_owners = {"upstream-tls": True, "upstream-ca": authority.certificate}
        owners = [self.owner(name, **files, **to_owners) for name in ("alpha", "beta")]
        self.wait_led(*owners)
        _, port = self.gateway(**files, **to_owners)
        client = authority.client()
        served = set()
        for number in range(20):
            for asked in (port, owners[0].port):
                status, text = ask(asked, f"k{number}", tls=client)
                self.assertEqual(status, 200, text)
                served.add((asked, json.loads(text)["served_by"]))
        self.assertEqual(len(served), 4, "each of them sent requests to both")
        requests = self.applications["alpha"].requests
        self.assertEqual({headers["X-Forwarded-Proto"] for _, headers, _ in requests}, {"https"})
        self.assertEqual(ask(port, "k", body="x" * 300_000, tls=client)[0], 200)
        with self.assertRaises(OSError):
            ask(port, "k")  # without TLS
        self.assertEqual(ask(port, "k", tls=client)[0], 200)

        other = Authority(self.folder, "other")
        _, wary = self.gateway(deadline="500ms", **{"upstream-tls": True,
                                                    "upstream-ca": other.certificate})
        self.assertEqual(ask(wary, "k")[0], 503, "no owner has a certificate of that authority")

        def subject():
            with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
                with client.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                    return dict(pair[0] for pair in secure.getpeercert()["subject"])
        self.assertEqual(subject()["commonName"], "first")
        authority.sign("second", *files.values())
        children.wait_until(lambda: subject()["commonName"] == "second", 20, "it is read anew")
        files["tls-cert"].write_text("nonsense")
        errors = self.folder / f"{self.topic}.gateway.err"
        children.wait_until(lambda: subject()["commonName"] == "second" and
                            "is used on" in errors.read_text(), 20, "the last one is used on")

    def scrape(self, errors):
        """{series: value} of the proxy, and {family: type}, from the admin port that it names."""
        address = re.search(r"admin port: (http://\S+/)", errors.read_text())[1]
        with urllib.request.urlopen(address + "metrics", timeout=10) as answer:
            text = answer.read().decode()
        series = {name + (labels or ""): float(value) for name, labels, value in re.findall(
            r'^(neliroute_proxy_\w+)\{.*?(?:,((?:result|reason)="\w+"))?\} (\S+)$', text,
            re.MULTILINE)}
        return series, dict(re.findall(r"^# TYPE (neliroute_proxy_\w+) (\w+)$", text,
                                       re.MULTILINE))

    def test_metrics(self):
        """Of a gateway and of an owner: as docs/metrics.md has them, and they count."""
        alpha = self.owner("alpha", http=0)
        self.wait_led(alpha)
        _, port = self.gateway(http=0)
        for number in range(3):
            self.assertEqual(ask(port, f"k{number}")[0], 200)
        self.assertEqual(ask(port, "")[0], 400)
        for errors, served, forwarded, refused in (
                (self.folder / f"{self.topic}.gateway.err", 0, 3, 1), (alpha.errors, 3, 0, 0)):
            series, types = self.scrape(errors)
            self.assertEqual(types, {name: row.type for name, row in documented.metrics().items()
                                     if name.startswith("neliroute_proxy_")})
            for result, count in (("served", served), ("forwarded", forwarded),
                                  ("refused", refused)):
                self.assertEqual(series[f'neliroute_proxy_requests_totalresult="{result}"'],
                                 count)
            self.assertEqual(series["neliroute_proxy_answer_seconds_count"], 3)

    def requests_of(self, errors):
        """What /v1/requests says at the admin port that is named there."""
        address = re.search(r"admin port: (http://\S+/)", errors.read_text())[1]
        with urllib.request.urlopen(address + "v1/requests", timeout=10) as answer:
            return json.load(answer)

    def counts(self, errors):
        """The same, but when, and how often one waited: that is known a little later to some than
        that others lead."""
        row = self.requests_of(errors)
        self.assertGreater(row.pop("at"), 1.7e9)
        self.assertGreaterEqual(row.pop("waited"), 0)
        return row

    def test_a_request_that_was_sent_on_too_often_is_not_sent_on(self):
        """508, by --hop-limit; it is served all the same where it has arrived."""
        alpha, beta = self.owner("alpha", **{"hop-limit": 1}), self.owner("beta")
        self.wait_led(alpha, beta)
        rows = process.run_tool("route", *(f"k{n}" for n in range(40)), json=True,
                                **self.lane).rows()
        keys = {row["owner"]: row["key"] for row in rows}

        def sent_on(key, hops):
            connection = http.client.HTTPConnection("127.0.0.1", alpha.port, timeout=15)
            self.addCleanup(connection.close)
            connection.request("GET", "/", headers={"X-Key": key, "Neliroute-Hops": str(hops)})
            return connection.getresponse().status
        self.assertEqual(sent_on(keys["beta"], 0), 200)
        self.assertEqual(sent_on(keys["beta"], 1), 508)
        self.assertEqual(sent_on(keys["alpha"], 1), 200)

    def test_what_became_of_requests(self):
        """/v1/requests of a gateway, and of an owner that serves some and passes on others."""
        alpha, beta = self.owner("alpha", http=0), self.owner("beta")
        self.wait_led(alpha, beta)
        _, port = self.gateway(http=0)
        keys = [f"k{number}" for number in range(20)]
        owners = [json.loads(ask(alpha.port, key)[1])["served_by"] for key in keys]
        here = owners.count("alpha")
        self.assertTrue(0 < here < len(keys), owners)
        self.assertEqual(ask(alpha.port, "")[0], 400)
        none = {"misdirected": 0, "refused": 0, "unowned": 0, "unreachable": 0, "failed": 0}
        self.assertEqual(self.counts(alpha.errors),
                         none | {"process": "alpha", "source": "proxy", "served": here,
                                 "forwarded": len(keys) - here, "refused": 1})
        for key in keys:
            self.assertEqual(ask(port, key)[0], 200)
        row = self.counts(self.folder / f"{self.topic}.gateway.err")
        self.assertEqual({name: row[name] for name in ("source", "served", "forwarded", *none)},
                         none | {"source": "proxy", "served": 0, "forwarded": len(keys)})

    def test_wrong_options_are_named(self):
        """Exit 2, the option, and what was expected."""
        for options, expected in (
                (("--listen", "1"), "--key is missing"),
                (("--key", "host"), "--listen is missing"),
                (("--key", "body:x", "--listen", "1"), "expected header:NAME, path:N"),
                (("--key", "path:0", "--listen", "1"), "from 1"),
                (("--key", "header:Host", "--listen", "1"), "take host instead"),
                (("--key", "header:x-real-ip", "--listen", "1"), "as header:X-User"),
                (("--key", "host", "--listen", "1", "--trust-forwarded", "10.0.0.0/40"),
                 "10.0.0.0/40"),
                (("--key", "host", "--listen", "1", "--tls-cert", "x"), "belong together"),
                (("--key", "host", "--listen", "1", "--tls-cert", "/none", "--tls-key", "/none"),
                 "the certificate /none cannot be used"),
                (("--key", "host", "--listen", "1", "--upstream-ca", "x"), "--upstream-tls"),
                (("--key", "host", "--listen", "nowhere:x"), "nowhere:x")):
            with self.subTest(options=options):
                refused = run_raw("gateway", *options)
                self.assertNotEqual(refused.code, 0, refused)
                self.assertIn(expected, refused.err)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            refused = run_raw("gateway", "--key", "host", "--listen", str(port))
            self.assertNotEqual(refused.code, 0, refused)
            self.assertIn(str(port), refused.err)
        refused = run_raw("run", "--endpoint", "127.0.0.1:1", "--upstream", "127.0.0.1:2")
        self.assertIn("--upstream needs --key", refused.err)
        refused = run_raw("run", "--endpoint", "127.0.0.1:1", "--hop-limit", "0")
        self.assertIn("--hop-limit", refused.err)
        refused = run_raw("run", "--endpoint", "127.0.0.1:1", "--trust-peers", "10.0.0.0/40")
        self.assertIn("10.0.0.0/40", refused.err)


if __name__ == "__main__":
    unittest.main()
