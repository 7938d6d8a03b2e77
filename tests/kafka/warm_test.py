#!/usr/bin/python3
"""Warm hand-over on real Kafka: owners prepare before a claim and warm up after it, in both modes,
assigned by a group and by a member; one that takes too long; one whose predecessor dies."""
import case
from case import boot_now
from harness.children import wait_until
from harness.process import LineFile

PREPARE, WARM_UP, TIMEOUT = 0.4, 0.15, 1.5
# What a planned move takes besides: rebalances, claims, releases.
BESIDE = 1.5
SOURCES = ({}, {"assignment": "assigner"})


class Warm(case.KafkaCase):
    """Two owners; the third one comes and takes its share."""

    def warm_fleet(self, mode, source):
        """A fleet whose owners take their time."""
        name = f"{self.topic()}-{mode}-{source.get('assignment', 'group')}"
        options = {**source}
        if source:
            options.update(session="1s", group_protocol=None)
        return self.fleet(partitions=12, slots=252, topic=name, mode=mode,
                          prepare=f"{int(PREPARE * 1000)}ms",
                          warm_up=f"{int(WARM_UP * 1000)}ms",
                          prepare_timeout=f"{int(TIMEOUT * 1000)}ms", **options)

    def start(self, fleet, **options):
        """One more owner, and the file of its steps."""
        path = fleet.folder / f"warm-{len(fleet.owners) + 1}"
        owner = fleet.start(warm=path, **options)
        owner.steps = LineFile(path)
        return owner

    def steps(self, owner, step):
        """partition -> when it began or ended last."""
        owner.steps.read()
        return {row["partition"]: row for row in owner.steps.rows if row["step"] == step}

    def assert_clean(self, fleet, since=None, until=None):
        """Who has to stop while it warms up had not led."""
        for owner in fleet.owners:
            owner.steps.read()
            owner.life.warm_ups = [(row["boot"], row["partition"]) for row in owner.steps.rows
                                   if row["step"] == "warm_up"]
        super().assert_clean(fleet, since, until)

    def for_each(self, body):
        """Each mode, each source of assignments."""
        for mode in ("exclusive", "non_exclusive"):
            for source in SOURCES:
                with self.subTest(mode=mode, source=source):
                    fleet = self.warm_fleet(mode, source)
                    try:
                        body(fleet, mode)
                    finally:
                        fleet.end()

    def test_a_newcomer_prepares_while_the_old_owner_leads_on(self):
        self.for_each(self.newcomer)

    def newcomer(self, fleet, mode):
        """Who joins is ready before it leads, and the old owners lead on while it prepares."""
        first, second = self.start(fleet), self.start(fleet)
        before = fleet.rest()
        since = boot_now()
        third = self.start(fleet)
        after = fleet.rest()
        until = boot_now()
        mine = {partition for partition, key in after.items() if key == third.key}
        self.assertEqual(len(mine), 4)
        prepare, prepared = self.steps(third, "prepare"), self.steps(third, "prepared")
        warm_up, warm = self.steps(third, "warm_up"), self.steps(third, "warm")
        acquired = {row["partition"]: row["boot"] for row in third.events.rows
                    if row["event"] == "acquired"}
        owners = {first.key: first, second.key: second}
        for partition in mine:
            old = owners[before[partition]]
            stopped = max(row["boot"] for row in old.events.rows
                          if row["event"] == "stopped" and row["partition"] == partition)
            named = prepare[partition].get("previous")
            # An assigner may name a newcomer before it has heard of the owner in that log.
            if named is not None or fleet.defaults.get("assignment") != "assigner":
                self.assertEqual(named, old.name)
            self.assertGreaterEqual(prepared[partition]["boot"] - prepare[partition]["boot"],
                                    PREPARE - 0.01)
            self.assertGreater(stopped, prepared[partition]["boot"], "it led on until then")
            self.assertGreaterEqual(acquired[partition], warm[partition]["boot"])
            self.assertEqual(warm_up[partition]["previous"], old.name)
            gap = acquired[partition] - stopped
            if mode == "exclusive":
                self.assertLess(gap, (WARM_UP + BESIDE) * case.SLOW)
                self.assertEqual(warm_up[partition]["ending"], "released")
            else:
                self.assertLessEqual(gap, 0, "no gap, however long it warms up")
        self.assert_clean(fleet, since, until)

    def test_a_leaver_is_followed_by_who_prepared(self):
        self.for_each(self.leaver)

    def leaver(self, fleet, mode):
        """Non-exclusive: its slots are never unowned."""
        self.start(fleet), self.start(fleet)
        fleet.rest()
        since = boot_now()
        self.leave(fleet)
        fleet.rest()
        self.assert_clean(fleet, since, boot_now())

    def test_who_never_gets_ready_goes_on_all_the_same(self):
        self.for_each(self.late)

    def late(self, fleet, mode):
        """After prepare_timeout, twice."""
        self.start(fleet)
        fleet.rest()
        began = boot_now()
        slow = self.start(fleet, prepare="60m", warm_up="60m")
        fleet.rest()
        self.assertEqual(len(slow.leading), 6)
        self.assertGreaterEqual(boot_now() - began, 2 * TIMEOUT)
        self.assertEqual(self.steps(slow, "prepared"), {})
        self.assert_clean(fleet)

    def test_it_dies_meanwhile(self):
        self.for_each(self.dying)

    def dying(self, fleet, mode):
        """It had claimed nothing, so the old owner leads on, and stops nothing at all."""
        first = self.start(fleet)
        fleet.rest()
        since = boot_now()
        victim = self.start(fleet, prepare="60m", prepare_timeout="60s")
        wait_until(lambda: self.steps(victim, "prepare"), 20, "it prepares")
        victim.kill()
        fleet.rest()
        self.assertEqual(len(first.leading), 12)
        self.assertEqual(self.steps(victim, "prepared"), {})
        self.assertEqual([row for row in first.events.rows
                          if row["event"] == "stopped" and row["boot"] > since], [])
        self.assert_clean(fleet, since, boot_now())

    def test_the_predecessor_dies_meanwhile(self):
        self.for_each(self.orphan)

    def orphan(self, fleet, mode):
        """The successor goes on, and knows that nobody released."""
        victim = self.start(fleet)
        fleet.rest()
        heir = self.start(fleet)
        wait_until(lambda: self.steps(heir, "prepare"), 20, "it prepares")
        victim.kill()
        wait_until(lambda: (heir.refresh(), len(heir.leading))[1] == 12, 30, heir.error_tail)
        endings = {row["ending"] for row in self.steps(heir, "warm_up").values()
                   if "ending" in row}
        self.assertTrue(endings <= {"superseded", "expired", "none"}, endings)
        self.assert_clean(fleet)


if __name__ == "__main__":
    case.main()
