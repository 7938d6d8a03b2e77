"""How long claims took from being sent to being read back, by the owners' metrics.

A hand-over cannot take less: the new owner leads when it has read its claim, and the release that
the old one writes when it has read the same claim. A newcomer's first claim waits for its
producer's id, too, while the old owner still leads; claims at a leave are of processes that are
there already.
"""
import re
import urllib.request

from harness.children import boot_now, wait_until
from harness.process import LineFile

SAME_TEXT_S = 0.2  # longer than a process answers with the text that it has (admin/site.h)
NAME = "neliroute_claim_round_trip_seconds"
_ROW = re.compile(rf"^{NAME}_(sum|count)(?:{{.*}})? (\S+)$", re.MULTILINE)


def read(exposition):
    """(seconds of all claims so far, how many) by a text of /metrics."""
    found = {name: float(value) for name, value in _ROW.findall(exposition)}
    return found["sum"], int(found["count"])


def fetch(owner):
    """What this process serves now."""
    address = LineFile(owner.output).read()[0]["http"]
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return answer.read().decode()


class Readbacks:
    """Of owners that serve metrics, each on a port of its own."""

    OPTIONS = {"http": "0", "json": True}

    def __init__(self, ask=fetch):
        self._ask = ask
        self._last = {}  # owner's key -> its newest reading
        self._asked = 0.0

    def mean_ms_since_last(self, owners):
        """Of the claims that these have read since each was asked last, or has started; None where
        there is none.
        """
        wait_until(lambda: boot_now() >= self._asked + SAME_TEXT_S, 5, "newer texts")
        seconds, count = 0.0, 0
        for owner in owners:
            before = self._last.get(owner.key, (0.0, 0))
            self._last[owner.key] = now = read(self._ask(owner))
            seconds += now[0] - before[0]
            count += now[1] - before[1]
        self._asked = boot_now()
        return 1000 * seconds / count if count else None
