#!/usr/bin/python3
"""What only a PostgreSQL does: failovers, locks, listeners, backups. With its own settings.

A restart and a crash of its only server: tests/kafka/outage_test.py.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ["NELIROUTE_TEST_PROTOCOL"] = "postgres"
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stores"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness import checker, children  # noqa: E402
from harness.children import wait_until  # noqa: E402
from harness.process import option_list, run_tool, tool_path  # noqa: E402
from harness.stores.postgres_cluster import USER  # noqa: E402
from store_faults import FaultsCase, pass_by  # noqa: E402

# A standby takes over a second after its primary was lost; then owners find it.
FAILOVER_S = 1.0
FROZEN_S = 30.0
LEASE_S = 0.75 * case.protocol().session_ms / 1000
UNREAD = 1000  # of messages that fill a page each
PAGE = 8192 / (8 << 30)  # of the queue of notifications


class PostgresCase(FaultsCase):
    """What the tests of several clusters share."""
    holder = None

    def say(self, fleets, text):
        """Waits until each owner has said that."""
        for owner in [owner for fleet in fleets for owner in fleet.live()]:
            wait_until(lambda owner=owner: text in owner.error_tail(100_000), 30,
                       lambda owner=owner: f"{text!r}\n{owner.error_tail(10_000)}")

    def rest(self, fleets, began=None):
        """Until all are at rest; since `began` it was the test's doing."""
        for fleet in fleets:
            fleet.rest()
        for fleet in fleets if began else ():
            fleet.disturb(began, boot_now())

    def cut_standbys_off(self):
        """They receive no more."""
        for node in self.kafka.nodes:
            if node is not self.kafka.leader():
                node.query("ALTER SYSTEM SET primary_conninfo = '';\nSELECT pg_reload_conf()")
        wait_until(lambda: self.kafka.query("SELECT count(*) FROM pg_stat_replication") == [["0"]],
                   20, "no standby receives")

    @staticmethod
    def wait_led_by_others(fleets):
        """Until all but the first lead everything between them."""
        def led():
            for fleet in fleets:
                fleet.refresh()
            return all({p for owner in fleet.owners[1:] for p in owner.leading} ==
                       set(fleet.partitions) for fleet in fleets)
        wait_until(led, 30, lambda: "\n".join(fleet.describe() for fleet in fleets))

    def end_the_old_one(self, fleets, old, since):
        """It comes back as a standby, and whoever reached only that is replaced."""
        self.kafka.stop_node(old)
        self.kafka.start()
        for fleet in fleets:
            fleet.owners[0].kill()
            fleet.start()
        self.rest(fleets, since)

    def lock(self):
        """Somebody (`holder`) looks at the rows of the logs, and does not commit."""
        out = self.folder / "psql.out"
        with open(out, "wb") as file:
            child = children.spawn(["psql", "-XAtq", "-d", self.kafka.primary.conninfo()],
                                   stdin=subprocess.PIPE, stdout=file, text=True)
        self.addCleanup(children.end, child)
        child.stdin.write("BEGIN; SELECT 'locked', * FROM neliroute.log FOR UPDATE;\n")
        child.stdin.flush()
        wait_until(lambda: "locked" in out.read_text(), 20, "psql has answered")
        self.holder = child


