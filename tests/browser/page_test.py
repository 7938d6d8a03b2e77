#!/usr/bin/env python3
"""What a person sees on the slot page.   page_test.py [TEST...]"""
import binascii
import unittest

from page_case import HELD_CLOCK, ROWS_MADE, TURNED_CLOCK, PageCase
from browser import scenarios
from browser.world import World
from harness.children import wait_until


class Shown(PageCase):
    def test_every_cell_shows_its_owner(self):
        self.open()
        looks = [self.look(process["name"]) for process in self.world.processes]
        for slot in range(0, self.world.slots, 7):
            self.assert_looks(slot, looks[self.world.owner[slot % 64]])
        self.assertEqual(self.page.title(), "pricing: slots")
        self.assertEqual(self.text(".big"), "1,024 of 1,024")
        self.assertEqual(self.text("#fact-state"), "every slot has an owner")
        self.assertEqual(self.text("#count-local"), str(16 * len(self.world.owned_by(0))))
        self.assertEqual(self.text("#condition"), "Live")

    def test_who_owns_how_much_against_a_fair_share(self):
        self.open()
        self.assertEqual(self.texts("#processes-body .name"), [f"pricing-{n}" for n in range(3)])
        self.assertEqual(self.texts("#processes-body .slots"), ["352", "336", "336"])
        self.assertEqual(self.texts("#processes-body .deviation"), ["+3.1 %", "−1.6 %", "−1.6 %"])
        self.assertEqual(self.text("#fact-fair"), "fair share 341.3 · most +3.1 %")
        for _ in range(2):
            self.page.get_by_role("button", name="process", exact=True).click()
        self.assertEqual(self.texts("#processes-body .name")[0], "pricing-2")
        self.assertEqual(self.page.get_attribute("thead th >> nth=0", "aria-sort"), "descending")
        self.assertIn("10.0.0.3:7400", self.text("#processes-body tr >> nth=0"))

    def test_a_killed_owners_cells_change_colour(self):
        self.open()
        lost = self.world.kill(2)
        self.painted()
        for partition in lost:
            self.assert_looks(partition, self.swatch("#swatch-unowned"))
        self.until_text("#fact-state", "336 slots unowned")
        self.assertEqual(self.text("#moves li >> nth=0 >> span"),
                         "21 partitions (336 slots) of pricing-2: unowned")
        self.world.share_out([0, 1])
        self.painted()
        for partition in lost:
            owner = self.world.processes[self.world.owner[partition]]["name"]
            self.assert_looks(partition, self.look(owner))
        self.until_text("#fact-moves", "336")
        self.assertRegex(self.text("#moves li >> nth=0 >> span"),
                         r"^21 partitions \(336 slots\): pricing-2 → pricing-0, pricing-1, "
                         r"unowned for at most \d+(\.\d)? s$")
        self.until_text("#processes-body", "owns nothing")

    def test_a_slot_on_its_way_shows_both_owners(self):
        self.open()
        partition = self.world.owned_by(1)[0]
        self.world.drain([partition], 2)
        self.painted()
        upper, lower = self.cell(partition)
        self.assertLessEqual(set(upper), set(self.look("pricing-1")))
        self.assertLessEqual(set(lower), set(self.look("pricing-2")))
        self.page.locator("#legend").get_by_role("button", name="draining").click()
        self.until_text("#slot-next", "pricing-2 at 10.0.0.3:7400")
        self.assertEqual(self.text("#slot-number"), str(partition))
        self.settled()
        self.assertNotEqual(self.cell(0), [self.look("pricing-0")] * 2)

    def test_the_strip_shows_what_was(self):
        self.open()
        canvas = self.page.locator("#strip")
        partition = self.world.owned_by(2)[0]
        box = canvas.bounding_box()
        y = box["height"] * (partition + 0.5) / 64
        canvas.hover(position={"x": box["width"] - 2, "y": y})
        self.until_text("#strip-readout", f"partition {partition}, pricing-2")
        canvas.hover(position={"x": 2, "y": y})
        self.until_text("#strip-readout", "not known to this page")

    def test_the_process_tells_what_it_did(self):
        self.open()
        self.world.did("stopped", 3, "superseded")
        self.world.did("stopped", 5, "superseded")
        self.world.did("released", 3)
        self.until_text("#transitions", "released")
        self.assertEqual(self.texts("#transitions li span"),
                         ["released 1 partition: 3", "stopped (superseded) 2 partitions: 3, 5"])

    def test_how_long_ago_an_owner_was_heard_of(self):
        self.open()
        row = self.page.locator("#processes-body tr", has_text="pricing-1").locator(".heard")
        self.until_text("#processes-body", "0.0 s ago")
        self.assertNotIn("late", row.text_content())
        self.world.fall_mute(1)
        self.until_text("#processes-body", "late: ")  # the lease is 9 s
        self.assertRegex(row.text_content(), r"^late: (4\.[5-9]|[5-9]\.\d|\d\d)\ss$")
        self.assertEqual(self.texts("#processes-body .late.number"), self.texts(".late.heard"))
        self.assertEqual(self.page.locator(".late.heard").count(), 1)
        self.page.get_by_role("button", name="heard", exact=True).click()
        self.assertEqual(self.texts("#processes-body .name")[0], "pricing-1")
        self.world.kill(1)
        self.until("() => ![...document.querySelectorAll('.heard')].some("
                   "(cell) => cell.textContent.includes('late'))")
        self.assertEqual(row.text_content(), "–")
        self.world.fall_silent()  # then nobody is heard of
        self.until("() => [...document.querySelectorAll('td.heard')].filter("
                   "(cell) => cell.textContent.includes('late')).length === 2")

    def test_ages_that_cannot_be_had_are_dashes(self):
        self.open()
        self.until_text("#processes-body", "0.0 s ago")
        self.server.ages_fail = True
        self.until("() => [...document.querySelectorAll('td.heard')].every("
                   "(cell) => cell.textContent === '–')")
        asked = self.server.paths.count("/v1/processes")
        self.assertEqual(self.text("#condition"), "Live")
        self.server.ages_fail = False
        self.until_text("#processes-body", "0.0 s ago")
        self.assertGreater(self.server.paths.count("/v1/processes"), asked)
        self.expect_broken_link = True
        self.server.go_away()
        self.condition("away")
        self.until("() => [...document.querySelectorAll('td.heard')].every("
                   "(cell) => cell.textContent === '–')")

    def test_what_others_write_is_never_markup(self):
        def hostile(what):
            return f"<img src=x alt='{what}' title=\"{what}\" onerror=alert(1)>&lt;{what}"

        world = World(64, 8)
        for text in ("group", "topic", "hash"):
            world.settings[text] = hostile(text)
        for name in ("name", "next"):
            world.join(hostile(name), hostile(f"{name}'s endpoint"),
                       **{hostile("tag"): hostile("value")})
        world.share_out([0])
        world.drain([0], 1)
        self.open(world)
        self.assertEqual(self.page.title(), hostile("group") + ": slots")
        for text in ("group", "topic", "hash", "name"):
            self.assertIn(hostile(text), self.text(".top .title"))
        row = self.page.locator("#processes-body tr >> nth=0")
        self.assertEqual(row.locator(".name").text_content(), hostile("name"))
        self.assertEqual(row.locator("td.endpoint").text_content(), hostile("name's endpoint"))
        self.assertEqual(row.locator(".tags").text_content(),
                         hostile("tag") + "=" + hostile("value"))
        self.until_text("#slot-next", hostile("next") + " at " + hostile("next's endpoint"))
        self.assertEqual(self.text("#slot-owner"), hostile("name"))
        self.assertEqual(self.text("#slot-endpoint"), hostile("name's endpoint"))

        # A key whose slot is on its way: its tag, which is hashed, decides.
        tag = next(tag for tag in map(hostile, range(999))
                   if binascii.crc_hqx(tag.encode(), 0) % 8 == 0)
        key = f"{{{tag}}}{hostile('key')}"
        self.page.fill("#lookup-value", key)
        self.page.press("#lookup-value", "Enter")
        self.until_text("#lookup-answer", key)
        for text in (f"“{tag}”", hostile("name"), hostile("name's endpoint"),
                     hostile("next"), hostile("next's endpoint"), hostile("hash")):
            self.assertIn(text, self.text("#lookup-answer"))
        self.assertIn(key, self.text("#said"))
        self.page.locator("#map").focus()
        self.page.keyboard.press("Control+Home")
        self.assertIn(hostile("next"), self.text("#said"))

        self.expect_broken_link = True  # a 400
        self.page.select_option("#lookup-by", "slot")
        self.page.fill("#lookup-value", hostile("slot"))
        self.page.press("#lookup-value", "Enter")
        self.until_text("#lookup-answer", f"slot is '{hostile('slot')}', expected")
        self.page.fill("#filter", hostile("nobody"))
        self.until_text("#processes-none", hostile("nobody"))
        world.did(hostile("event"), 0, hostile("reason"))
        self.until_text("#transitions", f"{hostile('event')} ({hostile('reason')})")
        world.kill(0)
        self.until_text("#moves", f"of {hostile('name')}: unowned")
        world.fall_silent()
        self.until_text("#banner", hostile("name"))
        self.assertEqual(self.page.locator("img, [onerror], [alt]").count(), 0)

    def test_nobody_is_there(self):
        self.open(scenarios.empty())
        self.assertIn("Nobody owns a slot.", self.text("#empty"))
        self.assert_looks(0, self.swatch("#swatch-unowned"))
        self.world.join("first")
        self.world.share_out()
        self.painted()
        self.page.wait_for_selector("#empty", state="hidden")
        self.assert_looks(0, self.look("first"))


