// Joins the parts: the stream's events go to the view, and from there to the modules that show it.
import { byId, setShown, setText } from "./dom.js";
import { startTheme, themeColour } from "./theme.js";
import { Tiles, paintSwatch } from "./looks.js";
import { History } from "./history.js";
import { UNKNOWN, UNOWNED, View, VERDICTS } from "./view.js";
import { Stream } from "./stream.js";
import { Ages } from "./ages.js";
import { SlotMap } from "./map.js";
import { STRIP_MS, Strip } from "./strip.js";
import { conditionOf, showCondition, showFacts, showSettings } from "./summary.js";
import { Processes } from "./processes.js";
import { Details, sentenceOf } from "./details.js";
import { Lookup } from "./lookup.js";
import { Moves } from "./moves.js";
import { Requests } from "./requests.js";

const CLOCK_MS = 500; // how often ages are updated
const STRIP_EVERY_MS = 1000;
const TABLE_EVERY_MS = 400; // at most so often, however fast slots move
const FORGET_EVERY_MS = 5000;

const view = new View(new History());
const moves = new Moves(view);
const details = new Details(view);
const strip = new Strip(view);
const processes = new Processes(view, highlight);
const map = new SlotMap(view, {
  onPoint: (slot) => details.showSlot(slot ?? map.cursor),
  onCursor: (slot) => {
    details.showSlot(slot);
    setText(byId("said"), sentenceOf(view, slot));
  },
  onPick: (partition) => {
    const owner = view.ownerOf(partition);
    if (owner) {
      processes.toggle(owner);
    }
  },
  onEscape: () => {
    pickVerdict(null);
    processes.clear();
  },
});
const lookup = new Lookup(view, (slot) => map.moveTo(slot));

// --- What stands out -----------------------------------------------------------------------------

let picked = null; // a verdict, or "draining"

function hasPicked(partition) {
  return picked === "draining" ? view.draining[partition] === 1
    : VERDICTS[view.verdict[partition]] === picked;
}

function highlight() {
  if (!view.known) {
    return;
  }
  const accepted = processes.restricts
    ? Uint8Array.from(view.owners, (owner) => (processes.accepts(owner) ? 1 : 0)) : null;
  map.setLit((partition) => (picked === null || hasPicked(partition))
    && (accepted === null || accepted[view.state[partition]] === 1
      || accepted[view.next[partition]] === 1));
}

function pickVerdict(name) {
  picked = picked === name ? null : name;
  for (const button of byId("legend").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", button.value === picked);
  }
  highlight();
  if (picked !== null && view.known) {
    const first = view.state.findIndex((_, partition) => hasPicked(partition));
    if (first >= 0 && first < view.settings.slots) {
      map.moveTo(first);
    }
  }
}

// --- What the stream sends -----------------------------------------------------------------------

let tableTimer = null;

function showTableSoon() {
  tableTimer ??= setTimeout(() => {
    tableTimer = null;
    processes.show();
  }, TABLE_EVERY_MS);
}

function showAll(seen, now) {
  showFacts(view, now);
  details.show();
  strip.repaint();
  lookup.viewChanged(seen);
  moves.viewChanged(seen, view.settings.at, now);
  moves.showDesignated();
  setShown(byId("empty"), view.sharing === 0 && view.verdictSlots[UNKNOWN] === 0);
  byId("map").setAttribute("aria-label", mapLabel());
}

function mapLabel() {
  const { slots, partitions } = view.settings;
  return `Slot map: ${slots} slots on ${partitions} partitions, ${view.sharing} owners, `
    + `${view.verdictSlots[UNOWNED]} unowned`;
}

const stream = new Stream("v1/events", {
  view: (data, now) => {
    const before = view.owners;
    const seen = view.takeWhole(data, now);
    if (view.owners !== before) {
      processes.clear();
    }
    showSettings(view.settings);
    processes.show();
    highlight();
    map.relayout();
    showAll(seen, now);
  },
  changed: (data, now) => {
    const owners = view.owners.length;
    const seen = view.takeChanged(data, now);
    if (view.owners.length !== owners) {
      highlight();
    }
    map.viewChanged(seen);
    showTableSoon();
    showAll(seen, now);
  },
  moves: (data, now) => {
    for (const { time, seen } of view.takeMoves(data, now)) {
      moves.viewChanged(seen, view.settings.at - (now - time) / 1000, time);
    }
    showFacts(view, now);
    strip.repaint();
  },
  assignment: (data, now) => {
    const owners = view.owners.length;
    view.takeAssignment(data, now);
    if (view.owners.length !== owners) {
      highlight();
    }
    showTableSoon();
    showFacts(view, now);
    details.show();
  },
  age: (data, now) => view.takeAge(data, now),
  transition: (data) => moves.transition(data),
}, tick);
const ages = new Ages(view, stream, showTableSoon);
const requests = new Requests(stream);

function tick() {
  const now = performance.now();
  ages.watch(now);
  requests.watch(now);
  showCondition(conditionOf(view, stream, now));
  if (view.known) {
    showFacts(view, now);
    details.show();
  }
}

// Forgets processes that were owners longer ago than the strip shows, except those selected.
function forget() {
  const before = performance.now() - STRIP_MS - FORGET_EVERY_MS; // what is painted may be older
  if (view.known && view.forget(before, (owner) => processes.selected.has(owner.id))) {
    map.tiles.keepOnly(new Set(view.owners.map((owner) => owner.name)));
    highlight(); // by numbers, which are others now
    showTableSoon();
  }
}

// --- Controls and clocks -------------------------------------------------------------------------

function setTiles() {
  const names = { panel: "--panel", ground: "--ground", text: "--text", unowned: "--unowned",
    unownedGround: "--unowned-ground", unknown: "--unknown", unknownGround: "--unknown-ground" };
  const theme = Object.fromEntries(
    Object.entries(names).map(([name, property]) => [name, themeColour(property)]));
  const tiles = new Tiles(theme, devicePixelRatio);
  for (const part of [map, strip, processes, details]) {
    part.setTiles(tiles);
  }
  paintSwatch(byId("swatch-unowned"), tiles.unowned, tiles.scale);
  paintSwatch(byId("swatch-unknown"), tiles.unknown, tiles.scale);
}

byId("order").addEventListener("change", (event) => map.setKind(event.target.value));
byId("zoom-in").addEventListener("click", () => map.zoom(1));
byId("zoom-out").addEventListener("click", () => map.zoom(-1));
byId("zoom-fit").addEventListener("click", () => map.zoom(0));
for (const button of byId("legend").querySelectorAll("button")) {
  button.addEventListener("click", () => pickVerdict(button.value));
}
addEventListener("resize", () => {
  if (map.tiles.density !== devicePixelRatio) { // another screen, or the browser's zoom
    setTiles();
  }
});
startTheme(setTiles);
setTiles();
tick();
setInterval(tick, CLOCK_MS);
setInterval(() => strip.repaint(), STRIP_EVERY_MS);
setInterval(showTableSoon, 5 * STRIP_EVERY_MS);
setInterval(forget, FORGET_EVERY_MS);
