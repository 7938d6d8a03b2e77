// All about one slot: the one under the pointer, or else at the cursor.
import { byId, make, setFields, setShown, setText } from "./dom.js";
import { count, counted, duration } from "./format.js";
import { paintSwatch } from "./looks.js";
import { VERDICTS } from "./view.js";

const OTHERS = 8; // slots of the same partition that are named

function verdictOf(view, partition) {
  return VERDICTS[view.verdict[partition]];
}

export function epochText(inc, offset) {
  return `inc ${inc}, offset ${count(offset)}`;
}

// A process that nobody connects to has no endpoint.
function withEndpoint({ name, endpoint }) {
  return endpoint ? `${name} at ${endpoint}` : name;
}

// In one sentence, for people who cannot see the map.
export function sentenceOf(view, slot) {
  const partition = slot % view.settings.partitions;
  const owner = view.ownerOf(partition);
  const next = view.nextOf(partition);
  return [
    `Slot ${slot}, partition ${partition}, ${verdictOf(view, partition)}`,
    owner && `, owner ${withEndpoint(owner)}`,
    owner && `, epoch ${epochText(view.inc[partition], view.offset[partition])}`,
    view.draining[partition] && ", draining",
    view.stale[partition] && ", stale",
    next && `, next owner ${next.name}`,
    view.designeeOf(partition) && `, designated ${view.designeeOf(partition).name}`,
  ].filter(Boolean).join("");
}

export class Details {
  constructor(view) {
    this.view = view;
    this.slot = 0;
    this.painted = new Map(); // a swatch's id -> its tile
  }

  setTiles(tiles) {
    this.tiles = tiles;
    this.show();
  }

  showSlot(slot) {
    this.slot = slot;
    this.show();
  }

  show() {
    const { view } = this;
    if (!view.known || !this.tiles) {
      return;
    }
    const partition = this.slot % view.settings.partitions;
    const owner = view.ownerOf(partition);
    const next = view.nextOf(partition);
    const verdict = verdictOf(view, partition);
    byId("slot-verdict").className = `verdict ${verdict}`;
    setFields("slot", {
      number: count(this.slot),
      verdict,
      owner: owner ? owner.name : verdict === "unowned" ? "nobody" : "not known",
      endpoint: owner?.endpoint || "–",
      partition: `${count(partition)}, lane ${view.settings.lane}`,
      epoch: owner ? epochText(view.inc[partition], view.offset[partition]) : "–",
      lasting: owner ? (view.stale[partition] ? "stale; held for" : "held for") : `${verdict} for`,
      since: this.#since(partition),
      others: this.#others(partition),
    });
    setShown(byId("slot-moving"), Boolean(view.draining[partition] || next));
    const designee = view.designeeOf(partition);
    setShown(byId("slot-named"), Boolean(designee) && designee !== next);
    setShown(byId("slot-pinning"), view.pinnedTo.has(partition));
    setText(byId("slot-pinned"), view.pinnedTo.get(partition) ?? "");
    setText(byId("slot-designee"), designee ? withEndpoint(designee) : "");
    this.#swatch("slot-designee-swatch", partition, view.designee[partition]);
    setText(byId("slot-next"),
      next ? withEndpoint(next) : "draining; no process has claimed it yet");
    this.#swatch("slot-swatch", partition, view.state[partition]);
    this.#swatch("slot-next-swatch", partition, view.next[partition]);
  }

  #since(partition) {
    const since = this.view.since[partition];
    if (Number.isNaN(since)) {
      return "not known here";
    }
    return duration(this.view.shownAt(performance.now()) - since);
  }

  #others(partition) {
    const { partitions } = this.view.settings;
    const all = this.view.slotsOf(partition);
    const named = Array.from({ length: Math.min(all, OTHERS) },
      (_, index) => count(partition + index * partitions));
    const more = all > OTHERS ? `, … (${counted(all, "slot")})` : "";
    return named.join(", ") + more;
  }

  #swatch(id, partition, state) {
    const owner = this.view.owners[state];
    const tile = owner ? this.tiles.ofName(owner.name)
      : state === -1 ? this.tiles.unowned : this.tiles.unknown;
    if (this.painted.get(id) !== tile) {
      this.painted.set(id, tile);
      paintSwatch(byId(id), tile, this.tiles.scale);
    }
  }
}

// A row of a list of terms.
export function term(name, value, note = "") {
  const row = make("div", {}, make("dt", {}, name), make("dd", {}, value));
  if (note) {
    row.append(make("dd", { class: "why" }, note));
  }
  return row;
}