class ThreeServers(PostgresCase):
    """A primary and two standbys, one of which has all that was committed."""

    def test_primary_killed(self):
        fleets = self.pair()
        for fleet in fleets:
            self.start_rested(fleet, 3)
        since = boot_now()
        for _ in range(2):
            began = boot_now()
            self.kafka.stop_node(self.kafka.leader())
            pass_by(FAILOVER_S)
            self.kafka.promote()
            self.rest(fleets, began)
            self.note(f"at rest {boot_now() - began:.2f} s after the kill")
            self.kafka.start()  # who was it comes back as a standby
            self.rest(fleets, began)
        self.clean(fleets, since)

    def test_primary_frozen(self):
        """Thawed, it still takes itself for the primary, until a manager of the servers ends it: to
        it nobody goes back who knows the new one, and who begins there leads nothing by it."""
        fleets = self.pair()
        for fleet in fleets:
            self.start_rested(fleet, 3)
        since = began = boot_now()
        old = self.kafka.leader()
        old.freeze()
        self.addCleanup(old.thaw)
        pass_by(FAILOVER_S)
        self.kafka.promote()
        self.rest(fleets, began)
        self.note(f"at rest {boot_now() - began:.2f} s after the freeze")
        before = old_records = None
        thawed = boot_now()
        old.thaw()
        before = self.ends(old)
        newcomers = [fleet.start() for fleet in fleets]
        self.note_lookups(fleets)
        pass_by(2.0 - (boot_now() - thawed) if boot_now() < thawed + 2.0 else 0)
        old_records = self.ends(old)
        self.kafka.stop_node(old)
        self.assertEqual(before, old_records, "records in the old primary")
        for fleet, newcomer in zip(fleets, newcomers):
            fleet.rest()
            self.assertTrue(newcomer.leading, "who began meanwhile leads, too")
        self.kafka.start()
        self.rest(fleets)
        for fleet in fleets:
            self.assert_undisturbed(fleet, thawed, newcomers)
        self.clean(fleets, since)

    @staticmethod
    def ends(node):
        """What a server has committed of each log."""
        return node.query("SELECT topic, log, next FROM neliroute.log ORDER BY topic, log")

    def note_lookups(self, fleets):
        """What a look-up says that asks the old primary first."""
        for fleet in fleets:
            done = self.lookup(fleet, "route", "a", "b", json=True, timeout="1s")
            self.note(f"{fleet.group}: {[row['verdict'] for row in done.rows()]} {done.err}")

    def assert_undisturbed(self, fleet, since, newcomers):
        """None of those who led lost anything by the old primary's return, but to the newcomer."""
        fleet.refresh()
        for owner in fleet.owners:
            if owner not in newcomers:
                lapsed = [row for row in owner.events.rows if row["boot"] > since
                          and row["event"] == "stopped" and row["reason"] == "lapsed"]
                self.assertEqual([], lapsed, owner.error_tail())


    def test_two_primaries(self):
        """The old one lives on without standbys, and one owner reaches only that. Nothing is
        committed there, so nobody leads by it."""
        fleets = self.pair()
        old = self.kafka.leader()
        for fleet in fleets:
            fleet.start(**self.kafka.place(fleet.topic, nodes=[old]))
            self.start_rested(fleet, 2)
        since = boot_now()
        self.cut_standbys_off()
        before = self.ends(old)
        self.kafka.promote()
        self.wait_led_by_others(fleets)
        pass_by(3.0)  # longer than any lease, and than owners take to look at other servers
        for fleet in fleets:
            fleet.refresh()
        self.assertEqual({}, fleets[1].owners[0].leading)
        self.assertEqual(before, self.ends(old), "records in the old primary")
        self.end_the_old_one(fleets, old, since)
        self.clean(fleets, since)

    def test_two_primaries_and_a_lock(self):
        """The old one refuses all that is written, as the commit of somebody else who waits for a
        standby keeps the log's row: owners go to the new one."""
        fleets = self.pair()
        for fleet in fleets:
            self.start_rested(fleet, 2)
        since, old = boot_now(), self.kafka.leader()
        self.lock()
        self.cut_standbys_off()
        self.kafka.promote()
        self.say(fleets, "lock timeout")
        self.say(fleets, "records are written again")
        self.rest(fleets, since)
        self.assertIsNone(self.holder.poll())
        children.end(self.holder)
        self.kafka.stop_node(old)
        self.kafka.start()
        self.rest(fleets)
        self.clean(fleets, since)

    def test_both_standbys_frozen(self):
        """What no standby has is not committed, and nobody reads it."""
        lost = [node for node in self.kafka.nodes if node is not self.kafka.leader()]

        def freeze():
            for node in lost:
                self.freeze(node)

        def thaw():
            pass_by(3 * LEASE_S)
            for node in lost:
                node.thaw()
        self.live_without_writes(freeze, thaw, says=["a record cannot be written"])


