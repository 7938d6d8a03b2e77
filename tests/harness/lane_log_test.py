#!/usr/bin/python3
"""What LaneLog takes from log 0."""
import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness.lane_log import LaneLog, numbers  # noqa: E402


class Log0:
    """Kafka's administration, of one topic."""

    def __init__(self):
        self.made, self.records = 1, []

    def topic(self, _):
        """As KafkaAdmin's."""
        return {"id": self.made}

    def read(self, _topic, partition, offset=0):
        """As KafkaAdmin's."""
        assert partition == 0
        return [{"offset": at, "timestamp": 1000 + at, "value": value}
                for at, value in enumerate(self.records) if at >= offset]

    def make_again(self):
        """The topic, with nothing in it."""
        self.made, self.records = self.made + 1, []

    def write(self, kind, who, lane=0, **fields):
        """A record at the end."""
        self.records.append(json.dumps({"t": kind, "id": who, "lane": lane, **fields}).encode())


class LaneLogTest(unittest.TestCase):
    """Members a and b."""

    def setUp(self):
        self.log0 = Log0()
        self.lane = LaneLog(self.log0, "topic")

    def test_the_newest_claim_holds_the_seat_and_names_designees(self):
        self.log0.write("seat_claim", "a")
        self.log0.write("assign", "a", seat="17:0", to={"a": "0-2", "b": "3,5-6"})
        self.assertEqual(self.lane.read(), 2)
        self.assertEqual(self.lane.assigner, "a")
        self.assertEqual(self.lane.designees,
                         {0: "a", 1: "a", 2: "a", 3: "b", 5: "b", 6: "b"})
        self.log0.write("seat_claim", "b")
        self.log0.write("assign", "a", seat="17:0", to={"a": "3"})
        self.log0.write("assign", "b", seat="17:0", to={"a": "5"})
        self.log0.write("assign", "b", seat="19:2", to={"b": "0"})
        self.assertEqual(self.lane.read(), 4)
        self.assertEqual((self.lane.designees[3], self.lane.designees[5]), ("b", "b"), "stale")
        self.assertEqual(self.lane.designees[0], "b")
        self.assertEqual([row["offset"] for row in self.lane.kept], [0, 1, 2, 3, 4, 5])

    def test_a_claim_that_replaces_an_older_one_comes_too_late(self):
        self.log0.write("seat_claim", "a")
        self.log0.write("seat_claim", "b", seat="17:0")
        self.log0.write("seat_claim", "c", seat="17:0")
        self.lane.read()
        self.assertEqual(self.lane.assigner, "b")
        self.log0.write("seat_claim", "c", seat="18:1")
        self.lane.read()
        self.assertEqual(self.lane.assigner, "c")

    def test_names_are_those_that_were_given_last(self):
        self.log0.write("renewal", "a", by="alpha")
        self.log0.write("seat_claim", "b", by="beta")
        self.log0.write("renewal", "a")
        self.log0.write("renewal", "c", by="other", lane=1)
        self.lane.read()
        self.assertEqual(self.lane.names, {"a": "alpha", "b": "beta"})
        self.log0.write("renewal", "a", by="gamma")
        self.lane.read()
        self.assertEqual(self.lane.names["a"], "gamma")

    def test_members_are_heard_by_their_renewals(self):
        self.log0.write("renewal", "a", member={})
        self.log0.write("renewal", "b")
        self.log0.write("renewal", "b", lane=1, member={})
        self.log0.records += [b"no record of ours", None, b"[]"]
        self.lane.read()
        self.assertEqual(self.lane.heard, {"a": 0})
        self.assertEqual(self.lane.end(), 6)
        self.assertEqual(self.lane.kept, [])

    def test_a_topic_that_is_made_again_is_read_from_its_start(self):
        self.log0.write("renewal", "a", member={})
        self.log0.write("seat_claim", "a")
        self.log0.write("assign", "a", seat="1:1", to={"a": "0"})
        self.lane.read()
        self.log0.make_again()
        self.assertEqual(self.lane.read(), 0)
        self.assertEqual((self.lane.assigner, self.lane.heard), (None, {}))
        self.assertEqual(self.lane.designees, {0: "a"}, "members keep them, too")
        self.log0.write("seat_claim", "b")
        self.lane.read()
        self.assertEqual(self.lane.assigner, "b")

    def test_ranges(self):
        self.assertEqual(numbers(""), [])
        self.assertEqual(numbers("0-2,7"), [0, 1, 2, 7])


if __name__ == "__main__":
    unittest.main()
