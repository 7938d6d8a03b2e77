#!/usr/bin/python3
"""Variation `broadcast`, the NELI paper's own, on real Kafka: by event logs and witnesses."""
import case
from case import boot_now
from harness import checker, children

PARTITIONS = 16


def long_lease():
    """Nobody serves on here when a lease lapses, as T is all that the paper knows: where a test
    looks for gaps, T is longer than a busy machine stands still; and than the session."""
    return f"{case.protocol().session_ms + 2500}ms"


class Broadcast(case.KafkaCase):
    """What holds as long as the paper's assumptions do: clocks are one, sessions are honoured."""

    def test_non_exclusive_life(self):
        """Joins, a leave and a kill: nothing is unled but after the kill; overlaps are wanted."""
        fleet = self.fleet(PARTITIONS, variation="broadcast", lease=long_lease())
        fleet.start()
        fleet.rest()
        since = boot_now()
        fleet.start()
        fleet.rest()
        fleet.start()
        state = fleet.rest()
        self.check_found(fleet, state)
        leaver = fleet.live()[0]
        leaver.leave()
        fleet.rest()
        self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
        instant = fleet.live()[0].kill()
        fleet.rest()
        fleet.disturb(instant, boot_now())
        self.assert_clean(fleet, since, boot_now())

    def check_found(self, fleet, state):
        """By the claims that travel beside the records, callers find who leads."""
        names = {owner.key: owner.name for owner in fleet.owners}
        expected = {partition: names[key] for partition, key in state.items()}
        def seen():
            answer = self.lookup(fleet, "watch", once=True, json=True)
            return {row["partition"]: row.get("owner") for row in answer.rows()}
        children.wait_until(lambda: seen() == expected, 15, "hints say what the logs say")

    def test_exclusive_never_two(self):
        """Changes of leader by joins, leaves and kills, and never two leaders of anything."""
        fleet = self.fleet(PARTITIONS, variation="broadcast", mode="exclusive")
        state = self.start_rested(fleet, 2)
        since = boot_now()
        seen = 0
        while seen < (100 if case.full() else 24):
            for act in (fleet.start, self.leave, fleet.start, self.kill):
                act() if act == fleet.start else act(fleet)
                before, state = state, fleet.rest()
                seen += len(checker.moved(before, state))
        self.assert_clean(fleet, since, boot_now())

    def test_two_groups_share_a_topic(self):
        """Each leads all of it for itself, at half the frequency; without claims beside."""
        options = {"variation": "broadcast", "no_hints": True, "groups": 2, "lease": long_lease()}
        first = self.fleet(PARTITIONS, topic="shared", group="first", **options)
        second = self.fleet(PARTITIONS, topic="shared", group="second", **options)
        self.start_rested(first, 2)
        self.start_rested(second, 1)
        since = boot_now()
        first.start()
        first.rest()
        second.start()
        second.rest()
        self.assert_clean(first, since, boot_now())
        self.assert_clean(second)
        for partition in range(PARTITIONS):
            records = self.kafka.admin.read("shared", partition)
            self.assertGreater(len(records), 10)
            self.assertEqual({record["value"] for record in records}, {None})

    def test_more_partitions_are_an_error(self):
        """M is a constant: exclusive processes end, the others say so and go on."""
        bold = self.fleet(PARTITIONS, topic="bold", variation="broadcast", lease=long_lease(),
                          witness=False)
        careful = self.fleet(PARTITIONS, topic="careful", variation="broadcast", mode="exclusive",
                             witness=False)
        self.start_rested(bold, 1)
        self.start_rested(careful, 1)
        for topic in ("bold", "careful"):
            self.kafka.admin.add_partitions(topic, PARTITIONS + 4)
        owner = careful.owners[0]
        owner.left = True  # it is to end by itself
        self.assertEqual(owner.wait_exit(), 2, owner.error_tail())
        said = f"{PARTITIONS + 4} partitions, but this process runs with {PARTITIONS}"
        self.assertIn(said, owner.error_tail())
        owner = bold.owners[0]
        children.wait_until(lambda: "this process runs with" in owner.error_tail(), 20,
                            owner.error_tail)
        owner.refresh()
        self.assertEqual(sorted(owner.leading), list(range(PARTITIONS)))


if __name__ == "__main__":
    case.main()
