// The newest moves in words, one line for those of one kind and instant; and what the answering
// process did itself.
import { byId, make, setShown, setText } from "./dom.js";
import { count, counted, duration, timeOfDay } from "./format.js";
import { NOBODY } from "./view.js";

const KEPT = 40;
const TOGETHER_MS = 2000;
const TOGETHER_MOST_MS = 20e3; // a process that restarts every second would never end its line
const NAMED = 3; // of the owners in a line
const NUMBERED = 12; // of the partitions in a line

export class Moves {
  constructor(view) {
    this.view = view;
    this.lines = [];
    this.unownedSince = new Map(); // partition -> when it lost its owner
    this.list = byId("moves");
    this.transitions = byId("transitions");
  }

  // seen: as View.takeChanged returns it; at: Unix seconds.
  viewChanged(seen, at, now) {
    const lines = new Set();
    if (seen[0]?.fresh) {
      this.unownedSince.clear();
    }
    for (const change of seen) {
      if (!change.fresh && change.before !== change.after) {
        lines.add(this.#add(change, at, now));
      }
    }
    if (lines.size > 0) {
      this.lines.splice(KEPT);
      this.list.replaceChildren(...this.lines.map((line) => line.node));
      setShown(byId("moves-none"), false);
    }
    for (const line of lines) {
      setText(line.text, this.#words(line));
    }
  }

  // What an assigner has named for another process than its owner, and has not moved yet.
  showDesignated() {
    const { view } = this;
    setShown(byId("moves-designated"), view.moving > 0);
    if (view.moving === 0) {
      return;
    }
    const to = new Set();
    let slots = 0;
    view.designee.forEach((number, partition) => {
      if (number >= 0) {
        to.add(view.owners[number]);
        slots += view.slotsOf(partition);
      }
    });
    setText(byId("moves-designated"), `On the way: ${counted(view.moving, "partition")} `
      + `(${counted(slots, "slot")}) to ${this.#names(to)}`);
  }

  // Moves of one cause arrive in a burst, one for each partition: here they are one line.
  transition({ at, event, reason, partition }) {
    const what = reason === undefined ? event : `${event} (${reason})`;
    if (this.did?.what !== what || at - this.did.at > TOGETHER_MS / 1000) {
      const text = make("span");
      this.transitions.prepend(make("li", {}, make("time", {}, timeOfDay(at)), text));
      this.did = { what, at, text, partitions: [] };
      while (this.transitions.children.length > KEPT) {
        this.transitions.lastChild.remove();
      }
      setShown(byId("transitions-panel"), true);
    }
    const { partitions, text } = this.did;
    partitions.push(partition);
    const more = partitions.length > NUMBERED ? ", …" : "";
    setText(text, `${what} ${counted(partitions.length, "partition")}: `
      + partitions.slice(0, NUMBERED).map(count).join(", ") + more);
  }

  // Adds a change to the line of its kind and time.
  #add({ partition, before, after, last }, at, now) {
    const from = before >= 0 ? before : last;
    const line = this.#line(kindOf(from, after), at, now);
    if (after === NOBODY) {
      this.unownedSince.set(partition, now);
    } else {
      line.gap = Math.max(line.gap, now - (this.unownedSince.get(partition) ?? now));
      this.unownedSince.delete(partition); // unknown is not unowned
    }
    line.now = now;
    line.partitions++;
    line.slots += this.view.slotsOf(partition);
    line.from.add(this.view.owners[from]); // not the number: it changes when others are forgotten
    line.to.add(this.view.owners[after]);
    return line;
  }

  #line(kind, at, now) {
    let line = this.lines.find((other) => other.kind === kind && now - other.now < TOGETHER_MS
      && now - other.began < TOGETHER_MOST_MS);
    if (!line) {
      const text = make("span");
      const node = make("li", {}, make("time", {}, timeOfDay(at)), text);
      line = { kind, text, node, from: new Set(), to: new Set(), partitions: 0, slots: 0, gap: 0,
        began: now };
      this.lines.unshift(line);
    }
    return line;
  }

  #words({ kind, from, to, partitions, slots, gap }) {
    const what = `${counted(partitions, "partition")} (${counted(slots, "slot")})`;
    const waited = gap > 0 ? `, unowned for at most ${duration(gap)}` : "";
    return {
      lost: () => `${what} of ${this.#names(from)}: unowned`,
      unknown: () => `${what} of ${this.#names(from)}: unknown`,
      moved: () => `${what}: ${this.#names(from)} → ${this.#names(to)}${waited}`,
      again: () => `${what}: ${this.#names(to)} again${waited}`,
      first: () => `${what}: ${this.#names(to)}, the first owner known here`,
    }[kind]();
  }

  #names(owners) {
    // In an order of their own: changes come in another one when a stream was opened again.
    const names = [...owners].map((owner) => owner?.name ?? "nobody").sort().slice(0, NAMED);
    const more = owners.size - names.length;
    return more > 0 ? `${names.join(", ")} and ${counted(more, "other")}` : names.join(", ");
  }
}

function kindOf(from, to) {
  if (to < 0) {
    return to === NOBODY ? "lost" : "unknown";
  }
  return from < 0 ? "first" : from === to ? "again" : "moved";
}
