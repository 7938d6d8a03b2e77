"""What the tests of Envoy share: the program before owners that files name, and callers."""
import contextlib
import http.client
import json
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tool"), str(HERE.parent / "gateway")]
from case import run_raw  # noqa: E402
from gateway_test import Application  # noqa: E402
from harness import children, deps, process  # noqa: E402
from harness.owners import LaneOwners, free_port  # noqa: E402


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

    def request(self, number, turn):
        """What a thread asks for next: keys of its own, over and over."""
        fields = [("x-neli-key", f"key {number} {turn % 50}")]
        if self.method != "POST":
            return {"headers": fields}
        # An owner may close the connection that it is sent on.
        fields.append(("Idempotency-Key", "one for all, as nobody looks"))
        return {"headers": fields, "method": "POST", "body": b"x" * 100}

    def call(self, number):
        """Not as fast as it can, as others need the machine."""
        caller, turn = Caller(self.port), 0
        while not self.ends.wait(0.004):
            turn += 1
            try:
                with self.calls:
                    status, _, text = caller.ask(**self.request(number, turn))
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


class EnvoyCase(LaneOwners):
    """One broker for the class; each test has a topic of its own."""

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

    def envoy_by_files(self, trusting=False, change=lambda text: text):
        """By the sample, as it stands but for its ports, or callers may be trusted, or what
        `change` makes of it; where it listens."""
        port, admin = free_port(), free_port()
        text = change((self.files / "envoy.yaml").read_text(encoding="utf-8"))
        if trusting:
            text, count = re.subn(r" *early_header_mutation_extensions:\n(.*\n){4}", "", text)
            self.assertEqual(count, 1)
            self.assertNotIn("HeaderMutation", text)
        for before, after in (("port_value: 8080", f"port_value: {port}"),
                              ("port_value: 9901", f"port_value: {admin}")):
            self.assertEqual(text.count(before), 1)
            text = text.replace(before, after)
        self.envoy(text, admin)
        self.admin = admin
        return port

    def counted(self, statistic):
        """What that Envoy counted of the owners."""
        caller = Caller(self.admin)
        self.addCleanup(caller.close)
        name = f"cluster.owners.{statistic}"
        _, _, text = caller.ask([], path=f"/stats?filter=^{name}$")
        return int(text.partition(": ")[2] or 0)

    # --- What is so -------------------------------------------------------------------------------

    def partitions_of(self, keys):
        """As `neliroute slot` finds them."""
        options = {name: self.lane[name] for name in ("slots", "hash", "hash_tags")
                   if name in self.lane}
        done = run_raw("slot", "--json", "--keys", "-", "--partitions", self.partitions,
                       *process.option_list(options), stdin=b"\n".join(keys) + b"\n")
        rows = done.rows()
        self.assertEqual(len(rows), len(keys), done)
        return [row["partition"] for row in rows]

    def owners(self):
        """By partition, as a watcher knows them; each has one."""
        rows = process.run_tool("watch", once=True, json=True, **self.lane).rows()
        owners = {row["partition"]: row.get("owner") for row in rows if "partition" in row}
        self.assertEqual(len(owners), self.partitions, rows)
        return owners

    def check_keys(self, braces=False, count=300, least=None):
        """Each partition, and random keys, which are of all partitions, or of `least` of them: a
        caller of that Envoy."""
        self.watch()
        owner = self.owners()
        self.assertEqual(set(owner.values()), {"alpha", "beta"})
        caller = Caller(self.envoy_by_files(trusting=True))
        self.addCleanup(caller.close)
        for partition, name in owner.items():
            self.assertEqual(caller.served_by([("x-neli-partition", str(partition))]), name)
        keys = random_keys(count, braces)
        found = self.partitions_of(keys)
        self.assertGreaterEqual(len(set(found)), least or len(owner), "partitions are left out")
        for key, partition in zip(keys, found):
            self.assertEqual(caller.served_by([("x-neli-key", key)]), owner[partition], key)
        return caller
