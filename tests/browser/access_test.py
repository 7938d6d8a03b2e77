#!/usr/bin/env python3
"""The slot page for everybody: names and roles, contrast, themes, a phone; and the modules that no
eye can judge, looks and layout.   access_test.py [TEST...]"""
import itertools
import math
import unittest

from page_case import PageCase
from browser import scenarios
from browser.server import Server

TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11
PHONE = {"width": 390, "height": 844}

# Every piece of text that is seen: [text, its colour, what is behind it from near to far].
TEXTS = """
  () => {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode.parentElement;
      if (walk.currentNode.data.trim() && node.checkVisibility({visibilityProperty: true})
          && !['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(node.tagName)
          && !node.closest('.unseen')) {
        const behind = [];
        for (let at = node; at; at = at.parentElement) {
          behind.push(getComputedStyle(at).backgroundColor);
        }
        found.push([walk.currentNode.data.trim(), getComputedStyle(node).color, behind]);
      }
    }
    return found;
  }
"""

# What each kind of colour vision makes of linear RGB (Machado, Oliveira and Fernandes 2009).
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red cones": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                     (-0.003882, -0.048116, 1.051998)),
    "no green cones": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                       (-0.011820, 0.042940, 0.968881)),
    "no blue cones": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                      (0.004733, 0.691367, 0.303900)),
}


def linear(part):
    part /= 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def contrast(one, other):
    lights = sorted(0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05
                    for r, g, b in (one, other))
    return lights[1] / lights[0]


def parsed(colour):
    """The (red, green, blue) and the opacity of a computed colour."""
    kind, _, inside = colour.rstrip(")").partition("(")
    parts = [float(part) for part in inside.replace("srgb", "").replace("/", " ")
             .replace(",", " ").split()]
    scale = 255 if kind == "color" else 1
    return [scale * part for part in parts[:3]], parts[3] if len(parts) > 3 else 1


def behind(layers):
    """The colour that layers, from near to far, make together."""
    colour, left = [0.0, 0.0, 0.0], 1.0
    for layer in layers:
        rgb, opacity = parsed(layer)
        colour = [have + left * opacity * part for have, part in zip(colour, rgb)]
        left *= 1 - opacity
    return [have + left * 255 for have in colour]


def oklab(linear_rgb):
    red, green, blue = linear_rgb
    cones = [max(0.0, cone) ** (1 / 3) for cone in (
        0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
        0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
        0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)]
    return [sum(weight * cone for weight, cone in zip(row, cones)) for row in (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660))]


