// The slot map: every slot a cell. Only the visible cells are painted, so that a million slots cost
// what a screen costs. The pointer points, the arrow keys move a cursor; both select a slot.
import { byId, setShown, setText } from "./dom.js";
import { Order, byNumber, byOwner, fit, meaning } from "./layout.js";
import { Painter } from "./painter.js";

const HEIGHT_LEAST = 220;
const HEIGHT_SHARE = 0.55; // of the window
const MARGIN = 6; // pixels around the cells, for the frame of a cursor at the edge
const ZOOM = 1.5;
const CELL_SEEN = 7; // pixels: the frame of the cursor is no smaller
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp",
  "PageDown", "Enter", "Escape"];

export class SlotMap {
  // onPoint(slot or null), onCursor(slot), onPick(partition), onEscape()
  constructor(view, actions) {
    this.view = view;
    this.actions = actions;
    this.canvas = byId("map");
    this.scroller = byId("map-scroll");
    this.painter = new Painter(this.canvas);
    this.kind = "partition";
    this.wantedCell = null;
    this.lit = () => true;
    this.cursor = 0;
    this.changed = new Set();
    this.stale = { order: true, all: true };
    this.frames = 0;
    new ResizeObserver(() => this.relayout()).observe(this.scroller);
    addEventListener("resize", () => this.relayout());
    this.scroller.addEventListener("scroll", () => this.#repaint());
    this.#listen();
  }

  // --- What may be changed from outside ----------------------------------------------------------

  setTiles(tiles) {
    this.tiles = tiles;
    this.#repaint();
  }

  setLit(lit) {
    this.lit = lit;
    this.#repaint();
  }

  setKind(kind) {
    this.kind = kind;
    this.relayout();
  }

  // One step to larger (1) or smaller (-1) cells; 0: all that fits.
  zoom(step) {
    const cell = this.geometry?.cell ?? 1;
    const next = step > 0 ? Math.max(cell + 1, Math.round(cell * ZOOM)) : Math.round(cell / ZOOM);
    this.wantedCell = step === 0 ? null : Math.min(64 * devicePixelRatio, Math.max(1, next));
    this.relayout();
    this.#reveal();
  }

  relayout() {
    this.stale.order = true;
    this.#repaint();
  }

  // seen: as View.takeChanged returns it.
  viewChanged(seen) {
    if (this.kind === "owner" && seen.some(({ before, after }) => before !== after)) {
      this.relayout();
      return;
    }
    for (const { partition } of seen) {
      this.changed.add(partition);
    }
    this.#schedule();
  }

  moveTo(slot) {
    this.cursor = slot;
    this.#reveal();
    this.#placeMarks();
    this.actions.onCursor(slot);
  }

  // --- Painting ----------------------------------------------------------------------------------

  #repaint() {
    this.stale.all = true;
    this.#schedule();
  }

