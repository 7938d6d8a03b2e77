#!/usr/bin/python3
"""run --http and watch --http as an operator has them, on the embedded broker."""
import http.client
import json
import re
import resource
import selectors
import socket
import tempfile
import time
import unittest
from pathlib import Path

from case import LONG_SESSION, run_raw
from harness import children, process

PARTITIONS = 16
SLOTS = 256
STREAMS = 1000
CONNECTIONS = 2048  # AdminLimits::connections
# What 1,000 idle streams may cost a process.
CORE_SHARE_MOST = 0.05


def series(text, name):
    """Of one metric: {labels as text: value}."""
    found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def by_state(text, name):
    """The sum of a metric's values for each value of its label `state`."""
    sums = {}
    for labels, value in series(text, name).items():
        state = re.search(r'state="(\w+)"', labels).group(1)
        sums[state] = sums.get(state, 0) + value
    return sums


def arenas(pid):
    """How many arenas glibc has made beside the first: each begins with so much, kept for it."""
    kept = 64 << 20
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="ascii").splitlines()
    spans = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines]
    return sum(begin % kept == 0 and end == after and after_end == begin + kept
               for (begin, end), (after, after_end) in zip(spans, spans[1:]))


class AdminPort(unittest.TestCase):
    """Two owners and a watcher, each with its port."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        row = process.embedded_broker(cls.folder, cls.addClassCleanup,
                                      "--partitions", PARTITIONS, "--topic", "t")
        cls.settings = {"brokers": row["brokers"], "topic": "t", "slots": SLOTS,
                        "partitions": PARTITIONS, "profile": "fast", "http": "0", "json": True,
                        **LONG_SESSION}
        cls.ports = {}
        cls.children = {}
        for name, command in (("a", "run"), ("b", "run"), ("w", "watch")):
            options = {**cls.settings, "name": name}
            if command == "run":
                options["endpoint"] = "127.0.0.1:7001"
            cls.children[name] = cls.start(name, command, options)
        for name in cls.children:
            errors = cls.folder / f"{name}.err"
            found = children.wait_until(
                lambda errors=errors: re.search(r"admin port: http://127\.0\.0\.1:(\d+)/",
                                                errors.read_text()), 20, f"{name} listens")
            cls.ports[name] = int(found.group(1))
        children.wait_until(lambda: all(cls.ready(name) for name in cls.ports), 30,
                            "every view covers every slot, and each owner owns half")

    @classmethod
    def start(cls, name, command, options):
        """A process of ours; its files are called by its name."""
        line = [process.tool_path(), command, *process.option_list(options)]
        with open(cls.folder / f"{name}.out", "wb") as out, \
                open(cls.folder / f"{name}.err", "wb") as err:
            child = children.spawn(line, stdout=out, stderr=err, env=process.environment())
        cls.addClassCleanup(children.end, child, 0)
        return child

    @classmethod
    def get(cls, name, target):
        """Status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", cls.ports[name], timeout=10)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    @classmethod
    def json(cls, name, target):
        """The body of an answer that must be a success."""
        status, body = cls.get(name, target)
        assert status == 200, (status, body)
        return json.loads(body)

    @classmethod
    def ready(cls, name):
        """Whether this process sees both owners with half of the slots each."""
        if cls.get(name, "/readyz")[0] != 200:
            return False
        slots = [one["slots"] for one in cls.json(name, "/v1/processes")["processes"]]
        return slots == [SLOTS // 2, SLOTS // 2]

    def test_all_views_agree(self):
        """Equal digests, and the key's route is the same everywhere but for local and remote."""
        def digests():
            return {self.json(name, "/v1/slots")["digest"] for name in self.ports}
        # Each reports what it has read by then: one lease may just have lapsed for one of them.
        children.wait_until(lambda: len(digests()) == 1, 20, lambda: f"one digest: {digests()}")
        routes = [self.json(name, "/v1/route?key=user:1000") for name in self.ports]
        self.assertEqual(len({(one["slot"], one["owner"], one["id"], one["epoch"]["offset"])
                              for one in routes}), 1, routes)
        self.assertEqual(sorted(one["verdict"] for one in routes), ["local", "remote", "remote"])
        status, page = self.get("a", "/healthz")
        self.assertEqual((status, page), (200, '{"status":"ok"}'))

    def test_metrics_add_up(self):
        """Views sum to S in each, own slots sum to S over the owners."""
        texts = {name: self.get(name, "/metrics")[1] for name in self.ports}
        for name, text in texts.items():
            self.assertEqual(sum(by_state(text, "neliroute_view_slots").values()), SLOTS, name)
            owners = series(text, "neliroute_process_slots")
            self.assertEqual(sorted(owners.values()), [SLOTS // 2, SLOTS // 2])
        owned = [by_state(texts[name], "neliroute_slots") for name in ("a", "b")]
        self.assertEqual(sum(one["owned"] for one in owned), SLOTS)
        self.assertEqual(series(texts["w"], "neliroute_slots"), {}, "a watcher owns nothing")

    def test_what_is_no_address_is_refused(self):
        """Exit code 2, and what to give."""
        for address in ("a:b", "::1:80", "127.0.0.1:99999"):
            done = run_raw("run", "--endpoint", "h:1", "--http", address)
            self.assertEqual(done.code, 2, done)
            self.assertIn("give HOST:PORT", done.err)
        nobody = ("--brokers", "127.0.0.1:1", "--timeout", "20s")  # it is told before he is asked
        for command in (("watch",), ("run", "--endpoint", "h:1")):
            done = run_raw(*command, *nobody, "--http", self.ports["a"])
            self.assertEqual(done.code, 2, done)
            self.assertIn("cannot listen at", done.err)
        done = run_raw("watch", "--once", "--http", "0")
        self.assertEqual(done.code, 2, done)

    def test_threads_share_arenas(self):
        """librdkafka's threads come and go; an arena each would make memory grow for hours."""
        for name, child in self.children.items():
            with self.subTest(name):
                self.assertGreater(len(list(Path(f"/proc/{child.pid}/task").iterdir())), 4)
                self.assertLessEqual(arenas(child.pid), 1)

    def core_share(self, meanwhile):
        """How much of a core a's threads take meanwhile."""
        threads = Path(f"/proc/{self.children['a'].pid}/task")

        def used():
            return sum(int(stat.read_text().split()[0]) for stat in threads.glob("*/schedstat"))

        before, began = used(), time.monotonic()
        meanwhile()
        return (used() - before) / 1e9 / (time.monotonic() - began)

    def hold_all(self, target):
        """As many connections as one address has places, each with an answer to this."""
        limits = Path(f"/proc/{self.children['w'].pid}/limits").read_text(encoding="ascii")
        files = int(re.search(r"Max open files +(\d+)", limits).group(1))
        places = min(CONNECTIONS, files // 2)
        places -= places // 4  # the share of one address
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, places + 100), hard))
        held = []
        for _ in range(places):
            held.append(http.client.HTTPConnection("127.0.0.1", self.ports["w"], timeout=30))
            self.addCleanup(held[-1].close)
            held[-1].request("GET", target)
            answer = held[-1].getresponse()
            self.assertEqual(answer.status, 200)
            if target == "/v1/events":
                self.addCleanup(answer.close)  # the connection's socket is the answer's now
            else:
                answer.read()
        return held

    def test_so_many_connections_and_health(self):
        """One more is refused, but for health; when they go, their places are free again."""
        self.hold_all("/v1/events")
        status, body = self.get("w", "/v1/slots")
        self.assertEqual(status, 503, body)
        self.assertIn("there are too many connections", body)
        self.assertEqual(self.get("w", "/healthz")[0], 200)
        self.doCleanups()
        children.wait_until(lambda: self.get("w", "/v1/slots")[0] == 200, 20, "places are free")

    def test_so_many_idle_connections(self):
        """They keep nobody out: those that have been idle longest are closed for others."""
        held = self.hold_all("/healthz")
        for _ in range(3):
            self.assertEqual(self.get("w", "/v1/slots")[0], 200)
        self.assertEqual(held[0].sock.recv(1), b"", "it was closed")
        held[-1].request("GET", "/healthz")
        self.assertEqual(held[-1].getresponse().read(), b'{"status":"ok"}')

    def test_idle_streams_cost_little(self):
        """1,000 of them: each is told every second, for less than 5 % of a core."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreater(hard, STREAMS + 100)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, STREAMS + 100), hard))
        alone = self.core_share(lambda: time.sleep(3))
        selector = selectors.DefaultSelector()
        heard = {}
        for _ in range(STREAMS):
            stream = socket.create_connection(("127.0.0.1", self.ports["a"]), timeout=10)
            self.addCleanup(stream.close)
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stream.setblocking(False)
            selector.register(stream, selectors.EVENT_READ)
            heard[stream] = 0

        def drain(seconds):
            """Reads what comes, and counts the events that only tell the age."""
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for key, _ in selector.select(0.1):
                    data = key.fileobj.recv(1 << 16)
                    self.assertTrue(data, "a stream was closed")
                    heard[key.fileobj] += data.count(b"event: age\n")

        drain(2)
        before = dict(heard)
        share = self.core_share(lambda: drain(5)) - alone
        print(f"{STREAMS} idle streams: {100 * share:.2f} % of a core, beside {100 * alone:.2f} %")
        fewest = min(heard[stream] - before[stream] for stream in heard)
        self.assertGreaterEqual(fewest, 3, "every stream was told every second")
        self.assertLess(share, CORE_SHARE_MOST)


if __name__ == "__main__":
    unittest.main()
