#!/usr/bin/python3
"""A member of the consumer protocol and one of the classic protocol, which somebody takes by itself
who may not read the broker's configuration: the group refuses the former in words that say what to
do, and lets it in once the latter has gone."""
import case
from harness.children import wait_until


class MixedProtocols(case.KafkaCase):
    """Kafka 4.1, which has both."""

    def test_who_speaks_another_protocol_is_told_what_to_do(self):
        fleet = self.fleet(partitions=8)
        first = fleet.start()
        fleet.rest()  # so the group is of its protocol
        classic = fleet.start(group_protocol="classic", session="6s", profile=None)
        fleet.rest()
        first.leave()  # what is left is a classic group, which the broker does not turn back
        self.assertEqual(first.wait_exit(), 0, first.error_tail())
        third = fleet.start()
        wait_until(lambda: "GROUP_ID_NOT_FOUND" in third.error_tail(), 30.0, third.error_tail)
        said = third.error_tail(10_000_000)
        self.assertIn("another group protocol than consumer", said)
        self.assertIn("give all processes the same --group-protocol", said)
        classic.leave()
        self.assertEqual(classic.wait_exit(), 0, classic.error_tail())
        wait_until(lambda: third.refresh() or len(third.leading) == 8, 40.0, third.error_tail)
        said = third.error_tail(10_000_000)
        self.assertEqual(said.count("another group protocol"), 1, "told once, and it came back")
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
