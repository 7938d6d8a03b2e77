// Paints cells into the pixels of a canvas: the ones that scrolled into sight, or only those of the
// partitions that changed.
import { pixel } from "./looks.js";

const GAP_FROM = 5; // pixels: smaller cells have no gap between them

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.image = null;
  }

  // In pixels of the screen.
  resize(width, height) {
    if (!this.image || this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
  }

  // What to paint from now on. lit(partition): whether it is highlighted.
  show({ view, order, geometry, tiles, lit, top }) {
    Object.assign(this, { view, order, geometry, tiles, lit, top });
    this.tileOf = view.owners.map((owner) => tiles.ofName(owner.name));
    this.gap = geometry.cell < GAP_FROM ? 0
      : geometry.cell < GAP_FROM * tiles.density ? 1 : Math.round(tiles.density);
  }

  paintAll() {
    this.pixels.fill(pixel(this.tiles.theme.panel));
    const { cell, columns } = this.geometry;
    const firstRow = Math.floor(this.top / cell);
    const rows = Math.ceil(this.canvas.height / cell) + 1;
    this.order.each(firstRow * columns, rows * columns, (position, partition) => {
      this.#paintCell(position, partition);
    });
    this.context.putImageData(this.image, 0, 0);
  }

  // Only these partitions, and only the rows of pixels they touch.
  paintPartitions(partitions) {
    const { cell, columns } = this.geometry;
    const first = Math.floor(this.top / cell) * columns;
    const end = (Math.ceil((this.top + this.canvas.height) / cell) + 1) * columns;
    let least = Infinity;
    let most = -Infinity;
    for (const partition of partitions) {
      const at = this.order.positionsOf(partition);
      const skipped = Math.max(0, Math.ceil((first - at.first) / at.step));
      for (let index = skipped; index < at.count; index++) {
        const position = at.first + index * at.step;
        if (position >= end) {
          break;
        }
        this.#paintCell(position, partition);
        const row = Math.floor(position / columns);
        least = Math.min(least, row);
        most = Math.max(most, row);
      }
    }
    if (least <= most) {
      const from = Math.max(0, least * cell - this.top);
      this.context.putImageData(this.image, 0, 0,
        0, from, this.canvas.width, (most + 1) * cell - this.top - from);
    }
  }

  #tile(state) {
    return state >= 0 ? this.tileOf[state] : state === -1 ? this.tiles.unowned : this.tiles.unknown;
  }

  // A partition that moves to another owner shows that one below the diagonal.
  #paintCell(position, partition) {
    const { cell, columns } = this.geometry;
    const left = (position % columns) * cell;
    const top = Math.floor(position / columns) * cell;
    const side = cell - this.gap;
    const { state, next, draining } = this.view;
    let tile = this.#tile(state[partition]);
    let other = null;
    if (next[partition] >= 0) {
      other = this.tileOf[next[partition]];
    } else if (draining[partition]) {
      other = this.tiles.moving;
    }
    if (!this.lit(partition)) {
      tile = tile.faint;
      other = other && other.faint;
    }
    this.#fill(left, top, side, tile, other);
  }

  #fill(left, top, side, tile, other) {
    const { width, height } = this.canvas;
    const mask = this.tiles.side - 1;
    const shift = Math.log2(this.tiles.side);
    const right = Math.min(left + side, width);
    const from = Math.max(top, this.top);
    const to = Math.min(top + side, this.top + height);
    for (let y = from; y < to; y++) {
      const row = (y & mask) << shift;
      const start = (y - this.top) * width;
      for (let x = left; x < right; x++) {
        const below = other !== null && x - left + y - top >= side;
        this.pixels[start + x] = (below ? other : tile)[row + (x & mask)];
      }
    }
  }
}