class Used(PageCase):
    def look_up(self, value, by="key"):
        self.page.select_option("#lookup-by", by)
        self.page.fill("#lookup-value", value)
        self.page.press("#lookup-value", "Enter")

    def test_why_a_key_lands_where_it_does(self):
        self.open()
        value = binascii.crc_hqx("EURUSD".encode(), 0)  # Redis's CRC16 of the tag
        slot = value % 1024
        owner = self.world.processes[self.world.owner[slot % 64]]
        self.look_up("{EURUSD}:a b&c=ü")
        self.until_text("#lookup-answer", "{EURUSD}:a b&c=ü")
        answer = self.text("#lookup-answer")
        for part in ("only its tag “EURUSD” is hashed", f"{value:016x}", "hash mod 1,024 slots",
                     "slot mod 64 partitions", owner["name"], owner["endpoint"], "offset"):
            self.assertIn(part, answer)
        self.assertEqual(self.texts("#lookup-answer dd:not(.why)")[2:4], [str(slot),
                                                                         str(slot % 64)])
        self.assertEqual(self.text("#slot-number"), str(slot))
        self.assertEqual(self.text("#slot-owner"), owner["name"])

    def test_an_answer_follows_its_slot(self):
        self.open()
        partition = self.world.owned_by(1)[0]
        self.look_up(str(partition), by="slot")
        self.until_text("#lookup-answer", "pricing-1")
        self.world.give([partition], 2)
        self.until_text("#lookup-answer", "pricing-2")

    def test_a_refusal_is_shown(self):
        self.open()
        self.expect_broken_link = True  # the browser calls a 400 a resource that failed to load
        self.look_up("1024", by="slot")
        self.until_text("#lookup-answer", "slot is '1024', expected 0 to 1023")

    def test_filter_and_selection_highlight(self):
        self.open()
        mine, other = self.world.owned_by(2)[0], self.world.owned_by(1)[0]
        whole = self.look("pricing-1")
        self.page.fill("#filter", "zone=C")
        self.until_text("#processes-count", "1 of 3 processes")
        self.until("() => document.querySelectorAll('#processes-body tr').length === 1")
        self.until_looks(other, whole, faint=True)
        self.assert_looks(mine, self.look("pricing-2"))
        self.page.get_by_role("button", name="Clear").click()
        self.until("() => document.querySelectorAll('#processes-body tr').length === 3")
        self.until_looks(other, whole)
        button = self.page.get_by_role("button", name="pricing-1")
        button.click()
        self.assertEqual(button.get_attribute("aria-pressed"), "true")
        self.until_text("#processes-count", "1 selected")
        self.until_looks(mine, self.look("pricing-2"), faint=True)
        self.assert_looks(other, whole)
        self.page.fill("#filter", "nobody of this name")
        self.until_text("#processes-none", "No process matches “nobody of this name”.")

    def test_by_keyboard(self):
        self.open()
        self.page.locator("#map").focus()
        columns = int(self.page.get_attribute("#map", "data-columns"))
        slots = self.page.locator("#slot-number")
        for key, position in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1),
                              ("ArrowDown", columns + 1), ("Home", columns), ("ArrowUp", 0),
                              ("End", columns - 1), ("Control+End", 1023),
                              ("ArrowRight", 1023), ("Control+Home", 0), ("ArrowLeft", 0)):
            self.page.keyboard.press(key)
            slot = position % 16 * 64 + position // 16  # 16 slots a partition, side by side
            self.assertEqual(slots.text_content().replace(",", ""), str(slot), key)
            self.assertRegex(self.text("#said"),
                             f"^Slot {slot}, partition {slot % 64}, (local|remote), owner pricing")
        self.page.keyboard.press("Enter")
        self.until_text("#processes-count", "1 selected")
        self.page.keyboard.press("Escape")
        self.until_text("#processes-count", "3 processes")

    def test_by_pointer(self):
        self.open()
        cell = float(self.page.get_attribute("#map", "data-cell"))
        self.page.locator("#map").hover(position={"x": 1.5 * cell, "y": 0.5 * cell})
        self.until_text("#slot-number", "64")
        self.page.locator("#map").click(position={"x": 2.5 * cell, "y": 0.5 * cell})
        self.until_text("#slot-number", "128")
        self.page.mouse.move(0, 0)
        self.until_text("#slot-number", "128")

    def test_orders_and_zoom(self):
        self.open()
        self.page.get_by_label("owner", exact=True).check()
        self.world.kill(1)
        self.painted()
        self.assert_looks(0, self.swatch("#swatch-unowned"))  # nobody's come first
        self.page.get_by_label("slot", exact=True).check()
        self.until_text("#map-rows", "every 64th")
        before = float(self.page.get_attribute("#map", "data-cell"))
        self.page.get_by_role("button", name="Larger cells").click()
        self.until("before => document.querySelector('#map').dataset.cell > before", before)
        self.page.get_by_role("button", name="Fit").click()
        self.until("before => Number(document.querySelector('#map').dataset.cell) === before",
                   before)