  #schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.view.known && this.tiles && this.scroller.clientWidth > 0) {
        this.#paint();
      }
    });
  }

  #paint() {
    if (this.stale.order) {
      this.#layOut();
      this.stale = { order: false, all: true };
      if (this.toReveal) {
        this.#reveal();
      }
    }
    const { view, order, geometry, tiles, lit } = this;
    const top = Math.round(this.scroller.scrollTop * devicePixelRatio);
    this.painter.show({ view, order, geometry, tiles, lit, top });
    if (this.stale.all) {
      this.painter.paintAll();
    } else {
      this.painter.paintPartitions(this.changed);
    }
    this.stale.all = false;
    this.changed.clear();
    this.frames++;
    this.#tell();
  }

  // For tests, and for people who use the inspector.
  #tell() {
    const { cell, columns } = this.geometry;
    Object.assign(this.canvas.dataset, {
      version: this.view.settings.version, owners: this.view.owners.length, frames: this.frames,
      columns, cell: cell / devicePixelRatio,
    });
  }

  #layOut() {
    const { settings, state, owners } = this.view;
    const width = this.scroller.clientWidth - 2 * MARGIN;
    const most = Math.max(HEIGHT_LEAST, Math.round(innerHeight * HEIGHT_SHARE));
    const density = devicePixelRatio;
    this.geometry = fit(settings, this.kind, width * density, most * density, density,
      this.wantedCell);
    this.order = new Order(settings, this.kind,
      this.kind === "owner" ? byOwner(state, owners) : byNumber(settings.partitions));
    setText(byId("map-rows"), meaning(settings, this.kind, this.geometry.columns));
    const { rows, cell } = this.geometry;
    const whole = Math.ceil(rows * cell / density);
    const height = Math.min(whole, most);
    byId("map-space").style.height = `${whole}px`;
    this.scroller.style.height = `${height + 2 * MARGIN}px`;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.painter.resize(Math.round(width * density), Math.round(height * density));
    this.cursor = Math.min(this.cursor, settings.slots - 1);
    if (this.pointed >= settings.slots) {
      this.pointed = null;
    }
    this.#placeMarks();
  }

  // --- Cursor and pointer ------------------------------------------------------------------------

  #placeMarks() {
    this.#place(byId("map-cursor"), this.cursor);
    this.#place(byId("map-pointed"), this.pointed ?? null);
  }

  #place(mark, slot) {
    setShown(mark, slot !== null && this.order !== undefined);
    if (mark.hidden) {
      return;
    }
    const { cell, columns } = this.geometry;
    const position = this.order.positionOf(slot);
    const side = cell / devicePixelRatio;
    const grown = Math.max(0, (CELL_SEEN - side) / 2);
    mark.style.left = `${(position % columns) * side - grown}px`;
    mark.style.top = `${Math.floor(position / columns) * side - grown}px`;
    mark.style.width = mark.style.height = `${side + 2 * grown}px`;
  }

  // Scrolls until the cursor is visible; after the next layout, if one is due.
  #reveal() {
    this.toReveal = this.stale.order;
    if (this.toReveal) {
      return;
    }
    const { cell, columns } = this.geometry;
    const side = cell / devicePixelRatio;
    const top = Math.floor(this.order.positionOf(this.cursor) / columns) * side;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) {
      this.scroller.scrollTop = top - side;
    } else if (top + side > scrollTop + clientHeight) {
      this.scroller.scrollTop = top + 2 * side - clientHeight;
    }
  }

  #slotUnder(event) {
    if (!this.order) {
      return null;
    }
    const { cell, columns } = this.geometry;
    const box = byId("map-space").getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) * devicePixelRatio / cell);
    const row = Math.floor((event.clientY - box.top) * devicePixelRatio / cell);
    const position = row * columns + column;
    const inside = column >= 0 && column < columns && row >= 0
      && position < this.view.settings.slots;
    return inside ? this.order.slotAt(position) : null;
  }

  #point(slot) {
    if (slot !== this.pointed) {
      this.pointed = slot;
      this.#placeMarks();
      this.actions.onPoint(slot);
    }
  }

  #listen() {
    this.scroller.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") {
        this.#point(this.#slotUnder(event));
      }
    });
    this.scroller.addEventListener("pointerleave", () => this.#point(null));
    this.scroller.addEventListener("click", (event) => {
      const slot = this.#slotUnder(event);
      if (slot !== null) {
        this.moveTo(slot);
      }
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (KEYS.includes(event.key) && !event.altKey && !event.metaKey && this.order) {
        event.preventDefault();
        this.#press(event.key, event.ctrlKey);
      }
    });
  }

  #press(key, far) {
    if (key === "Enter") {
      this.actions.onPick(this.cursor % this.view.settings.partitions);
    } else if (key === "Escape") {
      this.actions.onEscape();
    } else {
      const last = this.view.settings.slots - 1;
      const position = this.#target(key, far, this.order.positionOf(this.cursor), last);
      this.#point(null);
      this.moveTo(this.order.slotAt(Math.min(last, Math.max(0, position))));
    }
  }

  #target(key, far, position, last) {
    const { columns, cell } = this.geometry;
    const start = position - (position % columns);
    const page = Math.max(1, Math.floor(this.canvas.height / cell) - 1) * columns;
    const down = position + columns <= last ? position + columns : position;
    const up = position >= columns ? position - columns : position;
    return {
      ArrowLeft: position - 1, ArrowRight: position + 1, ArrowUp: up, ArrowDown: down,
      Home: far ? 0 : start, End: far ? last : start + columns - 1,
      PageUp: position - page, PageDown: position + page,
    }[key];
  }
}
