#!/usr/bin/python3
"""`neliroute audit` on real Kafka, whose broker stamps every record: what honest processes write is
clean, what is forged is found by its offsets, and what retention took is said. And on other stores.
"""
import datetime

import case
from harness.children import wait_until

LOGS = 4 if case.protocol().on_kafka else 1
LEASE = 1000
INC = 4_000_000_000_000  # later than any clock here, so a claim's inc is the one in it


def forged(kind, seq, who, lparts, **more):
    """A record as process `who` would write it in exclusive mode."""
    return {"v": 2, "t": kind, "lane": 0, "id": f"{who:016x}", "seq": seq, "inc": INC,
            "lparts": lparts, "lease_ms": LEASE, "max_ms": LEASE, "by": f"forger-{who}",
            "at": "x:1", "group": "g", "slots": 256, "partitions": 32, "logs": LOGS,
            "hash": "xxh3", "mode": "exclusive", "tags": {}, **more}


class Audit(case.KafkaCase):
    """The topic alone tells."""

    def test_honest_processes(self):
        """Joins, a leave and a kill: no finding. In non-exclusive mode nobody is killed: a machine
        that is slow to notice leaves a gap, which would be found."""
        for mode in ("exclusive", "non_exclusive"):
            with self.subTest(mode=mode):
                fleet = self.fleet(topic=f"honest-{mode}".replace("_", "-"), mode=mode)
                self.start_rested(fleet, 2)
                fleet.start()
                fleet.rest()
                fleet.owners[0].leave()
                fleet.rest()
                if mode == "exclusive":
                    fleet.owners[1].kill()
                    fleet.rest()
                found, rows, done = self.audit(fleet.topic)
                self.assertEqual([], found, done)
                totals = rows[-1]
                self.assertEqual((totals["processes"], totals["broker_time"]),
                                 (3, case.protocol().stamped), done)
                self.assertGreater(totals["ownerships"], 32, done)  # all of them, and some moved
                self.note(f"{mode}: {totals}")
                self.assert_clean(fleet)

    def test_forged(self):
        """One who leads within another's lease, one who leads on, and an epoch that falls."""
        topic = self.topic()
        self.kafka.admin.create_topic(topic, 32)
        produce = self.kafka.admin.produce
        claim, = produce(topic, 0, forged("claim", 1, 1, "0"))
        led, = produce(topic, 0, forged("renewal", 2, 1, {str(claim): "0"}, leading="0",
                                        draining=""))
        newer, = produce(topic, 0, forged("claim", 1, 2, "0"))
        early, = produce(topic, 0, forged("renewal", 2, 2, {str(newer): "0"}, leading="0",
                                          draining=""))
        own, = produce(topic, 0, forged("claim", 3, 1, "1"))  # partition 4, or 1
        both, = produce(topic, 0, forged("renewal", 4, 1, {str(claim): "0", str(own): "1"},
                                         leading="0", draining=""))
        fallen, = produce(topic, 0, forged("claim", 3, 2, "0", inc=INC - 1))
        low, = produce(topic, 0, forged("renewal", 4, 2, {str(fallen): "0"}, leading="0",
                                        draining="", inc=INC - 1))
        found, _, done = self.audit(topic)
        shown = [(row["finding"], [one["offset"] for one in row["evidence"]]) for row in found]
        if case.protocol().stamped:
            self.assertIn(("early_leader", [led, early]), shown, done)
        self.assertIn(("overlap", [led, early, both]), shown, done)
        self.assertIn(("epoch_fell", [early, low]), shown, done)
        self.assertEqual({row["partitions"] for row in found}, {"0"}, done)
        self.check_since(topic)

    def check_since(self, topic):
        """From a time on: only what is younger is read."""
        records = self.kafka.admin.read(topic, 0)
        after = records[-1]["timestamp"]
        # The clock of this machine is the broker's.
        wait_until(lambda: self.audit(topic, since="1ms")[1][-1]["records"] == 0, 10,
                   "a millisecond after the last record")
        _, rows, done = self.audit(topic, since=_text_of(after))
        self.assertEqual(rows[-1]["records"],
                         sum(1 for record in records if record["timestamp"] >= after), done)
        self.assertEqual([row["cut_short"] for row in rows if "low" in row], [False], done)
        if case.protocol().on_kafka:
            self.check_retention(topic)

    def check_retention(self, topic):
        """What it took is said."""
        self.kafka.admin.delete_records(topic, 0, 3)
        found, rows, done = self.audit(topic)
        self.assertEqual([(row["low"], row["start"], row["cut_short"]) for row in rows
                          if "low" in row], [(3, 3, True)], done)
        self.assertNotIn("early_leader", {row["finding"] for row in found}, done)
        text = case.run_tool("audit", brokers=self.kafka.bootstrap, topic=topic)
        self.assertIn("retention cut it short: nothing before offset 3 is left", text.out)


def _text_of(unix_ms):
    """RFC 3339."""
    when = datetime.datetime.fromtimestamp(unix_ms // 1000, datetime.timezone.utc)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{unix_ms % 1000:03}Z"


if __name__ == "__main__":
    case.main()
