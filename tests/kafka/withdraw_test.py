#!/usr/bin/python3
"""A right is taken from one of two owners while they run: it leaves the group, the other one leads
everything, and it comes back by itself once it has the right again.
"""
import re

import case
from harness.children import wait_until
from harness.kafka_config import Security
from harness.process import LineFile
from harness.stream import fetch

PARTITIONS = 16
USERS = ("alpha", "beta")


class Withdraw(case.KafkaCase):
    """One broker with ACLs; each owner is a user of its own."""

    @classmethod
    def setUpClass(cls):
        cls.security = Security(*USERS)
        super().setUpClass()

    def owners(self, mode):
        """Two owners at rest."""
        topic = f"{self.topic()}-{mode}".replace("_", "-")
        fleet = self.fleet(PARTITIONS, topic=topic, mode=mode, http="0", json=True)
        for user in USERS:
            for kind, name, rights in (
                    ("TOPIC", topic, ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")),
                    ("GROUP", topic, ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")),
                    ("CLUSTER", "kafka-cluster", ("DESCRIBE_CONFIGS",))):
                self.kafka.admin.allow(f"User:{user}", kind, name, *rights)
            fleet.env = {"NELIROUTE_X": "\n".join([
                "security.protocol=SASL_SSL", f"sasl.mechanism={self.security.mechanism}",
                f"ssl.ca.location={self.security.ca_file}", f"sasl.username={user}",
                f"sasl.password={self.security.users[user]}"])}
            fleet.start(name=user)
        fleet.rest()
        return fleet

    @staticmethod
    def metric(owner, series):
        """What its admin port says now."""
        said = LineFile(owner.output)
        address = next(row["http"] for row in said.read() if "http" in row)
        found = re.findall(rf"(?m)^neliroute_{series} (\S+)$",
                           re.sub(r'(?:process|group|topic|lane)="[^"]*",?', "",
                                  fetch(f"http://{address}/metrics")).replace(",}", "}")
                           .replace("{}", ""))
        return float(found[0])

    def take_and_give_back(self, mode, right):
        """The story, with this right."""
        fleet = self.owners(mode)
        topic, admin = fleet.defaults["topic"], self.kafka.admin
        refused, other = fleet.owners
        before = len(refused.error_tail(10_000_000))
        admin.deny("User:alpha", "TOPIC", topic, right)

        def others_lead_all():
            fleet.refresh()
            return len(other.leading) == PARTITIONS
        began = case.boot_now()
        wait_until(others_lead_all, 60, lambda: f"the other one leads all\n{fleet.describe()}")
        self.note(f"{mode}, {right}: led elsewhere after {case.boot_now() - began:.2f} s")
        said = refused.error_tail(10_000_000)[before:]
        self.assertIn("the broker refuses", said)
        self.assertIn("leaves the group", said)
        self.assertGreaterEqual(self.metric(refused, 'withdrawals_total{reason="refused"}'), 1)
        self.assertEqual(self.metric(refused, 'withdrawals_total{reason="out_of_reach"}'), 0)
        self.assertEqual(self.metric(other, 'withdrawals_total{reason="refused"}'), 0)
        admin.deny_no_more("User:alpha", "TOPIC", topic, right)
        fleet.rest()
        self.assertTrue(refused.leading, "it comes back by itself")
        self.assertEqual(self.metric(refused, "withdrawn"), 0)
        self.assert_clean(fleet)

    def test_the_right_to_write(self):
        self.take_and_give_back("non_exclusive", "WRITE")
        self.take_and_give_back("exclusive", "WRITE")

    def test_the_right_to_read(self):
        self.take_and_give_back("exclusive", "READ")


if __name__ == "__main__":
    case.main()
