"""What processes use over a window of time: processor, memory, network."""
import sockets
from harness import children
from harness.children import boot_now, wait_until


class Meter:
    """Use of the machine by some processes, from now on."""

    def __init__(self, pids):
        self.pids = pids
        self.began = boot_now()
        self.cpu = {pid: children.cpu_seconds(pid) for pid in pids}
        self.traffic = sockets.traffic()

    def after(self, window):
        """pid -> percent of a core, MiB resident, kB and requests a second, over so many seconds.
        """
        # A window of time is what is measured here.
        wait_until(lambda: boot_now() >= self.began + window, window + 5, "the window")
        seconds = boot_now() - self.began
        traffic = sockets.traffic()
        found = {}
        for pid in self.pids:
            went = traffic.get(pid, sockets.Traffic()).since(
                self.traffic.get(pid, sockets.Traffic()))
            found[pid] = {
                "cpu_percent": (children.cpu_seconds(pid) - self.cpu[pid]) / seconds * 100,
                "resident_mib": children.resident_bytes(pid) / 2**20,
                "sent_kb_s": went.sent / seconds / 1000,
                "received_kb_s": went.received / seconds / 1000,
                "requests_s": went.requests / seconds}
        return found
