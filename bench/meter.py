"""What processes use over a window of time: processor, memory, threads, network."""
import re
from pathlib import Path

import sockets
from harness import children
from harness.children import boot_now, wait_until

# Each client of librdkafka has one thread of that name.
CLIENT_THREAD = "rdk:main"


def thread_seconds(pid):
    """Thread id -> processor time so far, to the nanosecond: ticks of 10 ms say little of a process
    that takes a few in a window. A thread that ends meanwhile is left out.
    """
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def spent(before, after):
    """Seconds between two readings of thread_seconds()."""
    return sum(seconds - before.get(thread, 0.0) for thread, seconds in after.items())


def client_count(comms):
    """How many of these names of threads stand for a client of librdkafka."""
    return sum(comm.strip() == CLIENT_THREAD for comm in comms)


def threads(pid):
    """How many threads it has, and how many clients of librdkafka they show."""
    comms = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            comms.append((task / "comm").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return len(comms), client_count(comms)


def proportional_kib(smaps_rollup):
    """Pss of a text of smaps_rollup: memory with what is shared divided by those that share it."""
    return int(re.search(r"^Pss:\s+(\d+) kB", smaps_rollup, re.MULTILINE)[1])


def proportional_mib(pid):
    """The same of a process now; 0: it has gone."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return proportional_kib(rollup) / 1024


def server_pids(store):
    """Of all servers of a store, and of the processes that these have started."""
    found = [node.child.pid for node in store.nodes if node.child]
    for pid in found:  # which grows
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        except FileNotFoundError:
            continue
        found += [int(child) for child in text.split()]
    return found


class Meter:
    """Use of the machine by some processes, from now on."""

    def __init__(self, pids):
        self.pids = pids
        self.began = boot_now()
        self.cpu = {pid: thread_seconds(pid) for pid in pids}
        self.traffic = sockets.traffic()

    def after(self, window):
        """pid -> percent of a core, MiB resident and proportional, threads, clients of librdkafka,
        kB and requests a second, over so many seconds.
        """
        # A window of time is what is measured here.
        wait_until(lambda: boot_now() >= self.began + window, window + 5, "the window")
        seconds = boot_now() - self.began
        traffic = sockets.traffic()
        found = {}
        for pid in self.pids:
            went = traffic.get(pid, sockets.Traffic()).since(
                self.traffic.get(pid, sockets.Traffic()))
            count, clients = threads(pid)
            found[pid] = {
                "cpu_percent": spent(self.cpu[pid], thread_seconds(pid)) / seconds * 100,
                "resident_mib": children.resident_bytes(pid) / 2**20,
                "proportional_mib": proportional_mib(pid),
                "threads": count, "clients": clients,
                "sent_kb_s": went.sent / seconds / 1000,
                "received_kb_s": went.received / seconds / 1000,
                "requests_s": went.requests / seconds}
        return found