class Away(PageCase):
    def seconds_of(self, selector):
        return float(self.text(selector).split(" s")[0])

    def test_the_ledger_falls_silent_and_answers_again(self):
        self.open()
        self.world.fall_silent()
        self.condition("silent")
        self.until_text("#banner", "The ledger has not answered pricing-0 for")
        self.assertEqual(self.text("#condition"), "Ledger silent")
        self.until_text("#fact-state", "ago: every slot has an owner")
        first = self.seconds_of("#fact-age")
        self.until("first => parseFloat(document.querySelector('#fact-age').textContent) > first",
                   first)
        self.world.forget()
        self.until_text("#fact-state", "1,024 slots unknown")
        self.until_text("#banner", "Every lease has ended since")
        self.painted()
        self.assert_looks(0, self.swatch("#swatch-unknown"))
        self.world.answer_again()
        self.condition("live")
        self.page.wait_for_selector("#banner", state="hidden")
        self.painted()
        self.assert_looks(0, self.look("pricing-0"))

    def test_a_view_that_is_not_whole_is_called_so(self):
        self.open()
        self.world.forget()
        self.condition("reading")
        self.until_text("#banner", "pricing-0 does not know the owners of 1,024 slots yet")

    def test_a_stream_that_breaks_comes_back(self):
        self.open()
        self.expect_broken_link = True
        self.server.go_away()
        self.condition("away")
        self.until_text("#banner", "Nothing received from pricing-0 for")
        lost = self.world.kill(2)
        self.world.share_out([0, 1])
        self.server.come_back()
        self.condition("live")
        self.painted()
        for partition in lost:
            owner = self.world.processes[self.world.owner[partition]]["name"]
            self.assert_looks(partition, self.look(owner))
        self.until_text("#moves", "21 partitions (336 slots): pricing-2 → pricing-0, pricing-1")

    def test_a_stream_that_falls_mute_is_opened_again(self):
        self.open()
        self.server.fall_mute()
        self.condition("away")
        self.server.speak_again()
        self.condition("live")
        self.assertGreater(self.server.paths.count("/v1/events"), 1)
        self.assertEqual(self.text("#condition"), "Live")


