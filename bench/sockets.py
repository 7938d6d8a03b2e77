"""What a process sent and received on its TCP connections, as the kernel counts it (ss -tin).

On loopback every request leaves in one segment with data, and so does every answer: the segments
with data that a process sent are the requests that it made, batches written together apart.
"""
import re
import subprocess
from dataclasses import dataclass

_PID = re.compile(r"pid=(\d+)")
_FIELDS = {"sent": "bytes_sent", "received": "bytes_received", "requests": "data_segs_out"}


@dataclass
class Traffic:
    """Sums over the connections of one process, since each was opened."""

    sent: int = 0
    received: int = 0
    requests: int = 0

    def since(self, before):
        """The difference, over connections that were open at both times."""
        return Traffic(self.sent - before.sent, self.received - before.received,
                       self.requests - before.requests)


def parse(text):
    """pid -> Traffic, from the output of `ss -Htinp`: a line a connection, its counters behind."""
    found = {}
    owner = None
    for line in text.splitlines():
        if not line[:1].isspace():
            named = _PID.search(line)
            owner = int(named[1]) if named else None
        elif owner is not None:
            traffic = found.setdefault(owner, Traffic())
            for name, counter in _FIELDS.items():
                value = re.search(rf"\b{counter}:(\d+)", line)
                if value:
                    setattr(traffic, name, getattr(traffic, name) + int(value[1]))
    return found


def traffic():
    """pid -> Traffic, of all processes of this machine that one may see."""
    done = subprocess.run(["ss", "-Htinp", "state", "established"], capture_output=True,
                          text=True, timeout=20, check=True)
    return parse(done.stdout)
