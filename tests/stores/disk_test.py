#!/usr/bin/python3
"""Disks of servers that are full (a small tmpfs in a mount namespace of the test's own) or fail, as
the system says: etcd, PostgreSQL, and voters."""
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "chaos"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402
from harness.kafka_broker import free_ports  # noqa: E402
from harness.stores.etcd_cluster import encoded  # noqa: E402

import namespaces  # noqa: E402
from store_faults import FaultsCase, SmallDisk  # noqa: E402

FULL, FAILED = "No space left on device", "Input/output error"
# Fails one fdatasync of the process once the file named by FAIL_ONCE is there, which it removes.
FAILING = """
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int fdatasync(int file) {
  const char* wanted = getenv("FAIL_ONCE");
  if (wanted && unlink(wanted) == 0) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fdatasync, file);
}
"""


class DiskCase(FaultsCase):
    """What these share."""
    mib = None

    def small_disk(self, node):
        """Restarts a server on one."""
        self.kafka.stop_node(node, grace=20)
        node.disk = SmallDisk(node, self.mib)
        self.kafka.start()

    def start_again(self, node):
        """As an operator does who has seen to the disk."""
        if node.disk:
            node.disk.make_room()
        if not node.child:
            self.kafka.start()

    def wait_ended(self, node, *saying, meanwhile=lambda: None):
        """It ended by itself, and said so. Its exit code."""
        wait_until(lambda: meanwhile() or node.child.poll() is not None, 60,
                   lambda: f"{node.name} ends\n{self.kafka.log_tail()}")
        for text in saying:
            self.assertIn(text.lower(), node.log_text()[-20_000:].lower())
        code = node.child.returncode
        self.kafka.stop_node(node)
        return code

    def lose_disks(self, fleet, fault):
        """Of one that follows, then of one that leads: it ends by `fault` and comes back, and then
        another one is lost. No record is."""
        since = boot_now()
        for which in (self.follower, self.leader):
            node = which(fleet)
            began, before = boot_now(), self.records(fleet)
            fault(node)
            self.leader(fleet)
            fleet.rest()
            self.assert_nothing_lost(fleet, before)
            self.start_again(node)
            fleet.disturb(began, boot_now())
            self.lose([fleet], f"{which.__name__}: {fault.__name__}, and the leader killed",
                      lambda: self.kill(self.leader(fleet)))
            self.assert_nothing_lost(fleet, before)
        self.clean([fleet], since)


class Voters(DiskCase):
    """Whoever cannot store ends, and says so: nobody knows what is on that disk."""
    mib = 8
    stopped = "this voter has stopped"

    def setUp(self):
        self.library = self.folder / "failing.so"
        source = self.folder / "failing.c"
        source.write_text(FAILING)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, source], check=True)

    def prepare(self, node):
        """A small disk, and an fdatasync that can fail."""
        node.env = {"LD_PRELOAD": str(self.library),
                    "FAIL_ONCE": str(self.folder / f"fail-{node.name}")}
        self.small_disk(node)

    def prepared(self):
        """Owners at rest, and three voters of that kind."""
        fleet = self.strict()
        for node in self.kafka.voters(fleet.topic):
            self.prepare(node)
            fleet.rest()
        return fleet

    def fill_up(self, node):
        """It has no room."""
        node.disk.fill()
        self.assertEqual(1, self.wait_ended(node, self.stopped, FULL, str(node.data)))

    def fail_once(self, node):
        """The system reports an error, once."""
        trigger = Path(node.env["FAIL_ONCE"])
        trigger.touch()
        self.assertEqual(1, self.wait_ended(node, self.stopped, FAILED, str(node.data)))
        self.assertFalse(trigger.exists())

    def test_full_disk_of_one(self):
        fleet = self.prepared()
        self.lose_disks(fleet, self.fill_up)
        for node in self.kafka.voters(fleet.topic):
            self.assertNotIn("damaged", node.log_text())

    def test_failing_disk_of_one(self):
        self.lose_disks(self.prepared(), self.fail_once)

    def test_failing_disk_of_an_owner(self):
        """Whose voter ends alone: it goes on with the others, and its next start is a voter's."""
        voters = [f"127.0.0.1:{port}" for port in free_ports(3)]
        ledger = f"quorum://{','.join(voters)}/inside"
        fleet = self.fleet(mode="exclusive")
        fleet.defaults["ledger"] = ledger
        trigger = self.folder / "fail"

        def start(number):
            return fleet.start(ledger=f"{ledger}?dir={self.folder}/voter-{number}",
                               voter=voters[number])
        fleet.env = {"LD_PRELOAD": str(self.library), "FAIL_ONCE": str(trigger)}
        owner = start(0)
        fleet.env = {}
        for number in (1, 2):
            start(number)
        fleet.rest()
        since = boot_now()
        trigger.touch()
        wait_until(lambda: "the voter in this process ended" in owner.error_tail(10_000), 20,
                   lambda: f"its voter ends\n{owner.error_tail(10_000)}")
        self.assertIn(FAILED, owner.error_tail(10_000))
        fleet.rest()
        self.assertTrue(owner.running() and owner.leading, owner.error_tail())
        self.leave(fleet, owner)
        start(0)
        fleet.rest()
        fleet.owners[1].kill()  # so that the one with that disk counts
        fleet.rest()
        self.clean([fleet], since)

    def test_full_disks_of_two(self):
        """There is no majority until there is room."""
        lost = []

        def begin():
            nodes = [node for node in self.kafka.nodes if node.topic.startswith(self.topic())]
            for node in nodes:
                self.prepare(node)
            for topic in {node.topic for node in nodes}:
                lost.extend(self.kafka.voters(topic)[:2])
            for node in lost:
                self.fill_up(node)

        def end():
            for node in lost:
                node.disk.make_room()
            self.kafka.start()
        self.live_without_writes(begin, end, says=["has no leader that answers"], keeps=True)


