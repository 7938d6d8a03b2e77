#!/usr/bin/python3
"""One Kafka broker for all tests of a ctest run that do it no harm, as each start costs seconds.

    shared_broker.py start FILE    starts it and writes to FILE how to reach it
    shared_broker.py stop FILE     ends it

`start` is a ctest fixture. The broker's keeper outlives it, but not the ctest that called it.
"""
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.children import wait_until  # noqa: E402
from harness.kafka_admin import KafkaAdmin  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402

SESSION_MS, HEARTBEAT_MS = 500, 50


class SharedBroker:
    """What a test sees of the broker that `start` left in `file`; it has its own administrator."""

    def __init__(self, file, keep_logs):
        self._about = json.loads(Path(file).read_text(encoding="utf-8"))
        self.version = self._about["version"]
        self.bootstrap = self._about["bootstrap"]
        self.failed = False
        self.admin = None
        self._keep_logs = Path(keep_logs)

    @staticmethod
    def serves(session_ms, heartbeat_ms):
        """Whether it has these settings."""
        return (session_ms, heartbeat_ms) == (SESSION_MS, HEARTBEAT_MS)

    def place(self, topic):
        """The options by which a process finds the logs."""
        return {"brokers": self.bootstrap, "topic": topic}

    def __enter__(self):
        self._keep_logs.mkdir()
        with open(self._keep_logs / "admin.log", "ab") as log:
            self.admin = KafkaAdmin(self.version, self.bootstrap, log, None,
                                    self._about["archive_options"])
        self.admin.wait_ready(timeout=20)
        return self

    def __exit__(self, kind, error, trace):
        self.admin.close()
        log = Path(self._about["log"])
        if (self.failed or kind is not None) and log.exists():
            (self._keep_logs / "broker1.log").write_bytes(log.read_bytes())
        else:
            (self._keep_logs / "admin.log").unlink()
            self._keep_logs.rmdir()


def _keep(file, owner):
    """Runs the broker until SIGTERM, or until the process `owner` is gone."""
    alive = os.pidfd_open(owner)
    with KafkaBroker(session_ms=SESSION_MS, heartbeat_ms=HEARTBEAT_MS) as kafka:
        about = {"version": kafka.version, "bootstrap": kafka.bootstrap,
                 "archive_options": kafka.archive_options(), "log": str(kafka.nodes[0].log_path),
                 "keeper": os.getpid()}
        written = file.with_suffix(".part")
        written.write_text(json.dumps(about), encoding="utf-8")
        written.rename(file)
        try:
            select.select([alive], [], [])
        finally:
            file.unlink(missing_ok=True)


def _start(file):
    """Returns when the broker serves; what its keeper says is in a log beside the file."""
    file.unlink(missing_ok=True)
    log = file.with_suffix(".log")
    # Not children.spawn: it must outlive this process, and ctest waits for whoever has its pipes.
    with open(log, "wb") as out:
        keeper = subprocess.Popen(
            [sys.executable, "-B", __file__, "keep", file, str(os.getppid())],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def serves():
        if keeper.poll() is not None:
            raise RuntimeError(f"the keeper ended with {keeper.returncode}\n{log.read_text()}")
        return file.exists()

    try:
        wait_until(serves, 120.0, lambda: f"a broker\n{log.read_text()}")
    except BaseException:
        keeper.terminate()
        raise


def _stop(file):
    """Returns when the keeper is gone."""
    keeper = json.loads(file.read_text(encoding="utf-8"))["keeper"]
    gone = os.pidfd_open(keeper)
    signal.pidfd_send_signal(gone, signal.SIGTERM)
    if not select.select([gone], [], [], 30.0)[0]:
        raise TimeoutError(f"the keeper, process {keeper}, did not end")


def main():
    """Carries out one of the three commands."""
    command, file = sys.argv[1], Path(sys.argv[2])
    if command == "keep":
        _keep(file, int(sys.argv[3]))
    else:
        {"start": _start, "stop": _stop}[command](file)


if __name__ == "__main__":
    main()
