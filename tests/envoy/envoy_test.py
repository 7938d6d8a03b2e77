#!/usr/bin/python3
"""The real Envoy, unchanged, before owners: by the files of `watch --xds-dir`, and by the admin
port of a neliroute elsewhere."""
import contextlib
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tool"), str(HERE.parent / "gateway")]
from case import run_raw  # noqa: E402
from gateway_test import Application  # noqa: E402
from harness import children, deps, process  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402

PARTITIONS = LaneOwners.partitions
# Each in a lane of its own: the default, Redis Cluster's slots, Kafka's partitions.
HASHES = {"xxh3": {}, "crc16": {"hash": "crc16", "hash_tags": True}, "murmur2": {"hash": "murmur2"}}


class Caller:
    """A client of one port, on one connection as long as that lasts."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def ask(self, headers, method="GET", body=None, path="/any/path?x=1"):
        """One request: its status, header and body."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            self.connection.putrequest(method, path)
            for name, value in headers:
                self.connection.putheader(name, value)
            if body is not None:
                self.connection.putheader("Content-Length", len(body))
            self.connection.endheaders(body)
            answer = self.connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def served_by(self, headers, **options):
        """Whose application answered; or the status and what was said."""
        status, _, text = self.ask(headers, **options)
        return json.loads(text)["served_by"] if status == 200 else f"{status} {text}"

    def close(self):
        """The next request is on another connection."""
        if self.connection:
            self.connection.close()
        self.connection = None


class Callers:
    """Threads that send one request after the other until they are stopped."""

    def __init__(self, port, count, method="GET"):
        self.port, self.method = port, method
        self.failed = []
        self.served = 0
        self.lock = threading.Lock()
        self.calls = threading.Semaphore(count)  # held while a request is under way
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(number,), daemon=True)
                        for number in range(count)]
        for thread in self.threads:
            thread.start()

    def call(self, number):
        """Keys of its own, over and over; not as fast as it can, as others need the machine."""
        caller, turn = Caller(self.port), 0
        body, more = None, []
        if self.method == "POST":  # an owner may close the connection that it is sent on
            body, more = b"x" * 100, [("Idempotency-Key", "one for all, as nobody looks")]
        while not self.ends.wait(0.004):
            turn += 1
            try:
                with self.calls:
                    status, _, text = caller.ask(
                        [("x-neli-key", f"key {number} {turn % 50}"), *more], self.method, body)
            except (OSError, http.client.HTTPException) as broken:
                status, text = 0, repr(broken)
            with self.lock:
                if status == 200:
                    self.served += 1
                else:
                    self.failed.append((children.boot_now(), status, text))
        caller.close()

    @contextlib.contextmanager
    def at_rest(self):
        """Meanwhile none of them has a request under way."""
        for _ in self.threads:
            if not self.calls.acquire(timeout=40):
                raise TimeoutError(f"a request takes longer than that; failed: {self.failed}")
        yield
        self.calls.release(len(self.threads))

    def wait_served(self, count):
        """Until so many more were."""
        goal = self.served + count
        children.wait_until(lambda: self.served >= goal, 30,
                            lambda: f"{goal} served, not {self.served}; failed: {self.failed[-3:]}")

    def stop(self):
        """All that failed."""
        self.ends.set()
        for thread in self.threads:
            thread.join(40)
        return self.failed


class Unwilling(Application):
    """One that says 421 to requests for a path, as to those for another host's name."""
    path = "/unwanted"

    def __init__(self, name):
        super().__init__(name)
        self.refused = 0
        application = self

        class Handler(self.server.RequestHandlerClass):
            """One request."""
            # It writes head and body apart, and hundreds of 40 ms would be many seconds.
            disable_nagle_algorithm = True

            def do_GET(self):
                """421, or as usual."""
                if self.path != application.path:
                    super().do_GET()
                    return
                application.refused += 1
                self.send_response(421)
                self.send_header("Content-Length", "0")
                self.end_headers()
        self.server.RequestHandlerClass = Handler


def random_keys(count, braces=False, ascii_only=False):
    """As a header field may hold them; each time others."""
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    print(f"keys by seed {seed}", flush=True)
    visible = bytes(range(0x21, 0x7f)) + (b"" if ascii_only else bytes(range(0xa1, 0x100)))
    kinds = [visible, b"{}ab"] if braces else [visible]
    return [bytes(draw.choices(draw.choice(kinds), k=draw.choice([3, 12, 40, 130, 300, 2000])))
            for _ in range(count)]