class Etcd(DiskCase):
    """A member that cannot store ends."""
    mib = 250  # it allots 64 MB at once for what it writes next, twice

    def fill_up(self, node):
        """It has no room, and so much is written that it needs some."""
        number = 0

        def write():
            nonlocal number
            number += 1
            node.disk.fill()
            try:
                self.kafka.call("/v3/kv/put", {"key": encoded(f"other/{number}"),
                                               "value": encoded("x" * 200_000)})
            except OSError:
                pass  # who answers may be the one
        self.assertNotEqual(0, self.wait_ended(node, FULL, meanwhile=write))

    def test_full_disk_of_one(self):
        fleet = self.strict()
        for node in self.kafka.nodes:
            self.small_disk(node)
            fleet.rest()
        self.lose_disks(fleet, self.fill_up)


class OneEtcd(Etcd):
    """There is no other one."""
    brokers = 1

    def test_full_disk_of_one(self):
        node, = self.kafka.nodes
        self.small_disk(node)
        self.live_without_writes(lambda: self.fill_up(node), lambda: self.start_again(node),
                                 says=["a record cannot be written"], keeps=True)


class Postgres(DiskCase):
    """A server that cannot store refuses to write; one that cannot even log that ends."""
    brokers = 1
    mib = 160

    def setUp(self):
        node, = self.kafka.nodes
        if not node.disk:
            self.small_disk(node)

    def full(self, says, meanwhile=lambda: None):
        """Owners are told so, until there is room."""
        node, = self.kafka.nodes

        def begin():
            node.disk.fill()
            meanwhile()

        def end():
            if node.child and node.child.poll() is not None:
                self.kafka.stop_node(node)  # it had no room for its log meanwhile
            self.start_again(node)
        self.live_without_writes(begin, end, says=says, keeps=True)
        self.assertIn(FULL, node.log_text())

    def test_full_disk(self):
        self.full(["a record cannot be written", FULL])

    def test_no_room_for_its_log(self):
        """It panics, and does not come up again by itself."""
        node, = self.kafka.nodes

        def switch():
            node.disk.fill()
            try:
                node.query("SELECT pg_switch_wal()")
            except RuntimeError:
                pass  # it has ended

        def end_it():
            self.wait_ended(node, "PANIC", FULL, meanwhile=switch)
        self.full(["a record cannot be written"], end_it)


def load_tests(loader, _tests, _pattern):
    """Those of this run's store."""
    suite = loader.suiteClass()
    for kind in {"etcd": [Etcd, OneEtcd], "postgres": [Postgres],
                 "quorum": [Voters]}[case.protocol().name]:
        suite.addTests(loader.loadTestsFromTestCase(kind))
    return suite


if __name__ == "__main__":
    namespaces.enter("--mount")
    case.main()
