#!/usr/bin/env python3
"""The slot page of a process that counts requests, and of one that does not.   requests_test.py"""
import re
import unittest

from page_case import PageCase
from browser import scenarios

PROXY = {"served": 0, "forwarded": 0, "misdirected": 0, "waited": 0, "refused": 0, "unowned": 0,
         "unreachable": 0, "failed": 0}


class Requests(PageCase):
    def shown(self):
        """What each row says that is visible: {label: (rate, how many in all)}."""
        rows = {}
        for row in self.page.locator("#requests dl > div:not([hidden])").all():
            label, rate, total = (row.locator(what).text_content()
                                  for what in ("dt", ".rate", ".hint"))
            rows[label] = rate, int(re.fullmatch(r"([\d,]+) in all", total)[1].replace(",", ""))
        return rows

    def until_rate(self, kind, more_than):
        """Waits until there is a rate, and it is greater."""
        self.until("""([kind, least]) => Number(document.querySelector(`#requests-${kind} .rate`)
            .textContent.replaceAll(',', '')) > least""", [kind, more_than])

    def until_asked(self, times):
        """Waits until the page has been answered so often."""
        self.until("""(times) => performance.getEntriesByType('resource').filter(
            ({name}) => name.endsWith('/v1/requests')).length >= times""", times)

    def test_a_process_that_counts_none_shows_none(self):
        for source in ("none", "admit", "proxy"):
            world = scenarios.three()
            world.requests = {"source": source}
            if source != "none":
                world.count(served=0, waited=0, refused=0)
            self.open(world)
            self.until_asked(2)
            self.settled()
            self.assertFalse(self.page.locator("#requests").is_visible(), source)

    def test_an_owner_before_an_application(self):
        world = scenarios.three()
        world.requests = {"source": "proxy", **PROXY}
        self.open(world)
        world.count(served=1200, forwarded=30, misdirected=4, refused=2)
        self.page.locator("#requests").wait_for()
        self.assertEqual(self.text("#requests-title"), "Requests")
        self.until_text("#requests-by", "per second, in this process")
        self.assertEqual({label: total for label, (_, total) in self.shown().items()},
                         {"served here": 1200, "forwarded": 30, "misdirected": 4, "waited": 0,
                          "refused": 2})
        self.until("() => document.querySelector('#requests-waited .rate').textContent === '0'")
        world.count(served=6000, forwarded=40)
        self.until_rate("served", 100)
        self.until_rate("forwarded", 1)
        self.until("() => document.querySelector('#requests-served .hint').textContent"
                   " === '7,200 in all'")
        self.assertEqual(self.page.locator("#requests .late").count(), 0)
        self.assertFalse(self.page.locator("#requests-failed").is_visible())
        world.count(failed=50, unowned=10, unreachable=20)
        self.page.locator("#requests-failed .late").wait_for()
        self.assertEqual(self.shown()["no owner"][1], 10)
        self.assertEqual(self.shown()["unreachable"][1], 20)
        self.assertEqual(self.shown()["failed"][1], 50)

    def test_an_application_that_admits_requests(self):
        world = scenarios.three()
        world.requests = {"source": "admit", "served": 7, "redirected": 2, "waited": 1,
                          "refused": 0}
        self.open(world)
        self.page.locator("#requests").wait_for()
        self.until_text("#requests-by", "per second, as admit() answered here")
        self.assertEqual({label: total for label, (_, total) in self.shown().items()},
                         {"served here": 7, "redirected": 2, "waited": 1, "refused": 0})

    def test_rates_are_dashes_while_they_are_not_known(self):
        """At first; when another process counts, from less; and when nobody answers."""
        world = scenarios.three()
        world.requests = {"source": "proxy", **PROXY, "served": 900}
        self.open(world)
        dash = "() => document.querySelector('#requests-served .rate').textContent === '–'"
        self.until(dash)
        world.count(served=5000)
        self.until_rate("served", 10)
        world.requests = {"source": "proxy", **PROXY, "served": 3}  # it was started again
        self.until("() => document.querySelector('#requests-served').textContent"
                   " === 'served here–3 in all'")
        world.count(served=5000)
        self.until_rate("served", 10)
        self.expect_broken_link = True
        self.server.go_away()
        self.condition("away")
        self.until(dash)
        self.assertEqual(self.shown()["served here"][1], 5003, "what was counted by then")

    def test_a_narrow_window_has_it_below_all_others(self):
        world = scenarios.three()
        world.requests = {"source": "proxy", **PROXY, "served": 3}
        for width in (390, 900):
            self.open(world, size={"width": width, "height": 800})
            self.page.locator("#requests").wait_for()
            self.until("""() => {
              const box = document.querySelector('#requests').getBoundingClientRect();
              return box.top >= document.querySelector('#recent').getBoundingClientRect().bottom
                && box.right <= innerWidth && document.documentElement.scrollWidth <= innerWidth;
            }""")


if __name__ == "__main__":
    unittest.main(verbosity=2)