class Long(PageCase):
    """A page that stays open."""

    def owners(self, wanted):
        self.until("wanted => Number(document.querySelector('#map').dataset.owners) === wanted",
                   wanted)

    def rows_alive(self):
        """Rows that the page holds on to, in the table or not, once garbage is collected."""
        # Asynchronous: with an empty stack, on which nothing may look like a pointer to a row.
        return self.page.evaluate("""async () => {
          await gc({type: 'major', execution: 'async'});
          return rowsMade.filter((row) => row.deref()).length;
        }""")

    def test_who_is_long_gone_is_forgotten(self):
        restarts = 300
        world = scenarios.three()
        self.open(world, script=TURNED_CLOCK + ROWS_MADE)
        name = "pricing-2"
        for number in range(restarts):
            lost = world.kill(2)
            name = f"looping-{number}"
            world.give(lost, world.join(name))
            world.renumber()  # so often no process does
        self.painted()
        self.owners(3 + restarts)  # the strip shows them all
        self.until_text("#processes-count", f"{3 + restarts} processes")
        self.page.locator("#processes-more").click()
        self.until("() => document.querySelectorAll('#processes-body tr').length > 100")
        self.page.fill("#filter", "looping-7")
        selected = self.page.get_by_role("button", name="looping-7", exact=True)
        selected.click()
        self.page.fill("#filter", "")
        self.assertGreater(self.rows_alive(), 100)

        self.page.evaluate("() => { turned += 620e3; }")
        self.owners(4)  # who is selected stays
        self.until_text("#processes-count", "3 processes · 1 selected")
        self.page.get_by_role("button", name="Clear").click()
        self.owners(3)
        self.until("() => document.querySelectorAll('#processes-body tr').length === 3")
        wait_until(lambda: self.rows_alive() == 3, 20, lambda: f"{self.rows_alive()} rows, not 3")
        for slot in range(0, world.slots, 7):
            self.assert_looks(slot, self.look(world.processes[world.owner[slot % 64]]["name"]))

        lost = world.kill(2)  # whom nobody follows is remembered, however long ago
        self.painted()
        self.page.evaluate("() => { turned += 620e3; }")
        world.join("idle")
        world.tell([])
        self.owners(4)
        self.owners(3)
        world.give(lost, 0)
        self.until_text("#moves", f"{len(lost)} partitions ({16 * len(lost)} slots): "
                                  f"{name} → pricing-0")
        self.owners(2)
        self.until_text("#processes-count", "2 processes")
        world.give(lost, 3)  # forgotten, and named again by the number it was told with
        self.painted()
        self.until_text("#processes-body", "idle")
        self.assert_looks(lost[0], self.look("idle"))

    def test_a_line_of_moves_ends(self):
        """However fast somebody restarts."""
        self.open(script=HELD_CLOCK)
        for number in range(50):
            self.world.give([0], 1 - number % 2)
            self.painted()
            self.page.evaluate("() => { turned += 500; }")
        self.assertEqual(len(self.texts("#moves li")), 2)