class EnvoyTest(LaneOwners):
    """One broker for the class; each test has a topic of its own."""
    more_topics = tuple(HASHES)

    @classmethod
    def setUpClass(cls):
        cls.program = deps.envoy()
        super().setUpClass()

    def setUp(self):
        self.applications = {}
        super().setUp()

    def use(self, topic, **options):
        """From now on, this lane and its folder."""
        super().use(topic, **options)
        self.files = self.folder / f"{topic}.files"
        self.files.mkdir(exist_ok=True)

    # --- Processes --------------------------------------------------------------------------------

    def owner(self, name, host="127.0.0.1", in_front=False):
        """An owner: its application is where callers go, or behind it."""
        application = self.applications.get(name)
        if not application:
            application = self.applications[name] = Unwilling(name)
            self.addCleanup(application.close)
        port = application.address.rpartition(":")[2]
        options = {"endpoint": f"{host}:{port}"}
        if in_front:
            options = {"endpoint": f"{host}:{free_port()}", "upstream": application.address,
                       "key": "header:x-neli-key"}
        return self.start(name, **options)

    def watch(self, ready="xds: ready", **options):
        """`watch --xds-dir`, once it says that: its process, and what it says."""
        errors = self.folder / f"{self.topic}.watch.err"
        options = {**self.lane, "xds_dir": self.files, "xds_sample": True, **options}
        with open(errors, "wb") as err:
            child = children.spawn([process.tool_path(), "watch", *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child, 0)
        children.wait_until(lambda: ready in errors.read_text(), 30, lambda: errors.read_text())
        return child, errors

    def wait_file(self, *owners):
        """Until the file says what each of them leads, and of nobody else."""
        led = {str(partition): owner.port for owner in owners for partition in owner.leading}

        def told():
            resource, = json.loads((self.files / "eds.json").read_text())["resources"]
            found = {partition: one["endpoint"]["address"]["socket_address"]["port_value"]
                     for one in resource["endpoints"][0]["lb_endpoints"]
                     for partition in one["metadata"]["filter_metadata"]["envoy.lb"]["partition"]}
            return found == led
        children.wait_until(told, 20, lambda: f"{led}, not {(self.files / 'eds.json').read_text()}")

    def envoy(self, config, admin):
        """An Envoy that is ready; `admin`: its own port."""
        path = self.folder / f"{self.topic}.yaml"
        path.write_text(config, encoding="utf-8")
        log = self.folder / f"{self.topic}.envoy.err"
        with open(log, "wb") as err:
            child = children.spawn([self.program, "-c", path, "--concurrency", "1",
                                    "--disable-hot-restart", "--log-level", "warning"],
                                   stdout=err, stderr=err)
        self.addCleanup(children.end, child, 0)

        def ready():
            self.assertIsNone(child.poll(), log.read_text()[-3000:])
            caller = Caller(admin)
            try:
                return caller.ask([], path="/ready")[0] == 200
            except OSError:
                return False
            finally:
                caller.close()
        children.wait_until(ready, 30, lambda: log.read_text()[-3000:])
        return child

    def envoy_by_files(self, trusting=False):
        """By the sample, as it stands but for its ports, or callers may be trusted; where it
        listens."""
        port, admin = free_port(), free_port()
        text = (self.files / "envoy.yaml").read_text(encoding="utf-8")
        if trusting:
            text, count = re.subn(r" *early_header_mutation_extensions:\n(.*\n){4}", "", text)
            self.assertEqual(count, 1)
            self.assertNotIn("HeaderMutation", text)
        for before, after in (("port_value: 8080", f"port_value: {port}"),
                              ("port_value: 9901", f"port_value: {admin}")):
            self.assertEqual(text.count(before), 1)
            text = text.replace(before, after)
        self.envoy(text, admin)
        return port

    # --- What is so -------------------------------------------------------------------------------

    def partitions_of(self, keys):
        """As `neliroute slot` finds them."""
        options = {name: self.lane[name] for name in ("slots", "hash", "hash_tags")
                   if name in self.lane}
        done = run_raw("slot", "--json", "--keys", "-", "--partitions", PARTITIONS,
                       *process.option_list(options), stdin=b"\n".join(keys) + b"\n")
        rows = done.rows()
        self.assertEqual(len(rows), len(keys), done)
        return [row["partition"] for row in rows]

    def owners(self):
        """By partition, as a watcher knows them; each has one."""
        rows = process.run_tool("watch", once=True, json=True, **self.lane).rows()
        owners = {row["partition"]: row.get("owner") for row in rows if "partition" in row}
        self.assertEqual(len(owners), PARTITIONS, rows)
        return owners

    def check_keys(self, braces):
        """Each partition, and random keys: a caller of that Envoy."""
        self.watch()
        owner = self.owners()
        self.assertEqual(set(owner.values()), {"alpha", "beta"})
        caller = Caller(self.envoy_by_files(trusting=True))
        self.addCleanup(caller.close)
        for partition, name in owner.items():
            self.assertEqual(caller.served_by([("x-neli-partition", str(partition))]), name)
        keys = random_keys(300, braces)
        found = self.partitions_of(keys)
        self.assertEqual(set(found), set(owner), "no partition is left out")
        for key, partition in zip(keys, found):
            self.assertEqual(caller.served_by([("x-neli-key", key)]), owner[partition], key)
        return caller

    def test_each_key_reaches_its_owner(self):
        """By each hash; one of the owners is known by a name."""
        owners = {}
        for name, options in HASHES.items():  # groups form meanwhile
            self.use(name, **options)
            owners[name] = [self.owner("alpha"), self.owner("beta", "localhost")]
        for name, options in HASHES.items():
            with self.subTest(name):
                self.use(name, **options)
                self.wait_led(*owners[name])
                self.check_refusals(self.check_keys(braces="hash_tags" in options))

    def check_refusals(self, caller):
        """What is said to requests without one key."""
        status, headers, _ = caller.ask([])
        self.assertEqual((status, headers["x-neli-unowned"], headers["retry-after"]),
                         (503, "true", "1"))
        for keys in ([("x-neli-key", "")], [("x-neli-key", "a"), ("x-neli-key", "a")]):
            status, headers, text = caller.ask(keys)
            self.assertEqual((status, headers["cache-control"]), (400, "no-store"), text)
        self.assertEqual(caller.ask([("x-neli-partition", str(PARTITIONS))])[0], 503)
        both = [("x-neli-key", "k"), ("x-neli-partition", "no")]
        self.assertEqual(caller.ask(both)[0], 200, "the key counts more")

    def check_stranger(self, port):
        """Whoever asks for more than a caller may gets no more."""
        caller = Caller(port)
        self.addCleanup(caller.close)
        status, headers, _ = caller.ask([("x-neli-partition", "0")])
        self.assertEqual((status, headers["x-neli-unowned"]), (503, "true"))
        more = [("x-envoy-max-retries", "200"), ("x-forwarded-for", "10.0.0.1")]
        status, _, _ = caller.ask([("x-neli-key", "k"), *more], path=Unwilling.path)
        refused = [one.refused for one in self.applications.values()]
        self.assertEqual((status, sum(refused)), (421, 30), refused)

    def test_moves_fail_no_request(self):
        """An owner joins, one leaves, neliroute goes and comes back, and one owner is killed."""
        alpha, beta = self.owner("alpha", in_front=True), self.owner("beta", in_front=True)
        self.wait_led(alpha, beta)
        watch, errors = self.watch()
        port = self.envoy_by_files()
        callers, writers = Callers(port, 3), Callers(port, 1, "POST")
        self.check_stranger(port)
        callers.wait_served(50)
        gamma = self.owner("gamma", in_front=True)
        self.wait_led(alpha, beta, gamma)
        callers.wait_served(50)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.wait_led(beta, gamma)
        callers.wait_served(50)
        self.assertEqual(writers.stop(), [])
        self.assertGreater(writers.served, 50)

        self.wait_file(beta, gamma)
        watch.send_signal(signal.SIGKILL)
        watch.wait(10)
        before = (self.files / "eds.json").read_bytes()
        callers.wait_served(200)
        self.assertEqual((self.files / "eds.json").read_bytes(), before)
        _, errors = self.watch()
        self.assertEqual((self.files / "eds.json").read_bytes(), before, "nothing has changed")

        with callers.at_rest():  # an answer that had begun is lost
            beta.kill()
        self.wait_led(gamma)
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        self.wait_file(gamma)
        last = (self.files / "eds.json").read_text()
        gamma.leave()
        self.assertEqual(gamma.wait_exit(), 0, gamma.error_tail())
        children.wait_until(lambda: set(self.owners().values()) == {None}, 20, "nobody has any")
        self.assertEqual((self.files / "eds.json").read_text(), last, "never without owners")
        self.assertNotIn("warning", errors.read_text())

    def test_a_folder_that_cannot_be_written(self):
        """It is reported once, and tried again; what is there stays."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        old = '{"resources":[{"cluster_name":"neliroute","endpoints":[]}]}'  # nobody knows whose
        (self.files / "eds.json").write_text(old)
        (self.files / "eds.json.tmp").mkdir()  # nor can root
        _, errors = self.watch(ready="cannot write")
        self.assertEqual((self.files / "eds.json").read_text(), old)
        self.assertTrue((self.files / "neliroute.lua").exists())
        (self.files / "eds.json.tmp").rmdir()
        children.wait_until(lambda: "written again" in errors.read_text(), 20, errors.read_text)
        self.assertEqual(len(re.findall("cannot write", errors.read_text())), 1)
        self.wait_file(alpha)
        second = process.run_tool("watch", xds_dir=self.files, **self.lane)
        self.assertEqual(second.code, 2, second)
        self.assertIn("another process keeps the files", second.err)

    def test_wrong_options_are_named(self):
        """Before anybody is asked."""
        for options, expected in (
                (("--xds-dir", self.folder / "none"), "is no folder"),
                (("--xds-sample",), "need --xds-dir"),
                (("--xds-cluster", "x"), "need --xds-dir"),
                (("--xds-dir", self.files, "--xds-cluster", ""), "is no name of a cluster"),
                (("--xds-dir", self.files, "--once"), "leave --once out")):
            with self.subTest(options=options):
                refused = run_raw("watch", *options)
                self.assertEqual(refused.code, 2, refused)
                self.assertIn(expected, refused.err)
        self.assertEqual(list(self.files.iterdir()), [])
        for name in ("eds.json", "envoy.yaml", "neliroute.lua"):
            path = self.files / name
            path.write_text("of somebody else")
            refused = run_raw("watch", "--xds-dir", self.files, "--xds-sample")
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(str(path), refused.err)
            self.assertEqual(path.read_text(), "of somebody else")
            path.unlink()

    def test_by_the_admin_port(self):
        """Discovery by REST, and a question for each request."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        watch, errors = self.watch(http="0")
        url = re.search(r"admin port: http://127.0.0.1:(\d+)/", errors.read_text())
        ports = {name: free_port() for name in ("ADMIN", "KEYS", "QUESTIONS")}
        config = (HERE / "remote.yaml").read_text(encoding="ascii")
        for name, value in {**ports, "NELIROUTE": url[1],
                            "LUA": self.files / "neliroute.lua"}.items():
            config = config.replace(f"@{name}@", str(value))
        self.envoy(config, ports["ADMIN"])
        by_key, by_question = Caller(ports["KEYS"]), Caller(ports["QUESTIONS"])
        self.addCleanup(by_key.close)
        self.addCleanup(by_question.close)
        owner = self.owners()
        keys = random_keys(100, ascii_only=True)  # ext_authz replaces what is not UTF-8
        for key, partition in zip(keys, self.partitions_of(keys)):
            field = [("x-neli-key", key)]
            self.assertEqual(by_key.served_by(field), owner[partition], key)
            # Callers cannot choose.
            for name in ("alpha", "beta"):
                lie = ("x-gateway-destination-endpoint", self.applications[name].address)
                self.assertEqual(by_question.served_by([*field, lie]), owner[partition], key)
        for method, body in (("POST", b"x" * 10_000), ("PUT", b""), ("DELETE", None)):
            status, _, text = by_question.ask([("x-neli-key", "k"), ("Host", "shop.example")],
                                              method, body)
            # The application knows GET and POST only; whoever answers, Envoy let it pass.
            self.assertIn(status, (200, 501), (method, text))
        self.assertEqual(by_question.ask([])[0], 400)
        one, = self.partitions_of([b"a,b"])
        self.assertEqual(by_question.served_by([("x-neli-key", "a"), ("x-neli-key", "b")]),
                         owner[one])

        # Envoy polls for the newcomer's address later than it is told to send requests there.
        callers = Callers(ports["QUESTIONS"], 2)
        callers.wait_served(20)
        gamma = self.owner("gamma")
        self.wait_led(alpha, beta, gamma)
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        gamma.leave()
        self.assertEqual(gamma.wait_exit(), 0, gamma.error_tail())
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        for caller in (by_key, by_question):
            children.wait_until(lambda caller=caller: {
                caller.served_by([("x-neli-key", f"k{n}")]) for n in range(40)} == {"beta"}, 20,
                "beta has all")
        watch.send_signal(signal.SIGKILL)
        watch.wait(10)
        for number in range(40):
            self.assertEqual(by_key.served_by([("x-neli-key", f"k{number}")]), "beta")
        self.assertEqual(by_question.ask([("x-neli-key", "k")])[0], 503)


if __name__ == "__main__":
    unittest.main(verbosity=2)
