#!/usr/bin/python3
"""Wrong input that only a broker can show to be wrong: section 8's exit code, a message that says
which setting, and no harm to those who run."""
import socket

import case
from case import run_tool
from harness.children import wait_until
from harness.kafka_broker import free_ports


class Refusals(case.KafkaCase):
    """Exit 2 and 3, and route's 1."""

    def refused(self, what, code, words, subcommand="run", positional=(), **options):
        """Runs the tool to its end; its exit code, and every word in what it wrote to stderr."""
        wanted = {"brokers": self.kafka.bootstrap, "slots": 256, **case.protocol().options,
                  **options}
        if subcommand == "run":
            wanted.setdefault("endpoint", "127.0.0.1:7999")
            wanted.setdefault("group", wanted["topic"])
        else:
            wanted.pop("session", None)
        done = run_tool(subcommand, *positional, limit=25.0, **wanted)
        self.assertEqual(done.code, code, f"{what}: {done}")
        for word in words:
            self.assertIn(word.lower(), done.err.lower(), f"{what}: {done}")
        self.note(f"{what}: exit {done.code}: {done.err.strip().splitlines()[-1:]}")
        return done

    def make(self, topic, partitions=16, **config):
        """A topic made by somebody else."""
        self.kafka.admin.create_topic(topic, partitions, **config)
        return topic

    def test_topic_with_another_partition_count(self):
        """With an assigner the number is the members' own: an owner's records tell it."""
        topic = self.make("count", 16)
        if case.protocol().grouped:
            self.refused("64 wanted, 16 there", 2, ["partitions", "16", "64"], topic=topic,
                         partitions=64)
        else:
            self.refused("more than there are slots", 2, ["partitions", "512", "slots", "256"],
                         topic=topic, partitions=512)
            self.refused("fewer than there are logs", 2, ["logs", "4", "2"],
                         topic=self.make("two", 2), partitions=16, logs=4)
        fleet = self.fleet(16, 256, topic=topic)
        self.start_rested(fleet, 1)
        if not case.protocol().grouped:
            self.refused("64 wanted, 16 in force", 2, ["partitions", "16", "64"], topic=topic,
                         partitions=64)
        self.refused("watch too", 2, ["partitions", "16", "64"], "watch", topic=topic,
                     partitions=64, once=True)
        self.refused("route too", 2, ["partitions", "16", "64"], "route", topic=topic,
                     partitions=64, positional=["key"])
        fleet.rest()
        self.assert_clean(fleet)

    def test_topic_configuration(self):
        self.refused("compacted", 2, ["cleanup.policy", "compact"], partitions=16,
                     topic=self.make("compacted", cleanup_policy="compact"))
        self.refused("compacted and deleted", 2, ["cleanup.policy"], partitions=16,
                     topic=self.make("both", cleanup_policy="compact,delete"))
        self.refused("keeps less than 10 T", 2, ["retention"], partitions=16,
                     topic=self.make("short", retention_ms=1000))
        self.refused("CreateTime in exclusive mode", 2, ["message.timestamp.type", "LogAppendTime"],
                     partitions=16, mode="exclusive",
                     topic=self.make("created", message_timestamp_type="CreateTime"))

    def test_a_topic_with_create_time_is_warned_of(self):
        topic = self.make("unstamped", 16, message_timestamp_type="CreateTime")
        owner = self.fleet(partitions=16, witness=False, topic=topic).start()
        wait_until(lambda: "stamps CreateTime" in owner.error_tail(), 30.0,
                   lambda: f"CreateTime named\n{owner.error_tail()}")

    def test_a_topic_that_would_not_fit_is_not_made(self):
        for what, words, options in (("slots", ["10", "64"], {"slots": 10}),
                                     ("logs", ["100", "64"], {"logs": 100}),
                                     ("lease", ["1200000"], {"lease": "20m"})):
            topic = f"never-{what}"
            self.refused(what, 2, words, topic=topic, **options)
            self.refused("and is not there", 2, ["does not exist"], "watch", topic=topic, once=True,
                         timeout="3s")

    def test_a_topic_too_small_for_a_record_is_told(self):
        topic = self.make("tiny", 16, max_message_bytes=100)
        fleet = self.fleet(partitions=16, witness=False, topic=topic)
        owner = fleet.start()
        wait_until(lambda: "max.message.bytes" in owner.error_tail(), 30.0,
                   lambda: f"the topic's limit named\n{owner.error_tail()}")

    def test_second_process_with_other_settings(self):
        """It is told the field and both values; those that run never notice."""
        fleet = self.fleet(partitions=16, witness=False)
        self.start_rested(fleet, 2)

        def changes():
            """`released` only says that an answer came, which may be late."""
            return [row for owner in fleet.owners for row in owner.events.rows
                    if row["event"] != "released"]
        before = len(changes())
        mine = {"topic": fleet.defaults["topic"], "group": fleet.group, "partitions": 16}
        self.refused("other slots", 2, ["slots", "256", "512"], slots=512, **mine)
        self.refused("other hash", 2, ["hash", "xxh3", "crc16"], hash="crc16", **mine)
        self.refused("other mode", 2, ["mode", "exclusive", "non_exclusive"], mode="exclusive",
                     **mine)
        self.refused("other logs", 2, ["logs", "4", "2"], logs=2, **mine)
        self.refused("other group", 2, ["group"], **{**mine, "group": "another"})
        self.refused("other source", 2, ["assignment", "group", "assigner"],
                     **{**mine, **self.other_source()})
        if case.protocol().grouped:
            self.refused("the default", 2, ["start with --assignment group"],
                         **{**mine, "assignment": None, "session": None})
        if not case.protocol().grouped:
            self.refused("other partitions", 2, ["partitions", "16", "64"],
                         **{**mine, "partitions": 64})
        fleet.rest()
        self.assertEqual(changes()[before:], [], "a refused process moved something")
        self.assert_clean(fleet)

    @staticmethod
    def other_source():
        """The options by which the other one of group and assigner would assign."""
        if case.protocol().grouped:
            return {"assignment": "assigner", "session": None}
        return {"assignment": "group", "session": None, "partitions": None}  # the topic's

    def test_leases(self):
        """A lease that breaks its bound, against the session in force."""
        session = case.protocol().session_ms
        self.refused("exclusive T + e >= session", 2, ["lease", "session"], topic="lease",
                     partitions=16, mode="exclusive", lease=f"{session + 100}ms")
        self.refused("non-exclusive T below its bound", 2, ["lease", "session"], topic="lease",
                     partitions=16, lease=f"{session + 100}ms")
        if case.protocol().grouped:
            self.refused("3 x interval > T", 2, ["interval", "lease"], topic="lease",
                         partitions=16, lease="9s", interval="4s")
            return
        # Of a member three renewals fall into its session, and its lease outlasts two sessions.
        self.refused("3 x interval > session", 2, ["interval", "session", "600", str(session)],
                     topic="lease", partitions=16, lease="9s", interval="200ms")
        self.refused("3 x interval > T", 2, ["interval", "lease", "450", "300"], topic="lease",
                     partitions=16, mode="exclusive", lease="300ms", interval="150ms")
        self.refused("T below two sessions", 2, ["lease", str(2 * session + 149), "session"],
                     topic="lease", partitions=16, lease=f"{2 * session + 149}ms")

    def test_session(self):
        """The broker's in the consumer protocol, the member's in classic, but not below 2 s; the
        member's with an assigner, but not below 300 ms."""
        if case.protocol().name == "consumer":
            self.refused("--session against the broker's", 2,
                         ["consumer.session.timeout.ms", "500", "700"], topic="session",
                         partitions=16, session="700ms")
        elif case.protocol().name == "classic":
            self.refused("--session below 2 s", 2, ["session"], topic="session", partitions=16,
                         session="1s")
        else:
            self.member_session()

    def member_session(self):
        """An assigner's: its bounds, and what is of groups only."""
        wanted = {"topic": "session", "partitions": 16}
        self.refused("--session below 300 ms", 2, ["session", "300 ms", "299 ms"], session="299ms",
                     **wanted)
        self.refused("--session above 10 min", 2, ["session", "600000 ms"], session="601s",
                     **wanted)
        self.refused("--hang-limit", 2, ["hang-limit", "session"], hang_limit="5s", **wanted)
        self.refused("--group-protocol", 2, ["group-protocol", "assigner"],
                     group_protocol="classic", **wanted)
        self.refused("--weight above 1000", 2, ["weight", "1000"], weight=1001, **wanted)
        self.refused("a property of groups", 2, ["partition.assignment.strategy"],
                     X="partition.assignment.strategy=range", **wanted)
        fleet = self.fleet(16, 256, topic="session", session="300ms")
        self.start_rested(fleet, 1)  # alone, so that no delay of the machine passes for a death
        self.assert_clean(fleet)

    def test_nobody_owns_anything(self):
        """An idle but answering ledger is `unowned`: the answer is no, not unknown."""
        topic = self.make("idle", 16)
        done = self.refused("nobody there", 1, [], "route", topic=topic, partitions=16,
                            positional=["key"], json=True)
        self.assertEqual([row["verdict"] for row in done.rows()], ["unowned"])

    def test_unreachable_and_silent(self):
        """Exit 3 once --timeout is over, whether nobody listens or somebody who says nothing."""
        port, = free_ports(1)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(64)
            for number in (port, silent.getsockname()[1]):
                place = {"brokers": f"127.0.0.1:{number}", "topic": "x", "partitions": 16,
                         "timeout": "2s"}
                self.refused("unreachable", 3, [str(number)], **place)
                self.refused("unreachable", 3, [str(number)], "route", positional=["key"], **place)
                self.refused("unreachable", 3, [str(number)], "watch", once=True, **place)


if __name__ == "__main__":
    case.main()