class Sizes(PageCase):
    def frames_between(self, version):
        """How many frames after its arrival a version was painted."""
        watched = self.page.evaluate("() => watched")
        return watched["painted"][str(version)] - watched["arrived"][str(version)]

    def test_a_hundred_thousand_slots(self):
        world = scenarios.hundred_thousand()
        self.open(world, size={"width": 1280, "height": 1000})
        self.assertLessEqual(self.frames_between(world.version), 2)
        looks = [self.look(process["name"]) for process in world.processes]
        for slot in range(0, world.slots, 997):
            self.assert_looks(slot, looks[world.owner[slot % 250]])
        self.settled()
        self.page.evaluate("() => { watched.rows = []; }")
        partition = world.owned_by(3)[0]
        world.give([partition], 5)
        self.painted()
        self.assertLessEqual(self.frames_between(world.version), 2)
        self.assert_looks(partition, looks[5])
        height = self.page.evaluate("() => document.querySelector('#map').height")
        cell = float(self.page.get_attribute("#map", "data-cell"))
        self.assertEqual(len(self.page.evaluate("() => watched.rows")), 1)
        self.assertLessEqual(self.page.evaluate("() => watched.rows[0]"), 2 * cell)
        self.assertGreater(height, 100 * cell)

    def test_changes_that_come_together_are_painted_together(self):
        world = scenarios.hundred_thousand()
        self.open(world)
        before = self.page.evaluate("() => [watched.frame, watched.rows.length]")
        for partition in range(100):
            world.give([partition], 1)
        self.painted()
        after = self.page.evaluate("() => [watched.frame, watched.rows.length]")
        self.assertLessEqual(after[1] - before[1], after[0] - before[0])
        self.assertLessEqual(self.frames_between(world.version), 2)

    def test_two_thousand_owners_of_65536_partitions(self):
        world = scenarios.many_owners()
        self.open(world)
        self.assertEqual(self.text("#fact-processes"), "2,000")
        self.assertEqual(len(self.texts("#processes-body tr")), 12)
        self.page.locator("#processes-more").click()
        self.assertEqual(len(self.texts("#processes-body tr")), 112)
        self.page.fill("#filter", "shard-1234")
        self.until_text("#processes-count", "1 of 2,000 processes")
        slot = world.owned_by(1234)[0]
        self.assert_looks(slot, self.look("shard-1234"))
        lost = world.kill(1234)
        self.painted()
        self.assertLessEqual(self.frames_between(world.version), 2)
        self.until_text("#moves", f"{len(lost)} partitions ({len(lost)} slots) of shard-1234")

    def test_a_million_slots_scroll(self):
        world = World(1 << 20, 64, ["one", "two"])
        world.share_out()
        self.open(world)
        self.page.locator("#map").focus()
        self.page.keyboard.press("Control+End")
        self.until_text("#slot-number", "1,048,575")
        self.until("() => document.querySelector('#map-scroll').scrollTop > 100")


if __name__ == "__main__":
    unittest.main(verbosity=2)