class Everybody(PageCase):
    def test_text_can_be_read(self):
        for colours in ("light", "dark"):
            self.open(colours=colours)
            self.world.kill(2)
            self.page.fill("#lookup-value", "a")
            self.page.press("#lookup-value", "Enter")
            self.page.wait_for_selector("#lookup-answer dl")
            self.page.get_by_role("button", name="pricing-1").click()
            self.world.fall_silent()
            self.condition("silent")
            self.check_texts(colours)
            self.expect_broken_link = True
            self.server.go_away()
            self.condition("away")
            self.check_texts(colours)

    def check_texts(self, colours):
        texts = self.page.evaluate(TEXTS)
        self.assertGreater(len(texts), 60)
        for text, colour, layers in texts:
            have = contrast(parsed(colour)[0], behind(layers))
            self.assertGreaterEqual(have, TEXT_CONTRAST, f"{colours}: '{text}' {colour} {layers}")

    def test_marks_can_be_seen(self):
        """Frames of controls, the cursor and what is unowned, against what is around them."""
        for colours in ("light", "dark"):
            self.open(colours=colours)
            ground = self.colour("--panel")
            for mark in ("--control", "--focus", "--text", "--bar", "--unowned"):
                have = contrast(self.colour(mark), ground)
                self.assertGreaterEqual(have, MARK_CONTRAST, f"{colours}: {mark}")

    def colour(self, name):
        script = """(name) => {
          const probe = document.createElement('p');
          probe.style.color = `var(${name})`;
          document.body.append(probe);
          const {color} = getComputedStyle(probe);
          probe.remove();
          return color;
        }"""
        return parsed(self.page.evaluate(script, name))[0]

    def test_every_control_has_a_name_and_a_role(self):
        self.open()
        tree = self.page.context.new_cdp_session(self.page).send("Accessibility.getFullAXTree")
        named = {}
        for node in tree["nodes"]:
            role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
            named.setdefault(role, []).append(name)
        for role, least in {"button": 16, "radio": 6, "textbox": 1, "searchbox": 1, "combobox": 1,
                            "application": 1, "table": 1, "columnheader": 7, "rowheader": 3,
                            "heading": 9, "region": 7, "main": 1, "status": 3}.items():
            self.assertGreaterEqual(len(named.get(role, [])), least, role)
            if role not in ("table", "main", "status"):
                self.assertNotIn("", named[role], role)
        self.assertEqual(named["application"],
                         ["Slot map: 1024 slots on 64 partitions, 3 owners, 0 unowned"])

    def test_controls_are_reached_by_tab_alone(self):
        self.open()
        reached = set()
        for _ in range(40):
            self.page.keyboard.press("Tab")
            reached.add(self.page.evaluate(
                "() => document.activeElement.id || document.activeElement.textContent.trim()"
                " || document.activeElement.value"))
        for wanted in ("map", "zoom-in", "filter", "lookup-value", "pricing-2", "auto"):
            self.assertIn(wanted, reached)

    def test_the_switch_of_colours(self):
        self.open(colours="light")
        light, cells = self.colour("--ground"), self.swatch("#swatch-unowned")
        self.page.get_by_label("Dark").check()
        dark = self.colour("--ground")
        self.assertGreater(sum(light), 3 * sum(dark))
        self.assertNotEqual(self.swatch("#swatch-unowned"), cells)
        self.page.reload()
        self.painted()
        self.assertEqual(self.colour("--ground"), dark)
        self.page.get_by_label("Auto").check()
        self.assertEqual(self.colour("--ground"), light)
        self.page.emulate_media(color_scheme="dark")
        self.assertEqual(self.colour("--ground"), dark)

    def test_the_table_fits_every_width(self):
        world = scenarios.three()
        # As of a process that was given none.
        world.processes[1]["name"] = "quotes-host-17_4711_1763800000123"
        self.open(world)
        self.world.drain(self.world.owned_by(1), 0)
        self.world.fall_mute(1)
        self.until_text("#processes-body", "late: ")
        for width in (360, 390, 720, 730, 1024, 1100, 1200, 1280, 1360, 1920):
            self.page.set_viewport_size({"width": width, "height": 900})
            inside, whole = self.page.locator(".table").evaluate(
                "(table) => [table.clientWidth, table.scrollWidth]")
            self.assertEqual(whole, inside, width)

    def test_nothing_is_wider_than_a_phone(self):
        for world in (scenarios.hundred_thousand(), scenarios.three()):
            self.open(world, size=PHONE, has_touch=True, device_scale_factor=3)
            self.until_text("#processes-body .age", "heard 0.0 s ago")
            self.assertEqual(self.page.evaluate("() => document.documentElement.scrollWidth"), 390)
            self.assert_looks(0, self.look(world.processes[0]["name"]))
        cell = float(self.page.get_attribute("#map", "data-cell"))
        self.page.locator("#map").tap(position={"x": 1.5 * cell, "y": 0.5 * cell})
        self.until_text("#slot-number", "64")


class Behind(PageCase):
    def test_a_proxy_may_serve_it_under_a_path_of_its_own(self):
        """check_pages() sees that it asks for nothing beside that path."""
        self.world = scenarios.three()
        self.server = Server(self.world)
        self.addCleanup(self.server.stop)
        self.server.prefix = "/ops/orders"
        self.visit(self.server.url + "ops/orders/")
        self.painted()
        self.page.fill("#lookup-value", "user:1000")
        self.page.click("#lookup button")
        self.until_text("#lookup-answer", "pricing-")
        self.until_text("#processes-body", "s ago")


