#!/usr/bin/python3
"""What only voters do that are a ledger together: they are killed, frozen and restarted while
owners lead, keep what they know on disk, and may live inside the owners."""
import os
import shutil
import sys
from pathlib import Path

os.environ["NELIROUTE_TEST_PROTOCOL"] = "quorum"
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402
from harness.kafka_broker import free_ports  # noqa: E402
from harness.metrics import metric  # noqa: E402
from harness.process import run_tool  # noqa: E402
from harness.stream import fetch  # noqa: E402

PARTITIONS = 32
# An election takes one to two election timeouts, and the owners find the new leader meanwhile.
LONGEST_S = 5.0 * case.SLOW


class ThreeVoters(case.KafkaCase):
    """One of three may be lost, or two for a while."""

    def strict(self):
        """Three owners in exclusive mode, at rest."""
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        self.start_rested(fleet, 3)
        return fleet

    def lose(self, fleet, what, disturb, mend):
        """A voter that is lost and comes back."""
        began = boot_now()
        node = disturb()
        # Once its loss was felt, if it is.
        wait_until(lambda: boot_now() > began + 2, 10, "two seconds")
        fleet.rest()
        mend(node)
        fleet.rest()
        fleet.disturb(began, boot_now())
        self.note(f"{what}: at rest again")

    def kill(self, node):
        """That voter crashes."""
        self.kafka.stop_node(node)
        return node

    def freeze(self, node):
        """That one stands still."""
        node.freeze()
        self.addCleanup(lambda: node.child and node.thaw())
        return node

    def follower(self, fleet):
        """One that does not lead."""
        leader = self.kafka.leader(fleet.topic)
        return next(node for node in self.kafka.voters(fleet.topic) if node is not leader)

    def test_one_of_three(self):
        fleet = self.strict()
        since = boot_now()

        def leader():
            return self.kafka.leader(fleet.topic)

        def restart(_):
            self.kafka.start()
        self.lose(fleet, "follower killed", lambda: self.kill(self.follower(fleet)), restart)

        def killed():
            was = leader()
            self.assertEqual(1, was.metric("voter_leads"))
            return self.kill(was)

        def restart_once_it_is_told(_):
            """The next leader's metrics say that it leads, and that one does not answer it."""
            now = leader()
            wait_until(lambda: (now.metric("voter_leads"),
                                now.metric("voter_followers_overdue")) == (1, 1), 20,
                       "it says so")
            others = [node for node in self.kafka.voters(fleet.topic)
                      if node.child and node is not now]
            self.assertEqual([(0, True)],
                             [(node.metric("voter_leads"), node.is_ready()) for node in others])
            self.assertGreater(now.metric("voter_store_seconds_count"), 0)
            self.kafka.start()
        self.lose(fleet, "leader killed", killed, restart_once_it_is_told)
        self.lose(fleet, "follower frozen", lambda: self.freeze(self.follower(fleet)),
                  lambda node: node.thaw())
        self.lose(fleet, "leader frozen", lambda: self.freeze(leader()),
                  lambda node: node.thaw())
        report = self.assert_clean(fleet, since, boot_now())
        gaps = report.unled(fleet.partitions, since, boot_now())
        self.assertEqual([], self.too_long(gaps, LONGEST_S, "any"))

    def test_an_owner_and_the_leading_voter_at_once(self):
        fleet = self.strict()
        since = boot_now()
        fleet.owners[0].kill()
        self.kill(self.kafka.leader(fleet.topic))
        fleet.rest()
        self.kafka.start()
        self.leave(fleet)
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assert_clean(fleet)

    def test_two_of_three(self):
        """There is no majority."""
        lost = []

        def freeze():
            for topic in {node.topic for node in self.kafka.nodes}:
                lost.extend(self.kafka.voters(topic)[:2])
            for node in lost:
                self.freeze(node)

        def thaw():
            for node in lost:
                node.thaw()
        self.live_without_writes(freeze, thaw)

    def test_a_voter_that_lost_its_disk(self):
        """It comes back as another one, and once it is admitted another may be lost."""
        fleet = self.strict()
        since = boot_now()

        def voter_at(node):
            return self.kafka.members(fleet.topic).get(node.address)
        for node in self.kafka.voters(fleet.topic):
            was = voter_at(node)
            self.kafka.stop_node(node)
            shutil.rmtree(node.data)
            self.kafka.start()
            # Who it was is removed, and then it is added.
            wait_until(lambda node=node, was=was: voter_at(node) not in (None, was), 20,
                       lambda: f"it is admitted\n{self.kafka.log_tail()}")
            self.note(f"{node.name} has a new disk")
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assert_clean(fleet)

    def test_all_of_them_begin_again_with_what_was_on_disk(self):
        fleet = self.strict()
        since = boot_now()
        known = self.kafka.topic(fleet.topic)
        records = self.kafka.read(fleet.topic, 0)
        self.kafka.stop()
        self.kafka.start()
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assertEqual(known, self.kafka.topic(fleet.topic))
        after = self.kafka.read(fleet.topic, 0, records[0]["offset"])
        self.assertEqual(records, after[:len(records)])
        found, _, done = self.audit(fleet.topic)
        self.assertEqual([], found, done)
        self.assert_clean(fleet)


class Tls(case.KafkaCase):
    """Voters and owners prove who they are."""
    store_tls = True

    def test_who_has_a_certificate_is_served(self):
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        self.start_rested(fleet, 2)
        ledger = fleet.defaults["ledger"]
        plain = ledger.partition("?")[0].replace("quorums", "quorum")
        done = run_tool("watch", ledger=plain, once=True, timeout="2s")
        self.assertNotEqual(done.code, 0, done)
        self.assert_clean(fleet)


class Inside(case.KafkaCase):
    """The voters live in the owners: nothing else runs."""

    def test_three_owners_are_all_that_it_takes(self):
        voters = [f"127.0.0.1:{port}" for port in free_ports(3)]
        ledger = f"quorum://{','.join(voters)}/inside"
        fleet = self.fleet(PARTITIONS, mode="exclusive")
        fleet.defaults["ledger"] = ledger

        def start(number):
            return fleet.start(ledger=f"{ledger}?dir={self.folder}/voter-{number}",
                               voter=voters[number], http="0", json=True)

        def leading():
            """How many say in their own metrics that they lead, of those that live."""
            pages = [fetch(f"http://{case.address_of(owner)}/metrics")
                     for owner in fleet.owners if owner.running()]
            return [metric(page, "neliroute_voter_leads") for page in pages].count(1)
        for number in range(3):
            start(number)
        fleet.rest()
        self.assertEqual(1, leading())
        since = boot_now()
        fleet.owners[1].kill()
        fleet.rest()
        self.assertEqual(1, leading())
        start(1)
        fleet.rest()
        leaver = fleet.owners[0]
        self.leave(fleet, leaver)
        start(0)
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