class Unsynchronous(PostgresCase):
    """Nothing says that a standby must have what is committed."""
    store_options = ("-c", "synchronous_standby_names=")

    def test_without_a_promise(self):
        """In exclusive mode that is refused, else it is said; and a failover that lost records is
        noticed."""
        text = "synchronous_standby_names is empty"
        place = self.kafka.place(self.topic(), "&assume=durable")
        strict = self.fleet(mode="exclusive")
        done = run_tool("run", **{**strict.defaults, "endpoint": "127.0.0.1:7999"})
        self.assertEqual(done.code, 2, done)
        for one in (text, "2 standby servers", "assume=durable", "ANY 1 (a, b)"):
            self.assertIn(one, done.err)
        strict.defaults |= place
        calm = self.fleet(topic="calm", mode="non_exclusive")
        fleets = [calm, strict]
        for fleet in fleets:
            self.start_rested(fleet, 2)
        for owner in [*calm.owners, *strict.owners]:
            self.assertIn(text, owner.error_tail())
            self.assertIn("warn", owner.error_tail())
        self.lose_records(fleets)

    def test_two_primaries_without_a_promise(self):
        """Each serves those who reach it, until one is ended: that is not prevented."""
        query = "&assume=durable"
        fleet = self.fleet(mode="exclusive")
        old = self.kafka.leader()
        fleet.start(**self.kafka.place(fleet.topic, query, [old]))
        fleet.rest()
        since = boot_now()
        self.cut_standbys_off()
        new = self.kafka.promote()
        fleet.defaults |= self.kafka.place(fleet.topic, query, [new])
        for _ in range(2):
            fleet.start()
        self.wait_led_by_others([fleet])
        pass_by(3.0)
        both = boot_now()
        first = fleet.owners[0]
        self.assertEqual(set(fleet.partitions), set(first.leading), first.error_tail())
        self.end_the_old_one([fleet], old, since)
        report = fleet.report()
        seen = checker.overlaps(report.intervals)
        self.note(f"{len(seen)} overlaps, the longest {seen[0].seconds:.1f} s")
        self.assertGreater(seen[0].seconds, 2 * LEASE_S)
        self.assertEqual([], [str(one) for one in seen if one.start > both])

    def lose_records(self, fleets):
        """The standbys receive no more; then more is written; then the primary is lost."""
        since = boot_now()
        self.cut_standbys_off()
        for fleet in fleets:
            fleet.start()
        self.rest(fleets)
        began = boot_now()
        self.kafka.stop_node(self.kafka.leader())
        pass_by(FAILOVER_S)
        self.kafka.promote()
        self.say(fleets, "claimed again")
        self.rest(fleets, began)
        self.clean(fleets, since)


