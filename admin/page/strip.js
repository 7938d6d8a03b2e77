// The last minutes as a strip: partitions from top to bottom, time from left to right, each painted
// as its owner was. The time before this page's history is left empty. It is painted from right to
// left: from the state now, undoing one change after another.
import { byId, setText } from "./dom.js";
import { count, duration } from "./format.js";
import { pixel } from "./looks.js";
import { NOBODY, NOT_KNOWN } from "./view.js";

export const STRIP_MS = 600e3;
const MARK_COLUMNS = 2; // a change, and a gap however short, is at least as wide

export class Strip {
  constructor(view) {
    this.view = view;
    this.canvas = byId("strip");
    this.context = this.canvas.getContext("2d");
    new ResizeObserver(() => this.repaint()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#tell(event));
    this.canvas.addEventListener("pointerleave", () => setText(byId("strip-readout"), ""));
  }

  setTiles(tiles) {
    this.tiles = tiles;
    this.repaint();
  }

  repaint() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.view.known && this.tiles && this.canvas.clientWidth > 0) {
        this.#paint(performance.now());
      }
    });
  }

  #paint(now) {
    const width = Math.round(this.canvas.clientWidth * devicePixelRatio);
    const height = Math.round(this.canvas.clientHeight * devicePixelRatio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
    }
    this.paintedAt = now;
    const { partitions } = this.view.settings;
    const columns = new Columns(this.view, this.tiles, now, width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let x = width - 1; x >= 0; x--) {
      columns.paint(pixels, x);
    }
    this.context.putImageData(this.image, 0, 0);
    setText(byId("strip-first"), "partition 0");
    setText(byId("strip-last"), `partition ${count(partitions - 1)}`);
  }

  #tell(event) {
    if (!this.view.known || this.paintedAt === undefined) {
      return;
    }
    const box = this.canvas.getBoundingClientRect();
    const ago = STRIP_MS * (1 - (event.clientX - box.left) / box.width);
    const { partitions } = this.view.settings;
    const share = Math.min(0.999999, Math.max(0, (event.clientY - box.top) / box.height));
    const partition = Math.floor(share * partitions);
    const state = this.#stateAt(partition, this.paintedAt - ago);
    const who = state === null ? "not known to this page"
      : state === NOBODY ? "unowned" : state === NOT_KNOWN ? "unknown"
        : this.view.owners[state].name;
    setText(byId("strip-readout"),
      `${duration(ago)} ago: partition ${count(partition)}, ${who}`);
  }

  #stateAt(partition, time) {
    if (time < this.view.knownFrom[partition] || time > this.view.shownAt(this.paintedAt)) {
      return null;
    }
    let state = this.view.state[partition];
    const { history } = this.view;
    history.backwards((at) => {
      if (history.time[at] < time) {
        return false;
      }
      if (history.partition[at] === partition) {
        state = history.from[at];
      }
      return true;
    });
    return state;
  }
}

// Walks back through the history, one column of pixels at a time. A row is a partition. If there
// are more partitions than pixels, a row shows one of several, but also that any of them is
// unowned, and each change of any of them.
class Columns {
  constructor(view, tiles, now, width, height) {
    Object.assign(this, { view, tiles, width, height });
    const { partitions } = view.settings;
    this.start = now - STRIP_MS;
    this.end = view.shownAt(now); // nothing is known of what came after
    this.rows = Math.min(partitions, height);
    this.shown = Int32Array.from({ length: this.rows },
      (_, row) => Math.ceil(row * partitions / this.rows));
    this.state = view.state.slice();
    this.tileOf = view.owners.map((owner) => tiles.ofName(owner.name));
    this.empty = pixel(tiles.theme.ground);
    this.gaps = new Int32Array(this.rows); // how many partitions of a row are unowned
    this.gapAt = new Int32Array(this.rows).fill(width + MARK_COLUMNS); // the last column with one
    this.changeAt = this.gapAt.slice(); // the last column with another change, and to whom it was
    this.changedTo = new Int32Array(this.rows);
    view.state.forEach((state, partition) => {
      if (state === NOBODY) {
        this.gaps[this.#rowOf(partition)]++;
      }
    });
    this.changes = [];
    view.history.backwards((at) => {
      this.changes.push(at);
      return view.history.time[at] >= this.start;
    });
    this.undone = 0;
  }

  #rowOf(partition) {
    return Math.floor(partition * this.rows / this.view.settings.partitions);
  }

  paint(pixels, x) {
    const from = this.start + x * STRIP_MS / this.width;
    this.#undo(from, x);
    const mask = this.tiles.side - 1;
    const shift = Math.log2(this.tiles.side);
    for (let y = 0; y < this.height; y++) {
      const row = Math.floor(y * this.rows / this.height);
      const known = from >= this.view.knownFrom[this.shown[row]] && from <= this.end;
      pixels[y * this.width + x] = known
        ? this.#tileOfRow(row, x)[((y & mask) << shift) + (x & mask)] : this.empty;
    }
  }

  #tileOfRow(row, x) {
    if (this.gaps[row] > 0 || this.gapAt[row] < x + MARK_COLUMNS) {
      return this.tiles.unowned;
    }
    const changed = this.changeAt[row] < x + MARK_COLUMNS;
    const state = changed ? this.changedTo[row] : this.state[this.shown[row]];
    return state >= 0 ? this.tileOf[state]
      : state === NOBODY ? this.tiles.unowned : this.tiles.unknown;
  }

  // Undoes the changes that came after the beginning of column x.
  #undo(from, x) {
    const history = this.view.history;
    for (; this.undone < this.changes.length; this.undone++) {
      const at = this.changes[this.undone];
      if (history.time[at] < from) {
        return;
      }
      const before = history.from[at];
      const after = history.to[at];
      const row = this.#rowOf(history.partition[at]);
      if (before === NOBODY || after === NOBODY) {
        this.gapAt[row] = x;
        this.gaps[row] += (before === NOBODY) - (after === NOBODY);
      } else {
        this.changeAt[row] = x;
        this.changedTo[row] = after;
      }
      this.state[history.partition[at]] = before;
    }
  }
}
