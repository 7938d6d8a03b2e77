#!/usr/bin/python3
"""How a PostgreSQL is reached, and by whom: rights, passwords, TLS, a pool of connections."""
import os
import sys
import urllib.parse
import urllib.request
from pathlib import Path

os.environ["NELIROUTE_TEST_PROTOCOL"] = "postgres"
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.process import run_tool  # noqa: E402
from harness.stores.pgbouncer import PgBouncer  # noqa: E402
from harness.stores.postgres_cluster import USER  # noqa: E402

SCHEMA = "GRANT USAGE ON SCHEMA neliroute TO {0};"
TABLES = "GRANT SELECT ON ALL TABLES IN SCHEMA neliroute TO {0};"
FUNCTIONS = "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA neliroute TO {0};"
NO_APPEND = ("REVOKE EXECUTE ON FUNCTION neliroute.append(text, int, uuid, bigint, int, bytea[],"
             " boolean) FROM {0};")
GRANTS = "`neliroute schema` prints the GRANTs"


class AccessCase(case.KafkaCase):
    """What the tests of several servers share."""

    def ledger(self, user, topic, query=""):
        """The address, as that user, and with that password behind a colon."""
        return {"ledger": f"{self.kafka.uri(user)}?topic={topic}{query}"}

    def refused(self, words, place, texts, codes=(3,), **options):
        """That command fails, and says all of that; the finished command."""
        if words[0] == "run":
            options |= {"endpoint": "127.0.0.1:7999", "assignment": "assigner"}
        done = run_tool(*words, **{"timeout": "2s", **place, **options})
        self.assertIn(done.code, codes, done)
        for text in texts:
            self.assertIn(text, done.err)
        return done

    def live(self, fleet, count=2):
        """One is killed, and one joins."""
        self.start_rested(fleet, count)
        self.kill(fleet)
        fleet.start()
        fleet.rest()


class Rights(AccessCase):
    """A user has what `neliroute schema` says, or is told what is missing."""

    def role(self, name, *grants):
        """A user with these rights."""
        self.kafka.query("\n".join([f"CREATE ROLE {name} LOGIN;", *grants]).format(name))

    def test_rights(self):
        fleet = self.fleet(topic="rights")
        self.start_rested(fleet, 1)
        self.role("looker", SCHEMA, TABLES)
        self.role("mute", SCHEMA, TABLES, FUNCTIONS, NO_APPEND)
        self.role("blind", SCHEMA, FUNCTIONS)
        self.role("stranger")
        found = self.lookup(fleet, "route", "k", **self.ledger("looker", "rights"))
        self.assertEqual(found.code, 0, found)
        for user, words, texts in (
                ("looker", ("run",), ("permission denied for function", GRANTS)),
                ("mute", ("run",), ("permission denied for function append", GRANTS)),
                ("mute", ("cordon", "owner-1"),
                 ("permission denied for function append", GRANTS, "takes an owner's rights")),
                ("blind", ("run",), ("permission denied for table", GRANTS)),
                ("blind", ("route", "k"), ("permission denied for table", GRANTS)),
                ("stranger", ("run",), ("permission denied for schema neliroute", GRANTS)),
                ("stranger", ("audit",), ("permission denied for schema neliroute", GRANTS))):
            with self.subTest(user=user, command=words[0]):
                others = fleet.defaults if words[0] == "run" else {}
                self.refused(words, {**others, **self.ledger(user, "rights")}, texts, codes=(2, 3))
        self.assert_clean(fleet)

    def test_a_schema(self):
        """One that is not there, who may make it, and one that is made at the start."""
        for words in (("run",), ("route", "k")):
            self.refused(words, self.ledger(USER, "schema", "&schema=other"),
                         ("other.log", "`neliroute schema | psql`", "create=1"), codes=(2,))
        self.refused(("run",), self.ledger(USER, "schema", "&schema=other&create=1"),
                     ("permission denied for database", ), codes=(2, 3))
        fleet = self.fleet(**self.ledger("postgres", "schema", "&schema=other&create=1"))
        self.start_rested(fleet, 2)
        self.assertEqual([["1"]], self.kafka.query("SELECT count(*) FROM other.log"))
        self.assertEqual([["0"]], self.kafka.query("SELECT count(*) FROM neliroute.log"
                                                   " WHERE topic = 'schema'"))
        self.assert_clean(fleet)


