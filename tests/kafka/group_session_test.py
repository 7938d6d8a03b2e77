#!/usr/bin/python3
"""The session of a Kafka 4 group: set where the broker allows it and the group is nobody's yet, and
otherwise told, with what to do."""
import case
from harness.children import wait_until
from harness.kafka_config import Security
from harness.process import run_tool
from security_test import by_environment, properties

STOCK = {"group.min.session.timeout.ms": 6_000,
         "group.consumer.session.timeout.ms": 45_000,
         "group.consumer.min.session.timeout.ms": 45_000,
         "group.consumer.heartbeat.interval.ms": 5_000,
         "group.consumer.min.heartbeat.interval.ms": 5_000}
LOWERED = {**STOCK, "group.consumer.min.session.timeout.ms": 1000,
           "group.consumer.min.heartbeat.interval.ms": 100}


class SessionCase(case.KafkaCase):
    """What both brokers' cases do."""

    def wanted(self, **options):
        """A run on a topic and group of this test's own."""
        return {"brokers": self.kafka.bootstrap, "topic": self.topic(), "group": self.topic(),
                "partitions": 16, "slots": 256, "endpoint": "127.0.0.1:7999",
                "assignment": "group", **options}

    def assert_refused(self, words, env=None, **options):
        """It ends with exit code 2, and says all these words."""
        done = run_tool("run", limit=25.0, env=env, **self.wanted(**options))
        self.assertEqual(done.code, 2, done)
        for word in words:
            self.assertIn(word, done.err)

    def owner(self, **options):
        """A fleet with one owner that leads all."""
        fleet = self.fleet(16, witness=False, profile=None, **options)
        self.start_rested(fleet, 1)
        return fleet, fleet.owners[0]


class Stock(SessionCase):
    """Session 45 s and no less, as Kafka comes."""
    broker_properties = STOCK

    def test_says_how_long_slots_are_unowned_and_the_ways_out(self):
        _, owner = self.owner()
        line = [line for line in owner.error_tail().splitlines() if "no owner for" in line]
        self.assertEqual(len(line), 1, owner.error_tail())
        for word in ("45000 ms", "server.properties", "group.consumer.min.session.timeout.ms=3000",
                     f"--bootstrap-server {self.kafka.bootstrap}",
                     "--group-protocol classic --session 6000ms"):
            self.assertIn(word, line[0])

    def test_the_way_out_that_needs_nobody_works(self):
        _, owner = self.owner(group_protocol="classic", session="6s")
        self.assertNotIn("no owner for", owner.error_tail())

    def test_the_floors_are_told(self):
        self.assert_refused(["45000 ms", "5000 ms", "group.consumer.min.session.timeout.ms=3000",
                             "group.consumer.min.heartbeat.interval.ms=300", "restart"],
                            session="3s")


class Lowered(SessionCase):
    """The broker's session is 45 s, but a group may have a shorter one."""
    broker_properties = LOWERED

    def test_an_empty_group_gets_the_session_that_is_asked_for(self):
        fleet, owner = self.owner(session="3s")
        self.assertIn("set consumer.session.timeout.ms=3000 and consumer.heartbeat.interval.ms=300",
                      owner.error_tail())
        second = fleet.start()
        fleet.rest()
        self.assertNotIn("set consumer.session", second.error_tail())
        victim = fleet.live()[0]
        victim.kill()
        fleet.wait_led(timeout=15.0)  # and it is in force
        self.assert_refused(["settings of its own", "kafka-configs.sh"], session="2s")

    def test_a_group_with_members_keeps_its_session(self):
        _, owner = self.owner()
        self.assertIn("no owner for", owner.error_tail())
        self.assertNotIn("server.properties", owner.error_tail())
        self.assert_refused(["has members", "kafka-configs.sh"], session="3s")

    def test_a_group_with_settings_of_its_own_keeps_them(self):
        self.kafka.admin.alter_group(self.topic(), consumer_session_timeout_ms=30_000)
        self.assert_refused(["30000 ms", "settings of its own"], session="3s")

    def test_more_than_is_in_force_is_not_set(self):
        self.assert_refused(["45000 ms", "consumer.session.timeout.ms"], session="50s")


class NoRight(SessionCase):
    """An owner that may read the group's configuration, but not change it."""
    broker_properties = LOWERED
    TOPIC = "no-right"

    def topic(self):
        return self.TOPIC

    @classmethod
    def setUpClass(cls):
        cls.security = Security("owner")
        super().setUpClass()
        admin = cls.kafka.admin
        for name in ("TOPIC", "GROUP"):
            admin.allow("User:owner", name, cls.TOPIC, "ALL")
        admin.deny("User:owner", "GROUP", cls.TOPIC, "ALTER_CONFIGS")
        admin.allow("User:owner", "CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS")

    def test_a_right_that_is_missing_is_named(self):
        env = by_environment(properties(self.security, "owner"))
        self.assert_refused(["AUTHORIZATION_FAILED", "ALTER_CONFIGS", "kafka-configs.sh"], env=env,
                            session="3s")
        self.kafka.admin.deny_no_more("User:owner", "GROUP", self.topic(), "ALTER_CONFIGS")
        fleet = self.fleet(16, witness=False, profile=None, session="3s")
        fleet.env = env
        tries = [fleet.start()]

        def set_by_one():
            # A broker goes by the old rights until it has read of the new ones.
            if not tries[-1].running():
                tries.append(fleet.start())
            return "set consumer.session.timeout.ms=3000" in tries[-1].error_tail()
        wait_until(set_by_one, 30.0, lambda: tries[-1].error_tail())


if __name__ == "__main__":
    case.main()
