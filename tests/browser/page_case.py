"""What the tests of the slot page share: a browser, a page with a World behind it, its pixels."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import chromium, scenarios  # noqa: E402
from browser.server import Server  # noqa: E402

DESK = {"width": 1280, "height": 900}
TIMEOUT_MS = 60_000  # on a busy machine; what is waited for usually comes at once

# Counts frames, and notes in which of them a version arrived and was painted, and how many rows of
# pixels each painting of the map replaced.
WATCH = """
  window.watched = {frame: 0, last: 0, arrived: {}, painted: {}, rows: []};
  const count = () => { watched.frame++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function(name, handler) {
    listen.call(this, name, (event) => {
      if (name === 'view' || name === 'changed') {
        watched.arrived[JSON.parse(event.data).version] = watched.frame;
      }
      handler(event);
    });
  };
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function(image, ...where) {
    if (this.canvas.id === 'map') {
      watched.last = watched.frame;
      watched.rows.push(where.length > 2 ? where[5] : image.height);
    }
    put.call(this, image, ...where);
  };
  new MutationObserver((changes) => {
    for (const {target} of changes) {
      if (target.id === 'map') {
        watched.painted[target.dataset.version] ??= watched.frame;
      }
    }
  }).observe(document, {subtree: true, attributeFilter: ['data-version']});
"""

# The colours in the middle of a slot's cell, upper left and lower right half apart.
CELL = """
  ([slot, slots, partitions]) => {
    const map = document.querySelector('#map');
    const each = Math.floor(slots / partitions);
    const position = (slot % partitions) * each + Math.floor(slot / partitions);
    const {cell, columns} = map.dataset;
    const side = cell * devicePixelRatio;
    const left = (position % columns) * side;
    const top = Math.floor(position / columns) * side;
    const inner = side < 5 ? side : side - Math.round(devicePixelRatio); // a gap
    const {data} = map.getContext('2d').getImageData(left, top, inner, inner);
    const halves = [new Set(), new Set()];
    for (let y = 0; y < inner; y++) {
      for (let x = 0; x < inner; x++) {
        const at = 4 * (y * inner + x);
        halves[x + y >= inner ? 1 : 0].add(data.slice(at, at + 3).join(' '));
      }
    }
    return halves.map((colours) => [...colours].sort());
  }
"""
SWATCH = """
  (canvas) => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) {
      colours.add(data.slice(at, at + 3).join(' '));
    }
    return [...colours].sort();
  }
"""
# The page's clock, to be turned on.
TURNED_CLOCK = """
  window.turned = 0;
  const now = performance.now.bind(performance);
  performance.now = () => now() + turned;
"""

# One that only the test moves on.
HELD_CLOCK = """
  window.turned = performance.now();
  performance.now = () => turned;
"""

# Every row that the page makes, for as long as somebody holds on to it.
ROWS_MADE = """
  window.rowsMade = [];
  const create = Document.prototype.createElement;
  Document.prototype.createElement = function(tag, ...rest) {
    const node = create.call(this, tag, ...rest);
    if (tag === 'tr') rowsMade.push(new WeakRef(node));
    return node;
  };
"""


class PageCase(unittest.TestCase):
    """Each test has a page of its own; no page may complain, or ask anybody but its server."""

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(chromium.launched())

    def setUp(self):
        self.page = None
        self.complaints, self.asked = [], []
        self.servers = ["data:"]
        self.expect_broken_link = False
        self.addCleanup(self.check_pages)

    def open(self, world=None, colours="light", size=None, script=None, **context):
        """The page, with this world behind it, once it shows it; one that is open is closed."""
        self.world = world or scenarios.three()
        self.server = Server(self.world)
        self.addCleanup(self.server.stop)
        self.visit(self.server.url, colours, size, script, **context)
        self.painted()
        return self.page

    def visit(self, url, colours="light", size=None, script=None, **context):
        """The page that is served there; one that is open is closed. script: runs before it."""
        if self.page:
            self.page.close()
        self.page = self.browser.new_page(
            viewport=size or DESK, color_scheme=colours, **context)
        self.addCleanup(self.page.close)
        self.page.set_default_timeout(TIMEOUT_MS)
        self.servers.append(url)
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.add_init_script(WATCH)
        if script:
            self.page.add_init_script(script)
        self.page.goto(url)

    def hear(self, message):
        broken = self.expect_broken_link and "Failed to load resource" in message.text
        ours = "willReadFrequently" in message.text  # only tests read what the page has painted
        if message.type in ("error", "warning") and not (broken or ours):
            self.complaints.append(message.text)

    def check_pages(self):
        self.assertEqual(self.complaints, [])
        elsewhere = [url for url in self.asked if not url.startswith(tuple(self.servers))]
        self.assertEqual(elsewhere, [])

    # --- Waiting --------------------------------------------------------------------------------

    def until(self, script, argument=None):
        """Waits until a function of JavaScript says true."""
        self.page.wait_for_function(script, arg=argument, timeout=TIMEOUT_MS)

    def painted(self):
        """Waits until the map shows the world's newest version."""
        self.until("version => Number(document.querySelector('#map').dataset.version) >= version",
                   self.world.version)

    def settled(self):
        """Waits until nothing was painted for some frames: all that comes with a load has come."""
        self.until("() => watched.frame > watched.last + 5")

    def until_text(self, selector, text):
        self.until("([selector, text]) => document.querySelector(selector).textContent"
                   ".replaceAll('\\u00a0', ' ').includes(text)", [selector, text])

    def condition(self, kind):
        self.page.wait_for_selector(f"html[data-condition={kind}]")

    def until_looks(self, slot, look, faint=False):
        """Waits until the cell shows this look's colours and no other; faint: none of them."""
        self.until(f"([where, look, faint]) => ({CELL})(where).every((half) => half.length > 0"
                   " && half.every((colour) => look.includes(colour) !== faint))",
                   [[slot, self.world.slots, self.world.partitions], look, faint])

    # --- Looking --------------------------------------------------------------------------------

    def text(self, selector):
        return " ".join(self.page.text_content(selector).split())

    def texts(self, selector):
        return [" ".join(text.split()) for text in self.page.locator(selector).all_text_contents()]

    def cell(self, slot):
        """The colours of a slot's cell: of its upper left half, and of its lower right one."""
        return self.page.evaluate(CELL, [slot, self.world.slots, self.world.partitions])

    def look(self, name):
        """The colours of a process, as the swatch beside its name has them."""
        row = self.page.locator("#processes-body tr", has=self.page.get_by_text(name, exact=True))
        return row.locator("canvas.swatch").evaluate(SWATCH)

    def swatch(self, selector):
        return self.page.locator(selector).evaluate(SWATCH)

    def assert_looks(self, slot, look):
        """The cell shows this look's colours and no other: a small cell may lack the ink."""
        for half in self.cell(slot):
            self.assertLessEqual(set(half), set(look), f"slot {slot}")
            self.assertTrue(half)
