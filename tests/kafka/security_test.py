#!/usr/bin/python3
"""TLS, SCRAM and the documented ACLs: an owner, and a watcher that may only read the topic.

The password comes by the environment or by a file, and is then in no output, log or command line.
"""
import json
from pathlib import Path

import case
from harness.children import wait_until
from harness.kafka_config import OWNER_RIGHTS, Security
from harness.process import run_tool

TOPIC = "secured"


def properties(security, user, password=None):
    """What librdkafka must know, the secret included. All by one way: -X on the command line would
    replace those of the file and of the environment, not add to them."""
    return ["security.protocol=SASL_SSL", f"sasl.mechanism={security.mechanism}",
            f"ssl.ca.location={security.ca_file}", f"sasl.username={user}",
            f"sasl.password={password or security.users[user]}"]


def by_environment(wanted):
    """The variable of -X, one property a line."""
    return {"NELIROUTE_X": "\n".join(wanted)}


def by_file(folder, wanted):
    """A settings file, as docs/operating.md shows it; its option."""
    path = Path(folder) / "neliroute.conf"
    path.write_text(f"X={json.dumps(wanted)}\n", encoding="utf-8")
    path.chmod(0o600)
    return {"config": path}


def command_lines():
    """Every process' command line on this machine, as anybody could read them by ps."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it ended meanwhile
    return lines


class Secured(case.KafkaCase):
    """One broker with the StandardAuthorizer: what is not allowed is refused."""

    @classmethod
    def setUpClass(cls):
        cls.security = Security("owner", "watcher", "nobody", "member")
        super().setUpClass()
        admin = cls.kafka.admin
        # The ACLs that docs/operating.md names for an owner …
        for kind, granted in OWNER_RIGHTS.items():
            admin.allow("User:owner", kind, TOPIC, *granted)
        admin.allow("User:owner", "CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS")
        # … and for a watcher.
        admin.allow("User:watcher", "TOPIC", TOPIC, "READ", "DESCRIBE")

    def test_assigner_needs_no_right_on_group_or_cluster(self):
        self.kafka.admin.create_topic("assigned", 4)
        self.kafka.admin.allow("User:member", "TOPIC", "assigned", "READ", "WRITE", "DESCRIBE")
        fleet = self.fleet(16, topic="assigned", assignment="assigner",
                           session=f"{2 * case.SLOW}s")
        fleet.env = by_environment(properties(self.security, "member"))
        self.start_rested(fleet, 2)
        missing = [line for line in fleet.owners[0].error_tail().splitlines() if "grant" in line]
        self.assertEqual(len(missing), 1, missing)
        self.assertIn("DESCRIBE_CONFIGS on the topic", missing[0])
        self.override(fleet)
        self.assert_clean(fleet)

    def override(self, fleet):
        """A reader sees what stands and what would move; an override takes the right to write."""
        self.kafka.admin.allow("User:watcher", "TOPIC", "assigned", "READ", "DESCRIBE")
        lane = {"topic": "assigned", "timeout": f"{20 * case.SLOW}s"}
        names = [owner.name for owner in fleet.owners]
        for words, options in ((("overrides",), {}), (("cordon", names[0]), {"dry_run": True})):
            done = self.look("watcher", *words, **lane, **options)
            self.assertEqual(done.code, 0, done)
        self.assertEqual(sum(len(move["partitions"]) > 0 for move in done.rows()[0]["moves"]), 1)
        refused = self.look("watcher", "cordon", names[0], **lane)
        self.assertEqual(refused.code, 2, refused)
        self.assertIn("an override is a record, so it takes an owner's rights", refused.err)
        for verb in ("cordon", "uncordon"):
            done = self.look("member", verb, names[0], **lane)
            self.assertEqual(done.code, 0, done)
            self.assertTrue(done.rows()[0]["moved"], done)

    def secured_fleet(self, filed):
        """Owners whose password comes by the environment or by a file."""
        wanted = properties(self.security, "owner")
        options = by_file(self.folder, wanted) if filed else {}
        fleet = self.fleet(16, topic=TOPIC, log_level="debug", serve_stale="0s", **options)
        if not filed:
            fleet.env = by_environment(wanted)
        return fleet

    def assert_secret_kept(self, fleet, outputs):
        """No password in any file of the fleet, in these outputs, or on a command line."""
        texts = {f"stdout or stderr {i}": text for i, text in enumerate(outputs)}
        for path in fleet.folder.iterdir():
            texts[str(path)] = path.read_text(encoding="utf-8", errors="replace")
        texts.update({f"command line {line[:60]}": line for line in command_lines()})
        for what, text in texts.items():
            for password in self.security.users.values():
                self.assertFalse(password in text, f"a password in {what}")

    def look(self, user, subcommand, *positional, filed=False, password=None, **options):
        """The tool as this user, to its end."""
        wanted = properties(self.security, user, password)
        env = None if filed else by_environment(wanted)
        more = by_file(self.folder, wanted) if filed else {}
        return run_tool(subcommand, *positional, env=env, **{
            "brokers": self.kafka.bootstrap, "topic": TOPIC, "slots": 256, "partitions": 16,
            "json": True, "timeout": "10s", **more, **options})

    def route_to_owners(self, fleet, filed):
        """What the tool says of two keys, once it names who leads them: a busy machine may make the
        broker expel a member, and what was at rest moves again."""
        names = {owner.key: owner.name for owner in fleet.owners}
        seen = []

        def agrees():
            route = self.look("watcher", "route", "a", "b", filed=filed)
            state = fleet.rest()
            self.assertEqual(route.code, 0, route)
            seen[:] = [(row["owner"], names[state[row["partition"]]]) for row in route.rows()]
            return route if all(told == leads for told, leads in seen) else None
        return wait_until(agrees, 30, lambda: f"the tool names who leads: {seen}", poll=0.2)

    def test_owner_and_watcher(self):
        for filed in (False, True):
            with self.subTest(by="file" if filed else "environment"):
                fleet = self.secured_fleet(filed)
                self.start_rested(fleet, 2)
                route = self.route_to_owners(fleet, filed)
                watch = self.look("watcher", "watch", filed=filed, once=True)
                self.assertEqual(watch.code, 0, watch)
                self.assert_secret_kept(fleet, [route.out, route.err, watch.out, watch.err])
                self.assert_clean(fleet)

    def test_without_rights(self):
        """Exit 3, it refuses: wrong password, no ACL, and an owner with a watcher's ACLs."""
        route = self.look("nobody", "route", "a")
        self.assertEqual(route.code, 3, route)
        self.assertIn(TOPIC, route.err)
        wrong = self.look("watcher", "route", "a", password="not-the-password", timeout="60s")
        self.assert_refused(wrong, "authentication failed", "security.protocol and sasl.*")
        self.kafka.admin.create_topic("unwritable", 16)
        self.kafka.admin.allow("User:watcher", "TOPIC", "unwritable", "READ", "DESCRIBE")
        owner = self.look("watcher", "run", topic="unwritable", group=TOPIC, timeout="5s",
                          assignment="group", endpoint="127.0.0.1:7999")
        self.assertEqual(owner.code, 3, owner)
        member = self.look("watcher", "run", topic="unwritable", group=TOPIC, timeout="5s",
                           endpoint="127.0.0.1:7999", assignment="assigner")
        self.assertEqual(member.code, 3, member)
        self.assertIn("grant WRITE on the topic", member.err)
        for password in (*self.security.users.values(), "not-the-password"):
            self.assertNotIn(password, route.err + wrong.err + owner.err)

    def assert_refused(self, done, *words):
        """At once, as waiting would not help."""
        self.assertEqual(done.code, 3, done)
        self.assertLess(done.seconds, 30, done)
        for word in (f"{self.kafka.bootstrap} refuses: ", *words):
            self.assertIn(word.lower(), done.err.lower(), done)

    def test_another_protocol_than_the_listeners(self):
        """A mechanism that it does not have, an authority that did not sign, no SASL, no TLS."""
        rest = properties(self.security, "watcher")[1:]

        def ask(*wanted, timeout="60s"):
            return run_tool("route", "a", brokers=self.kafka.bootstrap, topic=TOPIC, limit=90,
                            timeout=timeout, env=by_environment(wanted))
        self.assert_refused(ask("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *rest[1:]),
                            "mechanism", "security.protocol and sasl.*")
        done = ask(*(one for one in properties(self.security, "watcher")
                     if not one.startswith("ssl.ca")))
        self.assert_refused(done, "certificate verify failed", "ssl.ca.location")
        for protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
            done = ask(f"security.protocol={protocol}", *rest, timeout="3s")
            self.assertEqual(done.code, 3, done)
            self.assertIn("may speak TLS (-X security.protocol=SSL or SASL_SSL)", done.err)
        done = ask("security.protocol=SSL", *rest, timeout="3s")
        self.assertEqual(done.code, 3, done)
        self.assertIn("security.protocol", done.err)

    def test_without_one_of_the_rights(self):
        """Exit 3, too: an owner that may only use the topic, and one that may only the group."""
        for kind, granted in OWNER_RIGHTS.items():
            name = f"only-{kind.lower()}"
            self.kafka.admin.create_topic(name, 16)
            self.kafka.admin.allow("User:nobody", kind, name, *granted)
            owner = self.look("nobody", "run", topic=name, group=name, timeout="5s",
                              assignment="group", endpoint="127.0.0.1:7999")
            self.assertEqual(owner.code, 3, owner)
            self.assertIn("authori", owner.err.lower())

    def test_rights_taken_from_who_runs(self):
        """A refusal while running is told, and is no reason to die."""
        fleet = self.secured_fleet(filed=False)
        self.start_rested(fleet, 2)
        size = [len(owner.error_tail(10_000_000)) for owner in fleet.owners]
        self.kafka.admin.deny("User:owner", "TOPIC", TOPIC, "WRITE")
        wait_until(lambda: len(fleet.unled()) == 16, 30,
                   "nobody leading without the right to write")
        for owner, before in zip(fleet.owners, size):
            self.assertIn("authori", owner.error_tail(10_000_000)[before:].lower())
        self.kafka.admin.deny_no_more("User:owner", "TOPIC", TOPIC, "WRITE")
        fleet.rest()
        self.take_the_group(fleet)
        self.assert_clean(fleet)

    def take_the_group(self, fleet):
        """Nor is one of the group's, once somebody was a member."""
        size = [len(owner.error_tail(10_000_000)) for owner in fleet.owners]
        self.kafka.admin.deny("User:owner", "GROUP", TOPIC, "READ")
        for owner, before in zip(fleet.owners, size):
            wait_until(lambda owner=owner, before=before: "group authorization failed"
                       in owner.error_tail(10_000_000)[before:].lower(), 30,
                       lambda: f"it says that it may not use the group\n{fleet.describe()}")
        self.kafka.admin.deny_no_more("User:owner", "GROUP", TOPIC, "READ")
        fleet.rest()
        for owner in fleet.owners:
            self.assertTrue(owner.running())


if __name__ == "__main__":
    case.main()
