"""Processes of examples/03_pricing_stream.cc, as tests and benchmarks drive them."""
import json
import re
import urllib.request

from . import children

INSTRUMENTS = 18
PARTITIONS = 64  # of a topic that the example makes


def fetch(url):
    """The body of an answer."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def rest(page, count):
    """Until so many owners have a fair share each, and nothing is on its way."""
    def at_rest():
        try:
            rows = json.loads(fetch(f"{page}v1/processes"))["processes"]
        except TimeoutError:  # a machine that stands still
            return False
        shares = [row["partitions"] for row in rows if row["partitions"]]
        return len(shares) == count and sum(shares) == PARTITIONS and \
            max(shares) - min(shares) <= 1 and not any(row["draining"] for row in rows)
    children.wait_until(at_rest, 60, f"{count} owners at rest", poll=0.1)


def first_line(out, name):
    """What a process that was started says once it runs."""
    return children.wait_until(lambda: out.read_text().partition("\n")[0], 30, f"{name} runs")


class Subscriber:
    """A process of the example that writes to a file what it heard."""

    def __init__(self, child, out):
        self.child = child
        self.out = out
        self.code = None

    def last(self):
        """Of the newest line: instruments by who published them last, missing, duplicates."""
        lines = self.out.read_text().rpartition("\n")[0].splitlines()
        return {name: int(count) for name, count in re.findall(r"(\S+) (\d+)", lines[-1])} \
            if lines else {}

    def heard_from(self, *names):
        """Whether all instruments come from these, each of which publishes some."""
        last = self.last()
        live = {name: last[name] for name in last if name not in ("missing", "duplicates")}
        return set(live) == set(names) and sum(live.values()) == INSTRUMENTS

    def wait(self, *names):
        """Until all instruments come from these."""
        children.wait_until(lambda: self.heard_from(*names), 60,
                            lambda: f"all instruments from {names}\n{self.out.read_text()[-2000:]}")

    def report(self):
        """Ends it. By instrument: what it missed, what it dropped, its longest silence in s."""
        self.child.terminate()
        self.code = self.child.wait(20)
        found = re.findall(r"(?m)^(\w+): quote \d+ is \d+, missing (\d+), duplicates (\d+), "
                           r"longest silence (\S+) s$", self.out.read_text())
        return {name: (int(missing), int(duplicates), float(silence))
                for name, missing, duplicates, silence in found}
