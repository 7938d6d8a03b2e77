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
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stores"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402
from harness.kafka_broker import free_ports  # noqa: E402
from harness.metrics import metric  # noqa: E402
from harness.process import run_tool  # noqa: E402
from harness.stream import fetch  # noqa: E402
from store_faults import FaultsCase  # noqa: E402

PARTITIONS = 32


class ThreeVoters(FaultsCase):
    """One of three may be lost, or two for a while."""

    def test_one_of_three(self):
        self.lose_one_after_the_other()

    def test_metrics_say_who_leads(self):
        fleet = self.strict()
        was = self.leader(fleet)
        self.assertEqual(1, was.metric("voter_leads"))
        began = boot_now()
        restart = self.kill(was)
        alive = [node for node in self.kafka.voters(fleet.topic) if node.child]

        def said():
            leads = [node.metric("voter_leads") for node in alive]
            overdue = [node.metric("voter_followers_overdue") for node in alive]
            return leads == overdue and sum(leads) == 1 and all(node.is_ready() for node in alive)
        wait_until(said, 20, "one says that it leads, and that a voter does not answer it")
        self.assertGreater(sum(node.metric("voter_store_seconds_count") for node in alive), 0)
        restart()
        fleet.rest()
        fleet.disturb(began, boot_now())
        self.assert_clean(fleet)

    def test_an_owner_and_the_leading_voter_at_once(self):
        fleet = self.strict()
        since = boot_now()
        fleet.owners[0].kill()
        self.kill(self.leader(fleet))
        fleet.rest()
        self.kafka.start()
        self.leave(fleet)
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assert_clean(fleet)

    def test_two_of_three(self):
        """There is no majority."""
        self.live_without_majority()

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
        records = self.records(fleet)
        self.kafka.stop()
        self.kafka.start()
        fleet.rest()
        fleet.disturb(since, boot_now())
        self.assertEqual(known, self.kafka.topic(fleet.topic))
        self.assert_nothing_lost(fleet, records)
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
