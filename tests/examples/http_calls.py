"""What the tests of the examples share: a broker, a gateway, and callers over HTTP."""
import http.client
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, owners, process  # noqa: E402

PARTITIONS = 16


def ask(port, name, method="GET", body=None, fields=None, timeout=15.0):
    """One request on a connection of its own: status, text, and fields of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, f"/{name}", body=body, headers=fields or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode().rstrip("\n"), answer.headers
    finally:
        connection.close()


class Callers:
    """Threads that send one request after the other, each for names of its own, until stopped."""

    def __init__(self, port, names, body=None):
        self.port = port
        self.body = body  # a function of how many requests were sent
        self.served = {name: [] for name in names}  # name -> what was served: number, text
        self.failed = []
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self._call, args=(names[first::4],), daemon=True)
                        for first in range(4)]
        for thread in self.threads:
            thread.start()

    def _call(self, names):
        sent = 0
        while not self.ends.is_set():
            name = names[sent % len(names)]
            sent += 1
            try:
                status, text, _ = ask(self.port, name, "POST", self.body and self.body(sent))
            except (OSError, http.client.HTTPException) as broken:
                status, text = 0, repr(broken)
            if status == 200:
                self.served[name].append((sent, text))
            else:
                self.failed.append((name, status, text))

    def count(self):
        """How many requests were served."""
        return sum(map(len, self.served.values()))

    def wait_served(self, more, limit=30.0):
        """Until so many more were."""
        least = self.count() + more
        children.wait_until(lambda: self.count() >= least, limit,
                            lambda: f"{more} more served, failed: {self.failed[-5:]}")

    def stop(self):
        """What was not served: name, status (0: no answer), text."""
        self.ends.set()
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive(), "a caller waits for ever"
        return self.failed


class ExampleCase(unittest.TestCase):
    """Each test has a broker and a folder of its own, as examples use one topic."""
    topic = "neliroute"
    # What the processes find in their environment: a session that is longer than a busy machine
    # stands still, so nobody who lives counts as dead.
    variables = {"NELIROUTE_PARTITIONS": str(PARTITIONS), "NELIROUTE_SESSION": "2s"}

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.brokers = process.embedded_broker(
            self.folder, self.addCleanup, "--partitions", PARTITIONS,
            "--topic", self.topic)["brokers"]

    def spawn(self, name, command):
        """A process; what it says is in files of that name."""
        with open(self.folder / f"{name}.out", "wb") as out, \
                open(self.folder / f"{name}.err", "wb") as err:
            child = children.spawn(command, stdout=out, stderr=err,
                                   env=process.environment(self.variables))
        self.addCleanup(children.end, child, 0)
        return child

    def said(self, name, kind="err"):
        """The end of what it wrote."""
        return (self.folder / f"{name}.{kind}").read_text(errors="replace")[-3000:]

    def assigner(self):
        """Which of the processes assigns, by their records; waits until one does."""
        return children.wait_until(
            lambda: owners.assigner(brokers=self.brokers, topic=self.topic), 20, "one assigns")

    def kill_the_assigner(self, **running):
        """Of these two processes, which have their names by default; who is left."""
        assigner = self.assigner()
        killed, = (name for name, child in running.items() if f"_{child.pid}_" in assigner)
        running[killed].kill()
        running[killed].wait()
        left, = set(running) - {killed}
        return left

    def gateway(self, **options):
        """A gateway's port."""
        command = [process.tool_path(), "gateway", *process.option_list(
            {"brokers": self.brokers, "listen": "127.0.0.1:0", "key": "path:1", **options})]
        self.spawn("gateway", command)
        return int(children.wait_until(
            lambda: re.search(r"gateway: http://127\.0\.0\.1:(\d+)/", self.said("gateway")), 30,
            lambda: self.said("gateway"))[1])

    def run_to_its_end(self, command, **variables):
        """A command that is wrong: (exit code, what it wrote to stderr)."""
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=30,
                              check=False, env=process.environment(variables))
        return done.returncode, done.stderr.decode(errors="replace")
