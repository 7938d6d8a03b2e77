"""What the tool's tests share: the harness of the Kafka tests, and an embedded broker."""
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, process  # noqa: E402
from harness.owners import STORE  # noqa: E402

run_tool = process.run_tool
# For members of an assigner: longer than a busy machine stands still, so nobody who lives counts as
# dead.
LONG_SESSION = {"session": "2s", "lease": "4500ms"}
LOGS = 4


PIPE_BYTES = 4096  # of the smallest pipe: a page


def full_pipe():
    """Its two ends. It was filled by a description of our own: that of the writer is as it was."""
    reader, writer = os.pipe()
    filler = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)
    fcntl.fcntl(filler, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(filler, b"\n" * PIPE_BYTES)
    os.close(filler)
    return reader, writer


def run_raw(*arguments, limit=30.0, env=None, stdin=b""):
    """The tool with exactly these arguments (bytes or text): a Finished."""
    command = [process.tool_path(), *arguments]
    child = children.subprocess.Popen(
        [part if isinstance(part, bytes) else str(part) for part in command],
        stdin=children.subprocess.PIPE, stdout=children.subprocess.PIPE,
        stderr=children.subprocess.PIPE, env=process.environment(env))
    started = children.boot_now()
    try:
        out, err = child.communicate(stdin, timeout=limit)
    finally:
        child.kill()
        child.wait()
    return process.Finished(command, child.returncode, out.decode(errors="replace"),
                            err.decode(errors="replace"), children.boot_now() - started)


class LaneCase(unittest.TestCase):
    """On one embedded broker, whose topics have a partition for each log, or on the store that
    NELIROUTE_TEST_PROTOCOL names; each test has a topic of its own, and so a lane."""
    store = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        topics = unittest.TestLoader().getTestCaseNames(cls)
        if STORE:
            cls.store = cls.enterClassContext(STORE())
            for topic in topics:
                cls.store.create_topic(topic, LOGS, LOGS)
            return
        row = process.embedded_broker(cls.folder, cls.addClassCleanup, "--partitions", LOGS,
                                      *(part for topic in topics for part in ("--topic", topic)))
        cls.brokers = row["brokers"]

    def setUp(self):
        self.topic = self.id().rpartition(".")[2]
        place = self.store.place(self.topic) if self.store else {"brokers": self.brokers,
                                                                 "topic": self.topic}
        self.lane = {**place, "profile": "fast"}

    def spawn(self, command, name, options):
        """A process that goes on meanwhile, and the address of its admin port."""
        errors = self.folder / f"{self.topic}.{name}.err"
        with open(errors, "wb") as err:
            child = children.spawn([process.tool_path(), command, *process.option_list(options)],
                                   stdout=subprocess.DEVNULL, stderr=err,
                                   env=process.environment())
        self.addCleanup(children.end, child)
        url = children.wait_until(lambda: re.search(r"admin port: (http://\S+/)",
                                                    errors.read_text()), 20, f"{name} listens")[1]
        return child, url
