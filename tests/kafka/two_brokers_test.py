#!/usr/bin/python3
"""Two brokers: the group's coordinator and the ledger's leaders move while owners run."""
import case
from case import boot_now
from harness.children import wait_until

# Of the profile `fast`, in the mode where it is longer.
LEASE_S = 1.5


class TwoBrokers(case.KafkaCase):
    """Node 1 is the controller; node 2 can go."""
    brokers = 2

    def fleets(self):
        """A fleet in each mode, on topics that both brokers keep."""
        made = []
        for mode in ("non_exclusive", "exclusive"):
            topic = f"{self.topic()}-{mode}".replace("_", "-")
            self.kafka.admin.create_topic(topic, 16, replication=2, min_insync_replicas=1)
            made.append(self.fleet(16, topic=topic, mode=mode))
        for fleet in made:
            self.start_rested(fleet, 2)
        return made

    def settle(self, fleets, began):
        """Until everybody is at rest again; what lay between was the test's doing.

        Whose log went away leads on to the end of the lease: rest before that proves nothing.
        """
        over = boot_now() + LEASE_S
        wait_until(lambda: boot_now() > over, 2 * LEASE_S, "the end of the leases of before")
        for fleet in fleets:
            fleet.rest()
        for fleet in fleets:
            fleet.disturb(began, boot_now())

    def test_coordinator_and_ledger_move(self):
        fleets = self.fleets()
        since = boot_now()
        admin = self.kafka.admin
        if case.protocol().grouped:
            other = 3 - admin.group(fleets[0].group)["coordinator"]
            began = boot_now()
            admin.move_leader("__consumer_offsets", 0, other)
            self.settle(fleets, began)
            wait_until(lambda: admin.group(fleets[0].group)["coordinator"] == other, 30.0,
                       "the other coordinator")
        began = boot_now()
        for fleet in fleets:
            topic = fleet.defaults["topic"]
            for log in range(4):
                admin.move_leader(topic, log, 3 - admin.topic(topic)["leaders"][log])
        self.settle(fleets, began)
        for fleet in fleets:
            fleet.start()
            fleet.rest()
            self.assert_clean(fleet, since, boot_now())

    def test_a_broker_leaves_and_returns(self):
        """Node 2 first leads what it can, then it is shut down, later killed, and comes back."""
        fleets = self.fleets()
        since = boot_now()
        if case.protocol().grouped:
            self.kafka.admin.move_leader("__consumer_offsets", 0, 2)
        for grace in (10.0, 0.0):
            began = boot_now()
            self.kafka.stop_node(2, grace)
            self.settle(fleets, began)
            self.kafka.start()
            self.settle(fleets, began)
        for fleet in fleets:
            self.assert_clean(fleet, since, boot_now())


if __name__ == "__main__":
    case.main()
