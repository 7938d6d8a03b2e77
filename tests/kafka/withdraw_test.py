#!/usr/bin/python3
"""A right is taken from one of two owners while they run: the other one leads everything, and the
first one comes back by itself once it has the right again. With a group it leaves that meanwhile.
"""
import re

import case
from harness.children import wait_until
from harness.kafka_config import OWNER_RIGHTS, Security
from harness.stream import fetch

PARTITIONS = 16
USERS = ("alpha", "beta")


class Users(case.KafkaCase):
    """One broker with ACLs; each owner is a user of its own."""

    @classmethod
    def setUpClass(cls):
        cls.security = Security(*USERS)
        super().setUpClass()

    def owners(self, mode, users=USERS):
        """Two owners at rest, or those of these users."""
        topic = f"{self.topic()}-{mode}".replace("_", "-")
        fleet = self.fleet(PARTITIONS, topic=topic, mode=mode, http="0", json=True)
        for user in USERS:
            for kind, rights in OWNER_RIGHTS.items():
                self.kafka.admin.allow(f"User:{user}", kind, topic, *rights)
            self.kafka.admin.allow(f"User:{user}", "CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS")
        for user in users:
            self.start(fleet, user)
        fleet.rest()
        return fleet

    def start(self, fleet, user):
        """One more owner, which logs in as this user."""
        fleet.env = {"NELIROUTE_X": "\n".join([
            "security.protocol=SASL_SSL", f"sasl.mechanism={self.security.mechanism}",
            f"ssl.ca.location={self.security.ca_file}", f"sasl.username={user}",
            f"sasl.password={self.security.users[user]}"])}
        return fleet.start(name=user)

    @staticmethod
    def metric(owner, series):
        """What its admin port says now."""
        page = fetch(f"http://{case.address_of(owner)}/metrics")
        found = re.findall(rf"(?m)^neliroute_{series} (\S+)$",
                           re.sub(r'(?:process|group|topic|lane)="[^"]*",?', "", page)
                           .replace(",}", "}").replace("{}", ""))
        return float(found[0])

    def others_lead_all(self, fleet, other, what):
        """Waits for it; it goes on as long as the right is missing."""
        def leads_all():
            fleet.refresh()
            return len(other.leading) == PARTITIONS
        began = case.boot_now()
        wait_until(leads_all, 60, lambda: f"the other one leads all\n{fleet.describe()}")
        self.note(f"{what}: led elsewhere after {case.boot_now() - began:.2f} s")

    def returned(self, fleet, refused, right, within=60):
        """It has the right again: then it leads again, and nothing went wrong."""
        self.kafka.admin.deny_no_more(f"User:{refused.name}", "TOPIC", fleet.defaults["topic"],
                                      right)
        fleet.rest(within)
        self.assertTrue(refused.leading, "it comes back by itself")


class Withdraw(Users):
    """Kafka's group assigns: it knows nothing of rights on the topic, so who lacks one leaves."""

    def take_and_give_back(self, mode, right):
        """The story, with this right."""
        fleet = self.owners(mode)
        refused, other = fleet.owners
        before = len(refused.error_tail(10_000_000))
        self.kafka.admin.deny("User:alpha", "TOPIC", fleet.defaults["topic"], right)
        self.judge(fleet, refused, other, before, f"{mode}, {right}")
        self.give_back(fleet, refused, right)

    def judge(self, fleet, refused, other, before, what):
        """The other one leads, and the one that is refused said why."""
        self.others_lead_all(fleet, other, what)
        said = refused.error_tail(10_000_000)[before:]
        self.assertIn("the broker refuses", said)
        self.assertIn("leaves the group", said)
        self.assertGreaterEqual(self.metric(refused, 'withdrawals_total{reason="refused"}'), 1)
        self.assertEqual(self.metric(refused, 'withdrawals_total{reason="out_of_reach"}'), 0)
        self.assertEqual(self.metric(other, 'withdrawals_total{reason="refused"}'), 0)

    def give_back(self, fleet, refused, right):
        """Then it leads again, and nothing went wrong."""
        self.returned(fleet, refused, right)
        self.assertEqual(self.metric(refused, "withdrawn"), 0)
        self.assert_clean(fleet)

    def test_the_right_to_write(self):
        self.take_and_give_back("non_exclusive", "WRITE")
        self.take_and_give_back("exclusive", "WRITE")

    def test_the_right_to_read(self):
        self.take_and_give_back("exclusive", "READ")

    def test_one_that_was_alone_when_it_was_refused_leaves_once_another_comes(self):
        """By then the broker has refused its producer some times, so it mostly has none.

        The first of these tests by name: with WRITE on another topic a producer gets its id.
        """
        fleet = self.owners("exclusive", USERS[:1])
        refused = fleet.owners[0]
        before = len(refused.error_tail(10_000_000))
        self.kafka.admin.deny("User:alpha", "TOPIC", fleet.defaults["topic"], "WRITE")
        wait_until(lambda: "stays in the group" in refused.error_tail(10_000_000), 30, "it stays")
        # Nothing shows how often it was refused: it gives up the first producer after 5 s, and once
        # five were refused, each after a pause twice as long, it has none for seconds.
        began = case.boot_now()
        wait_until(lambda: case.boot_now() > began + 13, 20, "its producers come rarely")
        other = self.start(fleet, "beta")
        self.judge(fleet, refused, other, before, "alone at first")
        self.give_back(fleet, refused, "WRITE")


class Assigned(Users):
    """A member assigns: who cannot write is silent, so dead; who cannot read lives and leads
    nothing, so others are named instead of it."""

    def take_and_give_back(self, mode, right, assigns):
        """The story of the member that assigns, or of the other one."""
        fleet = self.owners(mode)
        refused, other = sorted(fleet.owners, reverse=assigns,
                                key=lambda owner: self.metric(owner, "assigner"))
        self.assertEqual(self.metric(refused, "assigner"), assigns)
        self.kafka.admin.deny(f"User:{refused.name}", "TOPIC", fleet.defaults["topic"], right)
        self.others_lead_all(fleet, other, f"{mode}, {right}, {'' if assigns else 'not '}assigning")
        self.assertEqual(self.metric(other, "assigner"), 1)
        self.assertEqual(self.metric(other, "member_deaths_total") > 0, right == "WRITE")
        # Whoever lived and did not lead what it was named for gets nothing of a log for a minute.
        self.returned(fleet, refused, right, within=180)
        # The seat does not go back, unless its holder fell behind, as on a busy machine.
        if self.metric(other, "assigner") != 1:
            self.assertIn("reads its logs worse than", other.error_tail(10_000_000))
        self.assert_clean(fleet)

    def test_the_right_to_write(self):
        self.take_and_give_back("non_exclusive", "WRITE", False)
        self.take_and_give_back("exclusive", "WRITE", True)

    def test_the_right_to_read(self):
        self.take_and_give_back("non_exclusive", "READ", True)
        self.take_and_give_back("exclusive", "READ", False)


def load_tests(loader, _tests, _pattern):
    """Those of the source of assignments that this run is about."""
    return loader.loadTestsFromTestCase(Withdraw if case.protocol().grouped else Assigned)


if __name__ == "__main__":
    case.main()
