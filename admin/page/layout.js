// Where on the map a slot is: pure arithmetic, by order and columns.
//
//   partition   the slots of a partition side by side, partition after partition
//   slot        by number: where the columns can be a multiple of the partitions, or divide them,
//               they do, and each partition is a column
//   owner       as by partition, but nobody's first and then owner after owner: areas are shares
import { count, counted } from "./format.js";

const CELL_MOST = 18; // pixels of the page
const CELL_LEAST = 2; // of the screen; below it the map scrolls

// The columns for a cell of this size: as many as there is room for, preferably so many that a
// partition begins where a row begins.
function columnsFor(room, unit) {
  if (unit <= room) {
    return Math.floor(room / unit) * unit;
  }
  for (let columns = room; columns >= 0.6 * room; columns--) {
    if (unit % columns === 0) {
      return columns;
    }
  }
  return room;
}

function unitOf(slots, partitions, kind) {
  if (kind === "slot") {
    return partitions;
  }
  return slots % partitions === 0 ? slots / partitions : 1;
}

// Width and height in screen pixels; density: screen pixels per page pixel. The largest cell with
// which all slots fit, or the requested one.
export function fit({ slots, partitions }, kind, width, height, density, wanted = null) {
  const unit = unitOf(slots, partitions, kind);
  for (let cell = wanted ?? Math.round(CELL_MOST * density); ; cell--) {
    const columns = columnsFor(Math.max(1, Math.floor(width / cell)), unit);
    const rows = Math.ceil(slots / columns);
    if (rows * cell <= height || cell <= CELL_LEAST || wanted !== null) {
      return { cell, columns, rows };
    }
  }
}

// What a row or a column means, if anything; and how to read the order.
export function meaning({ slots, partitions }, kind, columns) {
  const each = slots / partitions;
  if (kind === "slot") {
    return `A row is ${counted(columns, "slot")}; ` + (columns === partitions
      ? "a column is a partition." : `a partition is every ${count(partitions)}th of all.`);
  }
  const order = kind === "owner" ? "Owner after owner, and of each partition after partition"
    : "Partition after partition";
  if (each > 1 && columns % each === 0) {
    return `${order}: a row is ${counted(columns / each, "partition")} of ${count(each)} slots.`;
  }
  if (each > columns && each % columns === 0) {
    return `${order}: ${counted(each / columns, "row")} are one of ${count(each)} slots.`;
  }
  return `${order}, ${counted(columns, "slot")} in a row.`;
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

// "orders-9" before "orders-10".
export function byName(a, b) {
  return COLLATOR.compare(a, b);
}

// Which slot is at which position; positions go from left to right and from top to bottom.
export class Order {
  // sequence: the partitions, one after another; not used by the order of slots.
  constructor({ slots, partitions }, kind, sequence = null) {
    this.slots = slots;
    this.partitions = partitions;
    this.sequence = kind === "slot" ? null : sequence;
    if (this.sequence) {
      this.start = new Int32Array(partitions + 1); // of a rank: its first position
      this.rank = new Int32Array(partitions);
      for (let rank = 0; rank < partitions; rank++) {
        const partition = this.sequence[rank];
        this.rank[partition] = rank;
        this.start[rank + 1] = this.start[rank] + this.#slotsOf(partition);
      }
    }
  }

  #slotsOf(partition) {
    return partition < this.slots
      ? Math.floor((this.slots - 1 - partition) / this.partitions) + 1 : 0;
  }

  // The rank whose partition is at this position.
  #rankAt(position) {
    let low = 0;
    let high = this.partitions - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.start[middle] <= position) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  slotAt(position) {
    if (!this.sequence) {
      return position;
    }
    const rank = this.#rankAt(position);
    return this.sequence[rank] + (position - this.start[rank]) * this.partitions;
  }

  positionOf(slot) {
    if (!this.sequence) {
      return slot;
    }
    return this.start[this.rank[slot % this.partitions]] + Math.floor(slot / this.partitions);
  }

  // The positions of a partition's slots: first, count and distance.
  positionsOf(partition) {
    const count = this.#slotsOf(partition);
    return this.sequence
      ? { first: this.start[this.rank[partition]], count, step: 1 }
      : { first: partition, count, step: this.partitions };
  }

  // visit(position, partition) for count positions from first on.
  each(first, count, visit) {
    const end = Math.min(first + count, this.slots);
    if (!this.sequence) {
      for (let position = first; position < end; position++) {
        visit(position, position % this.partitions);
      }
      return;
    }
    let rank = end > first ? this.#rankAt(first) : 0;
    for (let position = first; position < end; position++) {
      while (position >= this.start[rank + 1]) {
        rank++;
      }
      visit(position, this.sequence[rank]);
    }
  }
}

// The partitions in the order of their numbers.
export function byNumber(partitions) {
  return Int32Array.from({ length: partitions }, (_, partition) => partition);
}

// The partitions owner after owner, by number within each. state: see view.js; owners are ordered
// by name; unowned partitions (below 0) come first.
export function byOwner(state, owners) {
  const sorted = owners.map((owner, number) => ({ name: owner.name, number }))
    .sort((a, b) => byName(a.name, b.name) || a.number - b.number);
  const place = new Int32Array(owners.length);
  sorted.forEach(({ number }, index) => {
    place[number] = index;
  });
  const keyOf = (partition) => (state[partition] < 0 ? state[partition] : place[state[partition]]);
  return byNumber(state.length).sort((a, b) => keyOf(a) - keyOf(b) || a - b);
}
