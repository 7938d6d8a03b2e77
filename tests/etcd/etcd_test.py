#!/usr/bin/python3
"""What only an etcd does: elections, compaction, a quota, users, backups. With its own timings."""
import os
import shutil
import sys
import urllib.error
from pathlib import Path

os.environ["NELIROUTE_TEST_PROTOCOL"] = "etcd"
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stores"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402
from harness.stores.etcd_cluster import encoded  # noqa: E402
from harness.process import run_tool  # noqa: E402
from store_faults import FaultsCase  # noqa: E402

PARTITIONS = 32


class ThreeMembers(FaultsCase):
    """One of three servers may be lost, or two for a while."""

    def test_one_of_three(self):
        self.lose_one_after_the_other()

    def test_two_of_three(self):
        """There is no majority."""
        self.live_without_majority()


class OneMember(case.KafkaCase):
    """What an operator does to it."""

    def test_compacted_while_an_owner_stood_still(self):
        """What it has not read is gone: it says so, and begins anew."""
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        self.start_rested(fleet, 3)
        sleeper = fleet.owners[0]
        sleeper.stop()
        fleet.wait_led()
        self.kafka.stop()  # so that it has to ask for what comes next
        self.kafka.start()
        fleet.wait_led()
        before = self.kafka.read(fleet.topic, 0)[-1]["offset"]
        wait_until(lambda: self.kafka.read(fleet.topic, 0)[-1]["offset"] > before, 20,
                   "records that it has not read")
        self.kafka.compact()
        sleeper.wake()
        fleet.rest()
        self.assertIn("given up and claimed again", sleeper.error_tail(10_000))
        self.assert_clean(fleet)

    def test_what_a_newcomer_learns(self):
        """How many logs there are, and with how many partitions the lane runs."""
        fleet = self.fleet(PARTITIONS)
        fleet.start(logs=4)
        fleet.rest()
        fleet.start()  # without logs
        fleet.rest()
        keys = [f"key-{i}" for i in range(64)]
        rows = self.lookup(fleet, "route", *keys, json=True, partitions=None).rows()
        self.assertEqual([row["partition"] for row in rows],
                         [row["slot"] % PARTITIONS for row in rows])
        done = run_tool("run", **{**fleet.defaults, "logs": 2, "endpoint": "127.0.0.1:7999"})
        self.assertEqual(done.code, 2, done)
        self.assertIn("has 4", done.err)
        self.assert_clean(fleet)

    def test_audit_of_what_is_left(self):
        """All that was not compacted, of each log, and whether that is all."""
        fleet = self.fleet(PARTITIONS, logs=2)
        self.start_rested(fleet, 2)
        _, rows, _ = self.audit(fleet.topic)
        self.assertEqual([row["cut_short"] for row in rows if "low" in row], [False, False])
        everything = rows[-1]["records"]
        _, rows, _ = self.audit(fleet.topic, since="200ms")
        self.assertLess(rows[-1]["records"], everything)
        self.kafka.compact()
        began = boot_now()
        wait_until(lambda: boot_now() > began + 1, 10, "a few renewals")
        _, rows, done = self.audit(fleet.topic)
        self.assertEqual([row["cut_short"] for row in rows if "low" in row], [True, True], done)
        self.assert_clean(fleet)

    def test_restored_from_a_backup(self):
        """The logs are the same, and their end is gone: a gap, and epochs rise."""
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        self.start_rested(fleet, 2)
        node, = self.kafka.nodes
        self.kafka.stop()
        shutil.copytree(node.data, node.folder / "backup")
        self.kafka.start()
        fleet.rest()
        fleet.start()
        fleet.rest()
        before = self.epochs(fleet)
        self.kafka.stop()
        shutil.rmtree(node.data)
        shutil.copytree(node.folder / "backup", node.data)
        self.kafka.start()
        for owner in fleet.owners:
            wait_until(lambda owner=owner: "the log was truncated" in owner.error_tail(10_000), 30,
                       lambda owner=owner: f"a gap\n{owner.error_tail(10_000)}")
        fleet.rest()
        after = self.epochs(fleet)
        for partition, epoch in before.items():
            self.assertGreaterEqual(after[partition], epoch, partition)
        self.assert_clean(fleet)

    @staticmethod
    def epochs(fleet):
        """{partition: the epoch by which it is led}"""
        fleet.refresh()
        return {partition: epoch for owner in fleet.owners
                for partition, epoch in owner.leading.items()}