class OneServer(PostgresCase):
    """What operators and other clients do to it."""
    brokers = 1

    def test_a_log_is_locked(self):
        """Somebody looks at its row, and does not commit: as long as that nothing can be written.
        It is a silent log."""
        def unlock():
            pass_by(3 * LEASE_S)
            children.end(self.holder)
        self.live_without_writes(self.lock, unlock, says=["lock timeout"])

    def test_no_connections_left(self):
        """They are cut off, and may not come back for a while."""
        def cut():
            self.kafka.query(f"ALTER ROLE {USER} CONNECTION LIMIT 0")
            self.cut_off()

        def allow():
            self.kafka.query(f"ALTER ROLE {USER} CONNECTION LIMIT -1")
        self.live_without_writes(cut, allow, says=["too many connections for role"])

    def cut_off(self):
        """An operator ends all connections of owners."""
        (count,), = self.kafka.query("SELECT count(pg_terminate_backend(pid)) FROM"
                                     f" pg_stat_activity WHERE usename = '{USER}'")
        self.assertGreaterEqual(int(count), 2)

    def test_maintenance(self):
        """Connections end, the schema is made again, tables are written anew: no non-exclusive
        owner stops for that."""
        fleets = self.pair()
        for fleet in fleets:
            self.start_rested(fleet, 2)
        since = boot_now()
        schema = run_tool("schema").out
        for sql in (schema, "VACUUM FULL neliroute.log", "VACUUM FULL neliroute.record",
                    "REINDEX SCHEMA neliroute", "CHECKPOINT"):
            self.kafka.query(sql)
            self.cut_off()
            self.rest(fleets)
        fleets[0].start()
        self.rest(fleets)
        self.clean(fleets, since)

    def test_a_watcher_stands_still(self):
        """What it does not read must not hold up the queue of what others are told."""
        fleet = self.fleet()
        self.start_rested(fleet, 2)
        out = self.folder / "watch.out"
        wanted = {name: fleet.defaults[name] for name in ("slots", "partitions", "profile")}
        with open(out, "wb") as file:
            watcher = children.spawn([tool_path(), "watch", "--json", *option_list(
                {**wanted, **self.kafka.place(fleet.topic)})], stdout=file, stderr=file)
        self.addCleanup(children.end, watcher)
        wait_until(lambda: "owner-2" in out.read_text(), 20, "it watches")
        children.stop(watcher.pid)
        channel = ("(SELECT 'neliroute_' || replace(id::text, '-', '') FROM neliroute.log "
                   f"WHERE topic = '{fleet.topic}')")
        seen = []
        began = boot_now()
        while boot_now() < began + FROZEN_S:
            self.kafka.query(f"SELECT pg_notify({channel}, i || repeat('x', 7900))"
                             f" FROM generate_series(1, {UNREAD}) i")
            seen.append(float(self.kafka.query("SELECT pg_notification_queue_usage()")[0][0]))
            pass_by(1.0)
        self.note("usage: " + " ".join(f"{one:.5f}" for one in seen))
        # The kernel takes some of it; then it waits for a lease, until the server cuts it off.
        self.assertGreater(max(seen), UNREAD * PAGE / 2, "nothing was held up ever")
        self.assertLess(seen[-1], UNREAD * PAGE / 2)
        self.assertIn("could not send data to client: Connection timed out",
                      self.kafka.log_tail())
        children.wait_until(lambda: fleet.unled() == [], 5, "led all the time")
        os.kill(watcher.pid, children.signal.SIGCONT)
        size = out.stat().st_size
        fleet.start()
        fleet.rest()
        wait_until(lambda: "owner-3" in out.read_text()[size:], 20, "it watches again")
        self.assertIsNone(watcher.poll())
        self.assert_clean(fleet)

    def test_restored_from_a_backup(self):
        """The logs are the same, and their end is gone: a gap, and epochs rise."""
        fleets = self.pair()
        for fleet in fleets:
            self.start_rested(fleet, 2)
        since = boot_now()
        node, = self.kafka.nodes
        began = boot_now()
        self.kafka.stop(grace=20)
        self.copy(node.data, node.folder / "backup")
        self.kafka.start()
        self.rest(fleets)
        for fleet in fleets:
            fleet.start()
        self.rest(fleets)
        self.kafka.stop()
        shutil.rmtree(node.data)
        self.copy(node.folder / "backup", node.data)
        self.kafka.start()
        self.say(fleets, "claimed again")
        self.rest(fleets, began)
        self.clean(fleets, since)

    @staticmethod
    def copy(source, target):
        """With its owner."""
        subprocess.run(["cp", "-a", source, target], check=True, timeout=60)

    def test_operators(self):
        """They look, move partitions away and back, and audit what was written."""
        fleet = self.fleet(mode="exclusive")
        self.start_rested(fleet, 3)
        lane = {**self.kafka.place(fleet.topic), "json": True,
                "profile": fleet.defaults["profile"]}
        first = fleet.owners[0]
        done = run_tool("cordon", first.name, **lane)
        self.assertEqual(done.code, 0, done)
        wait_until(lambda: fleet.refresh() or not first.leading, 20, "it leads nothing")
        done = run_tool("overrides", **lane)
        self.assertIn(first.name, done.out, done)
        row, = self.lookup(fleet, "route", "k", json=True).rows()
        self.assertNotEqual(row["owner"], first.name)
        done = run_tool("uncordon", first.name, **lane)
        self.assertEqual(done.code, 0, done)
        fleet.rest()
        seen = self.lookup(fleet, "watch", once=True, json=True)
        self.assertEqual({row["owner"] for row in seen.rows() if "partition" in row},
                         {owner.name for owner in fleet.owners}, seen)
        found, rows, done = self.audit(fleet.topic)
        self.assertEqual([], found, done)
        self.assertTrue(rows[-1]["broker_time"], done)
        self.assertEqual(rows[-1]["records"], len(self.kafka.read(fleet.topic, 0,
                                                                  most=rows[-1]["records"])))
        first, = self.kafka.read(fleet.topic, 0, most=1)
        self.assertEqual(first["offset"], 0)
        json.loads(first["value"])
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
