"""Faults of the servers of a store that is no Kafka, and what owners must do meanwhile."""
import errno
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402

# How long exclusive owners may stop for one server of three. An election of etcd lasts for one to
# two seconds, and the first one may fail; one of voters for one to two of its timeouts, and then
# owners find the new leader. A standby of PostgreSQL is promoted a second later.
LONGEST_S = {"etcd": 20.0, "quorum": 5.0, "postgres": 10.0}


def pass_by(seconds):
    """Where the length of something is what is tested."""
    began = boot_now()
    wait_until(lambda: boot_now() > began + seconds, seconds + 10, f"{seconds} s")


class FaultsCase(case.KafkaCase):
    """One of three servers may be lost, or two for a while."""
    brokers = 3

    def strict(self, count=3):
        """Owners in exclusive mode, at rest."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, count)
        return fleet

    def leader(self, fleet):
        """The server that leads."""
        def found():
            try:
                return self.kafka.leader(fleet.topic)
            except RuntimeError:
                return None
        return wait_until(found, 20, "one leads")

    def follower(self, fleet):
        """One that does not."""
        leader = self.leader(fleet)
        return next(node for node in self.kafka.voters(fleet.topic) if node is not leader)

    def kill(self, node):
        """That server crashes. Returns what brings it back."""
        self.kafka.stop_node(node)
        return self.kafka.start

    def freeze(self, node):
        """That one stands still. Returns what ends that."""
        node.freeze()
        self.addCleanup(lambda: node.child and node.thaw())
        return node.thaw

    def lose(self, fleets, what, disturb):
        """A server is lost and comes back: `disturb` returns what mends it. In exclusive mode
        something may be led by nobody for a while."""
        began = boot_now()
        mend = disturb()
        pass_by(3)  # its loss was felt, if it is
        for fleet in fleets:
            fleet.rest()
        mend()
        self.kafka.start()  # until all of them serve
        for fleet in fleets:
            fleet.rest()
            if fleet.defaults["mode"] == "exclusive":
                fleet.disturb(began, boot_now())
        self.note(f"{what}: at rest again")

    def clean(self, fleets, since, longest_s=None):
        """Never two of anything, no epoch that falls, and no long gap."""
        until = boot_now()
        longest_s = longest_s or LONGEST_S[case.protocol().name]
        for fleet in fleets:
            report = self.assert_clean(fleet, since, until)
            gaps = report.unled(fleet.partitions, since, until)
            self.assertEqual([], self.too_long(gaps, longest_s * case.SLOW, fleet.group))

    def lose_one_after_the_other(self):
        """Killed and frozen, one that leads and one that does not."""
        fleet = self.strict()
        since = boot_now()
        for which in (self.follower, self.leader):
            for how in (self.kill, self.freeze):
                self.lose([fleet], f"{which.__name__}: {how.__name__}",
                          lambda how=how, which=which: how(which(fleet)))
        self.clean([fleet], since)

    def live_without_majority(self):
        """Two of three stand still."""
        thaws = []

        def freeze():
            for topic in {node.topic for node in self.kafka.nodes}:
                thaws.extend(self.freeze(node) for node in self.kafka.voters(topic)[:2])

        def thaw():
            for one in thaws:
                one()
        self.live_without_writes(freeze, thaw)


class SmallDisk:
    """A tmpfs onto which a server's data moves while that server is down. Seen by what is started
    from then on, in the mount namespace of the test."""

    def __init__(self, node, mib):
        self.data = node.data
        self._ballast = node.data / "ballast"
        copy = node.data.with_name("moved")
        node.data.rename(copy)
        node.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", node.data],
                       check=True)
        subprocess.run(["cp", "-a", f"{copy}/.", node.data], check=True)
        shutil.rmtree(copy)

    def fill(self):
        """Nothing more can be stored there, until something is removed."""
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def make_room(self):
        """As an operator does."""
        self._ballast.unlink(missing_ok=True)

    def close(self):
        """Once the server has ended."""
        subprocess.run(["umount", "-l", self.data], check=True)
