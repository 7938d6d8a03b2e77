#!/usr/bin/python3
"""What share of calls is served while Kafka, or one of its brokers, is away for a while.

Two owners with an application behind each and a gateway before them, on a real Kafka with its own
timings; nothing of neliroute starts, stops or moves meanwhile. Callers send requests at a steady
rate, each of which waits for at most a second. A row of the table is one fault and one mode:

  outage.py --faults one-killed,one-frozen,all-frozen --seconds 1,10,60 --modes non_exclusive
"""
import argparse
import collections
import contextlib
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests")]
from harness import children, deps, process  # noqa: E402
from harness.http_server import Handler, Server  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.owners import free_port, start_owner  # noqa: E402

BROKERS, PARTITIONS, KEYS, THREADS = 3, 16, 200, 20
# Kafka's own: the harness has shorter ones, under which no test would see the loss of a broker.
STOCK = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000,
         "default.replication.factor": BROKERS, "min.insync.replicas": 2,
         "offsets.topic.replication.factor": BROKERS}
BEFORE_S, AFTER_S = 5, 30
FAULTS = ("one-killed", "one-frozen", "all-killed", "all-frozen")


class Answers(Handler):
    """The application: it serves whatever comes."""

    def do_GET(self):
        """One request."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Calls:
    """Threads that send requests at a steady rate, and count the answers by the phase of each."""

    def __init__(self, port, rate):
        self.port, self.pause = port, THREADS / rate
        self.phase = None
        self.counts = collections.defaultdict(collections.Counter)
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(number,))
                        for number in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def call(self, number):
        """Each thread keeps its connection as long as it holds."""
        connection = None
        due = time.monotonic() + self.pause * number / THREADS
        turn = number
        while not self.ends.wait(max(0.0, due - time.monotonic())):
            due += self.pause
            turn += THREADS
            phase = self.phase
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port,
                                                                      timeout=5)
                connection.request("GET", "/", headers={"X-Key": f"key {turn % KEYS}"})
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except OSError:
                connection, status = None, "broken"
            with self.lock:
                self.counts[phase][status] += 1

    def close(self):
        """Every thread has ended."""
        self.ends.set()
        for thread in self.threads:
            thread.join()


class Away:
    """A fault, from `with` to its end."""

    def __init__(self, kafka, fault):
        self.kafka, self.killed = kafka, fault.endswith("killed")
        self.nodes = kafka.nodes[1:2] if fault.startswith("one") else kafka.nodes

    def __enter__(self):
        for node in self.nodes:
            if self.killed:
                self.kafka.stop_node(node.node_id, grace=0)
            else:
                os.kill(node.child.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for node in self.nodes:
            if not self.killed:
                os.kill(node.child.pid, signal.SIGCONT)
        if self.killed:
            self.kafka.start(timeout=120)


class Stage(contextlib.ExitStack):
    """What runs in one cell; `addCleanup` as a test has it."""

    def addCleanup(self, function, *arguments):
        """At the end, the last first."""
        self.callback(function, *arguments)


def cell(folder, mode, fault, seconds, rate):
    """One row: what share of the calls was served before, meanwhile and after."""
    with Stage() as stage:
        kafka = stage.enter_context(KafkaBroker(session_ms=None, brokers=BROKERS, properties=STOCK))
        lane = {"brokers": kafka.bootstrap, "topic": "outage", "mode": mode, "slots": 256,
                "assignment": "assigner", "partitions": PARTITIONS, "key": "header:X-Key"}
        owners = []
        for name in ("alpha", "beta"):
            application = Server(Answers)
            stage.callback(application.close)
            key = f"{mode}.{fault}.{seconds}.{name}"
            owners.append(start_owner(stage, key, name, folder, {
                **lane, "name": name, "endpoint": f"127.0.0.1:{free_port()}",
                "upstream": application.address, "events": folder / f"{key}.events"}))
        port = free_port()
        gateway = {key: lane[key] for key in ("brokers", "topic", "slots", "partitions", "key")}
        child = children.spawn([process.tool_path(), "gateway", "--listen", f"127.0.0.1:{port}",
                                "--deadline", "1s", *process.option_list(gateway)],
                               env=process.environment())
        stage.callback(children.end, child)
        children.wait_until(lambda: leads_all(owners), 60,
                            lambda: "\n".join(owner.error_tail() for owner in owners))
        time.sleep(BEFORE_S)  # the gateway has read of every owner
        calls = Calls(port, rate)
        stage.callback(calls.close)
        for phase, action in (("before", contextlib.nullcontext()), ("away", Away(kafka, fault)),
                              ("after", contextlib.nullcontext())):
            with action:
                calls.phase = phase
                time.sleep({"before": BEFORE_S, "away": seconds, "after": AFTER_S}[phase])
        calls.close()
        return {"mode": mode, "fault": fault, "seconds": seconds,
                **{phase: share(calls.counts[phase]) for phase in ("before", "away", "after")}}


def leads_all(owners):
    """Between them."""
    for owner in owners:
        owner.refresh()
    return sum(len(owner.leading) for owner in owners) == PARTITIONS


def share(counts):
    """Of all answers, those with 200, and how many there were."""
    calls = sum(counts.values())
    return {"calls": calls, "served": round(counts[200] / calls, 5) if calls else None}


def main():
    """A JSON line for each cell, as it is done."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--seconds", default="1,10,60,600")
    parser.add_argument("--modes", default="non_exclusive,exclusive")
    parser.add_argument("--calls", type=float, default=500, help="a second")
    given = parser.parse_args()
    unknown = set(given.faults.split(",")) - set(FAULTS)
    if unknown:
        parser.error(f"--faults {','.join(sorted(unknown))}: expected some of {','.join(FAULTS)}")
    print(json.dumps({"kafka": deps.DEFAULT_VERSION, "calls_a_second": given.calls}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for mode in given.modes.split(","):
            for fault in given.faults.split(","):
                for seconds in given.seconds.split(","):
                    row = cell(Path(folder), mode, fault, float(seconds), given.calls)
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