class Passwords(AccessCase):
    """A server that wants to know who asks."""
    SECRET, WRONG = "sEcr3t/of:ann", "wr0ng-one"

    def setUp(self):
        self.kafka.query("SET password_encryption = 'scram-sha-256';\n"
                         f"CREATE ROLE ann LOGIN PASSWORD '{self.SECRET}' IN ROLE {USER}")
        self.addCleanup(self.kafka.query, "DROP ROLE ann")
        self.kafka.primary.log_in_by("host all ann 127.0.0.1/32 scram-sha-256")

    def assert_unsaid(self, *texts):
        """No password, in whatever form."""
        for text in texts:
            for secret in (self.SECRET, urllib.parse.quote(self.SECRET, safe=""), self.WRONG):
                self.assertNotIn(secret, text)

    def pass_file(self, password):
        """One for libpq."""
        path = self.folder / f"pass-{len(password)}"
        node = self.kafka.primary
        escaped = password.replace(":", "\\:")
        path.write_text(f"{node.host}:{node.port}:*:ann:{escaped}\n")
        path.chmod(0o600)
        return {"PGPASSFILE": str(path)}

    def test_a_password_by_file(self):
        fleet = self.fleet(http="0", json=True, log_level="debug",
                           **self.ledger("ann", self.topic()))
        fleet.env = self.pass_file(self.SECRET)
        self.live(fleet)
        self.assert_said_nowhere(fleet)
        self.assert_clean(fleet)

    def test_a_password_in_the_address(self):
        """Whoever is on this machine may read it there; but it is not told by us."""
        quoted = urllib.parse.quote(self.SECRET, safe="")
        for number, (user, query) in enumerate(((f"ann:{quoted}", ""),
                                                ("ann", f"&password={quoted}"))):
            fleet = self.fleet(http="0", json=True, log_level="debug",
                               **self.ledger(user, f"address-{number}", query))
            self.start_rested(fleet, 1)
            self.assert_said_nowhere(fleet)
            self.assert_clean(fleet)

    def assert_said_nowhere(self, fleet):
        """Not in what they write, nor on their pages."""
        for owner in fleet.live():
            address = case.address_of(owner)
            base = address if address.startswith("http") else f"http://{address}"
            for page in ("/metrics", "/", "/v1/slots"):
                with urllib.request.urlopen(f"{base.rstrip('/')}{page}", timeout=10) as answer:
                    self.assert_unsaid(answer.read().decode())
        for path in fleet.folder.iterdir():
            self.assert_unsaid(path.read_text(errors="replace"))
        self.assert_unsaid(self.kafka.log_tail(10_000))

    def test_a_wrong_password(self):
        """It is told at once, however it was given, and by every command."""
        text = 'password authentication failed for user "ann"'
        for user, query, env in ((f"ann:{self.WRONG}", "", None),
                                 ("ann", f"&password={self.WRONG}", None),
                                 ("ann", "", {"PGPASSWORD": self.WRONG}),
                                 ("ann", "", self.pass_file(self.WRONG))):
            for words in (("run",), ("route", "k"), ("audit",)):
                began = boot_now()
                done = self.refused(words, self.ledger(user, "wrong", query), (text,), env=env,
                                    timeout="60s", log_level="debug")
                self.assertLess(boot_now() - began, 20)
                self.assert_unsaid(done.out, done.err)

    def test_no_password(self):
        """It says what to do."""
        began = boot_now()
        self.refused(("route", "k"), self.ledger("ann", "none"), ("no password supplied",),
                     timeout="15s")
        self.assertLess(boot_now() - began, 10, "waiting does not help")

    def test_an_address_that_cannot_be_read(self):
        """It may have a password in it."""
        for user, query in ((f"ann:{self.WRONG}", "&nothing=1"),
                            ("ann", f"&password={self.WRONG}&nothing=1"),
                            ("ann", f"&password={self.WRONG}&create=2"),
                            (f"ann:{self.WRONG}@x", "&assume=it"),
                            (f"ann:{self.WRONG}%zz", "")):
            done = self.refused(("route", "k"), self.ledger(user, "bad", query), ("--ledger",),
                                codes=(2,))
            self.assert_unsaid(done.out, done.err)


class Tls(AccessCase):
    """The server shows a certificate, and takes nothing else."""
    store_tls = True

    def test_certificates(self):
        self.kafka.primary.log_in_by(f"hostnossl all {USER} 127.0.0.1/32 reject")
        verify = f"&sslmode=verify-full&sslrootcert={self.kafka.folder}/ca.pem"
        fleet = self.fleet(mode="exclusive", **self.kafka.place(self.topic(), verify))
        self.live(fleet)
        used = self.kafka.query("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity"
                                f" USING (pid) WHERE usename = '{USER}'")
        self.assertEqual([["t"]], used)
        other = self.folder / "other.pem"
        other.write_bytes((self.kafka.folder / "server.crt").read_bytes())
        for query, text in ((f"&sslmode=verify-full&sslrootcert={other}",
                             "certificate verify failed"),
                            ("&sslmode=verify-full&sslrootcert=/none", "/none"),
                            ("&sslmode=disable", "pg_hba.conf")):
            self.refused(("route", "k"), self.kafka.place(fleet.topic, query), (text,),
                         codes=(2, 3))
        self.assert_clean(fleet)


class Pool(AccessCase):
    """Each transaction may have another connection of the server's."""

    def test_pgbouncer(self):
        with PgBouncer(self.kafka) as pool:
            for mode in ("non_exclusive", "exclusive"):
                place = {"ledger": f"{pool.uri}?topic={mode}&notify=off"}
                fleet = self.fleet(topic=mode, mode=mode, **place)
                began = boot_now()
                self.live(fleet, 3)
                fleet.disturb(began, boot_now())
                since = boot_now()
                self.leave(fleet)
                fleet.rest()
                self.assert_clean(fleet, since, boot_now())


if __name__ == "__main__":
    case.main()