class Modules(PageCase):
    """Single modules, imported as they are in the source."""

    def module(self, name, script, argument=None):
        self.open()
        self.page.goto(self.server.url + "page/")  # not bound by the page's own policy
        return self.page.evaluate(
            f"async (argument) => {{ const m = await import('/page/{name}'); {script} }}", argument)

    def test_a_look_follows_from_a_name_for_ever(self):
        """Whoever changes these numbers makes two versions of the page disagree."""
        names = ["pricing-0", "pricing-1", "pricing-12", "host_7_1763800000123", "ä", ""]
        self.assertEqual(self.module("looks.js", "return argument.map(m.lookOf)", names),
                         [0, 1, 12, 73, 2, 37])

    def test_processes_of_one_group_do_not_look_alike(self):
        names = [f"orders-{number}" for number in range(96)]
        looks = self.module("looks.js", "return argument.map(m.lookOf)", names)
        self.assertEqual(len(set(looks)), 96)

    def test_colours_differ_for_every_eye(self):
        colours = self.module("looks.js", "return m.COLOURS")
        rgb = [[linear(int(colour[at:at + 2], 16)) for at in (1, 3, 5)] for colour in colours]
        for vision, matrix in VISIONS.items():
            seen = [oklab([min(1, max(0, sum(weight * part for weight, part in zip(row, colour))))
                           for row in matrix]) for colour in rgb]
            for (one, a), (other, b) in itertools.combinations(zip(colours, seen), 2):
                self.assertGreater(math.dist(a, b), 0.085, f"{vision}: {one} and {other}")

    def test_patterns_differ_and_can_be_seen(self):
        patterns = self.module("looks.js", """return m.PATTERNS.map((has) =>
            Array.from({length: 64}, (_, at) => Number(has(at % 8, at >> 3))));""")
        for one, other in itertools.combinations(patterns, 2):
            self.assertGreaterEqual(sum(a != b for a, b in zip(one, other)), 4)
        tiles = self.module("looks.js", """const theme = {panel: [255, 255, 255], text: [0, 0, 0],
            unowned: [1, 1, 1], unownedGround: [2, 2, 2], unknown: [3, 3, 3],
            unknownGround: [4, 4, 4]};
          const tiles = new m.Tiles(theme, 1);
          return Array.from({length: 96}, (_, at) => [...new Set(tiles.ofName(`x${at}`))]);""")
        two = [tile for tile in tiles if len(tile) == 2]
        self.assertEqual(len(two), 84)  # one of eight patterns is none
        for one, other in two:
            ground, ink = ([pixel >> shift & 255 for shift in (0, 8, 16)] for pixel in (one, other))
            self.assertGreaterEqual(contrast(ground, ink), 1.5)

    def test_each_slot_has_one_place_in_every_order(self):
        wrong = self.module("layout.js", """
          const wrong = [];
          for (const [slots, partitions] of [[1024, 64], [1000, 64], [7, 7], [65, 64], [1, 1]]) {
            const sizes = {slots, partitions};
            const state = Int32Array.from({length: partitions}, (_, p) => (p * 7) % 4 - 1);
            const owners = [{name: 'b'}, {name: 'a-10'}, {name: 'a-9'}];
            for (const [kind, sequence] of [['slot', null], ['partition', m.byNumber(partitions)],
              ['owner', m.byOwner(state, owners)]]) {
              const order = new m.Order(sizes, kind, sequence);
              const seen = new Set();
              order.each(0, slots, (position, partition) => {
                const slot = order.slotAt(position);
                seen.add(slot);
                const at = order.positionsOf(partition);
                if (slot % partitions !== partition || order.positionOf(slot) !== position
                    || (position - at.first) % at.step !== 0
                    || (position - at.first) / at.step >= at.count) {
                  wrong.push([slots, partitions, kind, position]);
                }
              });
              if (seen.size !== slots) {
                wrong.push([slots, partitions, kind, 'misses some']);
              }
            }
          }
          return wrong;""")
        self.assertEqual(wrong, [])

    def test_durations(self):
        texts = self.module("format.js", "return argument.map(m.duration)",
                            [0, 940, 9_949, 9_951, 59_400, 59_600, 200_000, 7_500_000, 349_200_000])
        self.assertEqual([text.replace("\xa0", " ") for text in texts],
                         ["0.0 s", "0.9 s", "9.9 s", "10 s", "59 s", "1 min", "3 min 20 s",
                          "2 h 5 min", "4 d 1 h"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
