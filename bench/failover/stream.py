#!/usr/bin/python3
"""How long an instrument's quotes stop when its owner is killed, or leaves, on a real Kafka.

    bench/failover/stream.py                       ten kills and ten leaves, about 3 minutes
    bench/failover/stream.py --assignment group
    bench/failover/stream.py --rounds 2

Three owners of examples/03_pricing_stream.cc publish 18 instruments ten times a second each, and a
subscriber tells the longest silence of each. Of every round that counts which is the longest; an
instrument that stays where it is is silent for a period, 0.1 s.
"""
import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.path.insert(0, str(REPOSITORY / "bench"))
import machine  # noqa: E402
from harness import children, process  # noqa: E402
from harness.kafka_broker import KafkaBroker  # noqa: E402
from harness.stream import Subscriber, fetch, first_line, rest  # noqa: E402

EXAMPLE = REPOSITORY / "build" / "examples" / "example_03_pricing_stream"
SESSION_MS = 500


class Stage:
    """Three owners, one of which can be ended and restarted."""

    def __init__(self, brokers, folder, assignment):
        self.brokers = brokers
        self.environment = process.environment({"NELIROUTE_ASSIGNMENT": assignment})
        self.folder = folder
        self.count = 0
        self.owners = {}
        self.page = ""

    def _start(self, *arguments):
        self.count += 1
        out = self.folder / f"{self.count}.out"
        with open(out, "wb") as file, open(self.folder / f"{self.count}.log", "wb") as log:
            return children.spawn([EXAMPLE, *arguments], stdout=file, stderr=log,
                                  env=self.environment), out

    def own(self, name):
        """An owner more."""
        child, out = self._start("owner", name, self.brokers, "0")
        said = first_line(out, name)
        self.owners[name] = child
        self.page = self.page or said.split()[1]

    def round(self, name, kill):
        """Seconds: the longest silence of an instrument while `name` goes; then it is back."""
        subscriber = Subscriber(*self._start("subscriber", self.brokers))
        subscriber.wait(*self.owners)
        child = self.owners.pop(name)
        child.kill() if kill else child.terminate()
        child.wait(30)
        subscriber.wait(*self.owners)
        rest(self.page, len(self.owners))
        report = subscriber.report()
        if missing := [one for one in report if report[one][0]]:
            raise SystemExit(f"{missing} missed quotes")
        self.own(name)
        rest(self.page, len(self.owners))
        return max(silence for _, _, silence in report.values())


def main():
    """Kills and leaves in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--assignment", choices=("assigner", "group"), default="assigner")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    context = machine.context(kafka="4.1.1")
    silences = {"kill": [], "leave": []}
    with tempfile.TemporaryDirectory(prefix="neliroute-stream-") as folder, \
            KafkaBroker("4.1.1", session_ms=SESSION_MS, heartbeat_ms=SESSION_MS // 10) as kafka:
        stage = Stage(kafka.bootstrap, Path(folder), options.assignment)
        for name in ("alpha", "bravo", "charlie"):
            stage.own(name)
        rest(stage.page, len(stage.owners))
        lease = json.loads(fetch(f"{stage.page}v1/slots"))["lease_ms"] / 1000
        for number in range(options.rounds):
            for how in silences:
                silences[how].append(stage.round(("bravo", "charlie")[number % 2], how == "kill"))
                print(f"{how}: {silences[how][-1]:.3f} s", flush=True)
        children.end_all()
    for how, all_of_it in silences.items():
        print(f"longest silence of an instrument at a {how}: median "
              f"{statistics.median(all_of_it):.2f} s, worst {max(all_of_it):.2f} s of "
              f"{len(all_of_it)}; session {SESSION_MS / 1000} s, lease {lease:.2f} s")
    machine.save(options.json, {"bench": "stream", **context, "session_ms": SESSION_MS,
                                "assignment": options.assignment,
                                "lease_s": lease, **silences})


if __name__ == "__main__":
    main()
