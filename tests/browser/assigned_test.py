#!/usr/bin/env python3
"""The slot page of a lane in which a process assigns, not Kafka's group.   assigned_test.py"""
import threading
import unittest

from page_case import PageCase
from browser import scenarios


class Assigned(PageCase):
    def until_note(self, name, text):
        self.until("""([name, text]) => [...document.querySelectorAll('#processes-body tr')].some(
            (row) => row.querySelector('.name').textContent === name
              && row.querySelector('.note').textContent
                .replaceAll('\\u00a0', ' ') === text)""", [name, text])

    def test_with_a_group_the_page_says_nothing_of_it(self):
        self.open()
        for hidden in ("#assigned", "#moves-designated", "#slot-named"):
            self.assertFalse(self.page.locator(hidden).is_visible(), hidden)
        self.assertEqual(self.texts("#processes-body .note"), ["serves this page", "", ""])

    def test_who_assigns_and_what_members_say(self):
        self.open(scenarios.assigned())
        self.until_text("#assigned-by", "pricing-1 for 2 h 5 min")
        self.until_text("#assigned-members", "4 members · 1 cordoned")
        self.until_note("pricing-0", "serves this page")
        self.until_note("pricing-1", "assigns")
        self.until_note("pricing-2", "weight 2")
        self.until_note("pricing-3", "cordoned · owns nothing")
        row = self.page.locator("#processes-body tr", has_text="pricing-0")
        self.assertEqual(row.get_attribute("title"), "host rack-7, zone a")
        self.page.fill("#filter", "cordoned")
        self.until_text("#processes-count", "1 of 4 processes")
        self.page.fill("#filter", "rack-7")
        self.until_text("#processes-count", "1 of 4 processes")
        self.assertEqual(self.texts("#processes-body .name"), ["pricing-0"])

    def test_members_that_share_an_endpoint_are_marked(self):
        world = scenarios.assigned()
        world.processes[2]["endpoint"] = world.processes[1]["endpoint"]
        self.open(world)
        self.until_note("pricing-1", "assigns · shares its endpoint")
        self.until_note("pricing-2", "shares its endpoint · weight 2")
        self.until_note("pricing-0", "serves this page")

    def test_a_share_is_fair_by_weight(self):
        world = scenarios.assigned()
        self.open(world)
        self.until_note("pricing-2", "weight 2")
        world.give(range(0, 32), 2)
        world.give(range(32, 48), 0)
        world.give(range(48, 64), 1)
        self.painted()
        self.until_text("#fact-fair", "fair shares by weight · most ±0 %")
        self.until("""() => [...document.querySelectorAll('#processes-body tr')].filter((row) =>
            row.querySelector('.deviation').textContent === '±0 %').length === 3""")

    def test_a_partition_on_the_way(self):
        world = scenarios.assigned()
        self.open(world)
        partition = world.owned_by(0)[0]
        self.page.locator("#map").focus()
        self.page.fill("#lookup-value", str(partition))
        self.page.select_option("#lookup-by", "slot")
        self.page.click("#lookup button")
        self.until_text("#slot-number", str(partition))
        world.designate([partition, *world.owned_by(1)[:2]], 2)
        self.until_text("#moves-designated", "On the way: 3 partitions (48 slots) to pricing-2")
        self.until_text("#slot-designee", "pricing-2 at 10.0.0.3:7400")
        self.assertTrue(self.page.locator("#slot-named").is_visible())
        self.until_text("#lookup-answer", "named by pricing-1")
        self.until_note("pricing-2", "weight 2 · 3 partitions to come")
        self.until_note("pricing-0", "serves this page · 1 partition to hand over")
        self.until_text("#assigned-members", "3 partitions on the way")
        world.give(range(64), 2)
        world.designate(range(64), -1)
        self.until("() => document.querySelector('#moves-designated').hidden")
        self.until("() => document.querySelector('#slot-named').hidden")
        self.until_note("pricing-2", "weight 2")

    def test_an_answer_is_older_than_what_is_shown(self):
        """A lookup that was answered before a designation, and comes after it, is asked again."""
        world = scenarios.assigned()
        self.open(world)
        answered, shown = threading.Event(), threading.Event()

        def hold():
            answered.set()
            shown.wait(30)
        world.hold = hold
        partition = world.owned_by(0)[0]
        self.page.select_option("#lookup-by", "slot")
        self.page.fill("#lookup-value", str(partition))
        self.page.click("#lookup button")
        self.assertTrue(answered.wait(30))
        world.designate([partition], 2)
        self.until_text("#moves-designated", "On the way: 1 partition (16 slots) to pricing-2")
        shown.set()
        self.until_text("#lookup-answer", "named by pricing-1")

    def test_overrides(self):
        world = scenarios.assigned()
        self.open(world)
        self.until_text("#assigned-members", "4 members")
        self.assertFalse(self.page.locator("#assigned-paused").is_visible())
        self.assertFalse(self.page.locator("#slot-pinning").is_visible())
        world.overrides |= {"pins": {"pricing-2": "0-9,12"}, "moves_paused": True}
        world.say_members({1: {"cordoned": True}})
        self.until_text("#assigned-members", "11 partitions pinned")
        self.page.locator("#assigned-paused").wait_for()
        self.until_text("#slot-pinned", "pricing-2")  # the cursor is at slot 0
        self.assertTrue(self.page.locator("#slot-pinning").is_visible())
        self.until_note("pricing-1", "assigns · cordoned")
        world.overrides = {"cordoned": [], "weights": {}, "pins": {}, "moves_paused": False}
        world.say_members({1: {"cordoned": False}})
        self.until_note("pricing-1", "assigns")
        self.until("() => document.querySelector('#slot-pinning').hidden")
        self.until("() => document.querySelector('#assigned-paused').hidden")

    def test_the_assigner_dies_and_another_follows(self):
        world = scenarios.assigned()
        self.open(world)
        self.until_text("#assigned-by", "pricing-1 for")
        world.assign(None, m1={"state": "silent"})
        self.until_text("#assigned-by", "nobody: owners keep what they have")
        self.assertTrue(self.page.locator("#assigned-by.late").is_visible())
        self.until_text("#assigned-members", "3 members · 1 cordoned · 1 silent")
        self.until_note("pricing-1", "silent")
        world.assign(0, assigning=False)
        self.until_text("#assigned-by", "pricing-0 for 0.")
        self.until_text("#assigned-by", "does not say so yet")
        world.assign(0)
        self.until("() => !document.querySelector('#assigned-by').textContent.includes('yet')")
        world.say_members({3: {"cordoned": False, "on_probation": True}}, gone=[1])
        self.until_text("#assigned-members", "3 members · 1 on probation")
        self.until_note("pricing-3", "on probation · owns nothing")
        world.say_members({3: {"on_probation": False, "preparing": True}})
        self.until_text("#assigned-members", "3 members · 1 preparing")
        self.until_note("pricing-3", "preparing · owns nothing")

    def test_a_stream_that_begins_again_knows_who_is_gone(self):
        world = scenarios.assigned()
        self.open(world)
        self.until_text("#assigned-members", "4 members")
        self.expect_broken_link = True
        self.server.go_away()
        self.condition("away")
        del world.assignment["members"][3]
        self.server.come_back()
        self.condition("live")
        self.until_text("#assigned-members", "3 members")

    def test_thousands_of_members(self):
        world = scenarios.many_owners()
        world.assign(0, **{f"m{index}": {} for index in range(2000)})
        self.open(world)
        self.until_text("#assigned-members", "2,000 members")
        world.say_members({1999: {"cordoned": True}})
        self.until_text("#assigned-members", "2,000 members · 1 cordoned")
        self.page.fill("#filter", "shard-1999")
        self.until_note("shard-1999", "cordoned")


if __name__ == "__main__":
    unittest.main(verbosity=2)
