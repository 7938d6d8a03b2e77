"""A network of the run's own: a hub, and a namespace with a link for each broker and each owner.

The whole run lives in a network and a mount namespace of its own (namespaces.py), so
bridge, links, rules and small disks are gone with its last process.

A cut drops packets where they arrive, like a bad cable: dropped where they are sent, TCP would
know at once, and retransmit as it never does on a link that is really cut.
"""
import subprocess
import sys
from pathlib import Path

from harness.deps import need

import namespaces

NETWORK = "10.77"
BROKERS = (f"{NETWORK}.0.1", f"{NETWORK}.0.2", f"{NETWORK}.0.3")
ADMIN = f"{NETWORK}.0.254"
WAYS = ("both", "in", "out")


FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read().decode())"


def enter():
    """Everything that needs the machine's network (Kafka's jars) has to be fetched before."""
    namespaces.enter("--net", "--mount")


def run(*command, text=None):
    """A command of the system to its end; what it says when it fails is the error."""
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def make_hub(addresses=(ADMIN,)):
    """The bridge; these addresses are its own."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "name", "hub", "type", "bridge")
    for address in addresses:
        run("ip", "address", "add", f"{address}/16", "dev", "hub")
    run("ip", "link", "set", "hub", "up")


def _drop(table, device, match):
    """A table that drops what matches when it arrives at the device."""
    return (f"table netdev {table} {{\n chain c {{\n"
            f"  type filter hook ingress device {device} priority 0;\n  {match} drop\n }}\n}}\n")


class Link:
    """A namespace with one link to the hub."""

    def __init__(self, name, address, folder):
        self.name, self.address = name, address
        self._file = Path(folder) / self.name
        self._file.touch()
        self._cuts = 0
        run("unshare", f"--net={self._file}", "true")
        run("ip", "link", "add", "name", self.name, "type", "veth",
            "peer", "name", "eth0", "netns", self._file)
        run("ip", "link", "set", self.name, "master", "hub", "up")
        run(*self.prefix(), "ip", "address", "add", f"{address}/16", "dev", "eth0")
        for device in ("lo", "eth0"):
            run(*self.prefix(), "ip", "link", "set", device, "up")

    def prefix(self):
        """What to put before a command that is to run in here; it keeps its process id."""
        return [need("nsenter"), f"--net={self._file}"]

    def close(self):
        """The namespace goes when the last process in it has gone."""
        run("umount", self._file)
        self._file.unlink()

    def fetch(self, url):
        """What a process in here serves."""
        return run(*self.prefix(), sys.executable, "-c", FETCH, url)

    def cut(self, way, addresses=BROKERS):
        """Cuts the link in one or both ways to these addresses; returns what mends it."""
        self._cuts += 1
        table = f"cut{self._cuts}_{self.name}"
        which = "{ " + ", ".join(addresses) + " }"
        sides = []
        if way in ("both", "out"):
            sides.append(([], _drop(table, self.name, f"ip daddr {which}")))
        if way in ("both", "in"):
            sides.append((self.prefix(), _drop(table, "eth0", f"ip saddr {which}")))
        for where, rules in sides:
            run(*where, "nft", "-f", "-", text=rules)

        def mend():
            for where, _ in sides:
                run(*where, "nft", "delete", "table", "netdev", table)
        return mend


class Seat(Link):
    """For one owner at a time."""

    def __init__(self, number, folder, network=NETWORK):
        super().__init__(f"seat{number}", f"{network}.1.{number}", folder)


class Room(Link):
    """For a broker."""

    def __init__(self, node, folder):
        super().__init__(f"broker{node}", BROKERS[node - 1], folder)