class Quota(case.KafkaCase):
    """An etcd that is full takes no writes from anybody."""
    store_options = ("--quota-backend-bytes", str(8 << 20))

    def fill(self):
        """Until it says so."""
        for number in range(64):
            try:
                self.kafka.call("/v3/kv/put", {"key": encoded(f"other/{number}"),
                                               "value": encoded("x" * (1 << 20))})
            except urllib.error.HTTPError as error:
                self.assertIn("space", error.read().decode())
                return
        self.fail("it is not full")

    def make_room(self):
        """As an operator does."""
        self.kafka.call("/v3/kv/deleterange",
                        {"key": encoded("other/"), "range_end": encoded("other0")})
        self.kafka.compact()
        self.kafka.call("/v3/maintenance/defragment", {}, timeout=30)
        alarms = self.kafka.call("/v3/maintenance/alarm", {"action": "GET"}).get("alarms", [])
        for alarm in alarms:
            self.kafka.call("/v3/maintenance/alarm", {"action": "DEACTIVATE", **alarm})

    def test_it_is_full(self):
        self.live_without_writes(self.fill, self.make_room, says=["database space exceeded"])


class Users(case.KafkaCase):
    """An etcd that wants to know who asks, and works on each password for longer than owners wait
    for anything else."""
    store_options = ("--bcrypt-cost", "12")

    def setUp(self):
        call = self.kafka.call
        for name in ("root", "ann", "bob", "cat"):
            call("/v3/auth/user/add", {"name": name, "password": f"{name}'s"})
        for role in ("root", "owner", "watcher"):
            call("/v3/auth/role/add", {"name": role})
        for role, kind in (("owner", "READWRITE"), ("watcher", "READ")):
            call("/v3/auth/role/grant", {"name": role, "perm": {
                "permType": kind, "key": encoded("users/"), "range_end": encoded("users0")}})
        for user, role in (("root", "root"), ("ann", "owner"), ("cat", "watcher")):
            call("/v3/auth/user/grant", {"user": user, "role": role})
        call("/v3/auth/enable", {})

    def ledger(self, user):
        """The address, as that user."""
        return self.kafka.place("users")["ledger"].replace("etcd://", f"etcd://{user}")

    def test_a_user_who_may_and_others(self):
        fleet = self.fleet(PARTITIONS, topic="users", ledger=self.ledger("ann@"))
        fleet.env = {"NELIROUTE_ETCD_PASSWORD": "ann's"}
        self.start_rested(fleet, 2)
        node, = self.kafka.nodes
        self.kafka.stop()  # it forgets the tokens that it gave out
        self.kafka.start_node(node)
        since = boot_now()
        wait_until(lambda: boot_now() > since + 2, 10, "a few renewals")
        fleet.start()  # which needs what the others read and write
        fleet.rest()
        for user, password, said in (("", "", "user name is empty"),
                                     ("ann@", "wrong", "authentication failed"),
                                     ("bob@", "bob's", "permission denied")):
            done = run_tool("route", "k", ledger=self.ledger(user),
                            env={"NELIROUTE_ETCD_PASSWORD": password})
            self.assertEqual(done.code, 3, done)
            self.assertIn(said, done.err)
            self.assertIn("NELIROUTE_ETCD_PASSWORD", done.err)
            self.assertNotIn("wrong", done.err)
        self.check_watcher(fleet)
        self.assert_clean(fleet)

    def check_watcher(self, fleet):
        """Whoever may only read looks up, and orders nothing."""
        place = {"ledger": self.ledger("cat@"), "env": {"NELIROUTE_ETCD_PASSWORD": "cat's"}}
        found = self.lookup(fleet, "route", "k", **place)
        self.assertEqual(found.code, 0, found)
        done = run_tool("cordon", "owner-1", **place)
        self.assertEqual(done.code, 2, done)
        for text in ("permission denied", "takes an owner's rights"):
            self.assertIn(text, done.err)


class Tls(case.KafkaCase):
    """Both sides show certificates."""
    store_tls = True

    def test_certificates(self):
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        self.start_rested(fleet, 2)
        self.kill(fleet)
        fleet.start()
        fleet.rest()
        address = self.kafka.place(fleet.topic)["ledger"]
        plain = address.partition("?")[0]
        for ledger, said in ((plain, "certificate verify failed"),
                             (f"{plain}?authorities={self.kafka.folder}/ca.pem", "certificate"),
                             (f"{plain}?authorities=/none", "/none cannot be used"),
                             (plain.replace("etcds", "etcd"), "no etcd answered within")):
            done = run_tool("route", "k", ledger=ledger, timeout="1s")
            self.assertIn(done.code, (2, 3), done)
            self.assertIn(said, done.err)
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
