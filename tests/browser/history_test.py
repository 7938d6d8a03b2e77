#!/usr/bin/env python3
"""What the slot page shows of the time before it was opened.   history_test.py"""
import unittest

from page_case import PageCase
from browser import scenarios


class History(PageCase):
    def test_who_opens_it_after_an_alert_sees_what_moved(self):
        world = scenarios.three()
        gone = world.join("pricing-gone")
        two, gone = world.processes[2], world.processes[gone]
        world.moves = {
            "reach_ms": 300_000, "processes": [gone, two],
            "moves": [[120_000, 0, -1, "0-3,7"], [80_000, -1, 1, "0-3,7"]]}
        world.give([0, 1, 2, 3, 7], 2)
        self.open(world)
        self.until_text("#moves", "pricing-gone")
        self.assertEqual(self.texts("#moves li > span"), [
            "5 partitions (80 slots): pricing-gone → pricing-2, unowned for at most 40 s",
            "5 partitions (80 slots) of pricing-gone: unowned"])
        self.until_text("#fact-moves", "80")
        strip = self.page.locator("#strip")
        for ago, who in ((60, "pricing-2"), (115, "unowned"), (200, "pricing-gone"),
                         (400, "not known to this page")):
            box = strip.bounding_box()
            strip.hover(position={"x": box["width"] * (1 - ago / 600),
                                  "y": box["height"] * 0.5 / 64})
            self.until_text("#strip-readout", f"partition 0, {who}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
