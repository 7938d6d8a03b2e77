// The view of one process, as /v1/events sends it: who owns each partition, and since when.
//
// Owners are numbered in the order in which this page first saw them. A number stays valid when the
// stream breaks and a new view numbers the processes again, until others are forgotten. Times are
// the page's clock (performance.now()): other machines' times are not compared with it, only ages
// come from there.
import { readable } from "./format.js";

export const NOBODY = -1;
export const NOT_KNOWN = -2;
export const VERDICTS = ["unknown", "unowned", "local", "remote"];
export const [UNKNOWN, UNOWNED, LOCAL, REMOTE] = [0, 1, 2, 3];

const STALE_MS = 3000; // older values are shown with their age
const STALE_INTERVALS = 3; // of the renewals of owners
const MOVES_KEPT_MS = 3600e3;
const NO_OVERRIDES = { cordoned: [], weights: {}, pins: {}, moves_paused: false };
const SETTINGS = ["group", "topic", "lane", "slots", "partitions"];

export class View {
  constructor(history) {
    this.history = history;
    this.settings = null; // what /v1/slots says beside processes and view
    this.owners = [];
    this.heardAt = 0;
    this.movedSlots = []; // [time, slots] of each change in which slots went to another owner
    this.assignment = null; // where a process assigns, and not Kafka's group: who, and since when
  }

  // --- Queries
  // -------------------------------------------------------------------------------------

  get known() {
    return this.settings !== null;
  }

  // How long ago the most silent log of the ledger last answered.
  age(now) {
    return this.settings.age_ms + (now - this.heardAt);
  }

  // The instant that is shown: now, or when the last event arrived if that is long ago.
  shownAt(now) {
    const age = this.age(now);
    return age > Math.max(STALE_MS, STALE_INTERVALS * (this.settings.interval_ms ?? 0))
      ? now - age : now;
  }

  slotsOf(partition) {
    const { slots, partitions } = this.settings;
    return partition < slots ? Math.floor((slots - 1 - partition) / partitions) + 1 : 0;
  }

  ownerOf(partition) {
    return this.owners[this.state[partition]] ?? null;
  }

  nextOf(partition) {
    return this.owners[this.next[partition]] ?? null;
  }

  // The process that is named for it, if it is not the owner.
  designeeOf(partition) {
    return this.owners[this.designee[partition]] ?? null;
  }

  // Those that own something or are about to: a fair share is a share among them.
  get sharing() {
    return this.owners.filter((owner) => owner.partitions > 0 || owner.coming > 0).length;
  }

  get fairSlots() {
    return this.settings.slots / Math.max(1, this.sharing);
  }

  // Of one owner: where a process assigns, members share by their weights.
  fairOf(owner) {
    if (this.assignment === null) {
      return this.fairSlots;
    }
    return this.settings.slots * weightOf(owner) / Math.max(1, this.weights);
  }

  // Slots that moved from one owner to another after that time.
  movedSince(time) {
    return this.movedSlots.reduce((sum, [at, slots]) => (at >= time ? sum + slots : sum), 0);
  }

  // --- Updates
  // -------------------------------------------------------------------------------------

  // A whole view: of /v1/slots, or the first of a stream.
  takeWhole(whole, now) {
    const { processes, view, ...settings } = readable(whole);
    const fresh = !this.known || SETTINGS.some((name) => settings[name] !== this.settings[name]);
    this.settings = settings;
    this.heardAt = now;
    if (fresh) {
      this.#begin();
    }
    this.told = [];
    processes.forEach((process, index) => this.#learn(index, process));
    return this.#takeRows(view.map((row, partition) => [partition, ...row]), now, fresh);
  }

  // What changed since; the partitions whose cells look different now.
  takeChanged(changed, now) {
    const { processes = [], view, ...settings } = changed;
    this.takeAge(settings, now);
    processes.forEach(({ index, ...process }) => this.#learn(index, process));
    return this.#takeRows(view, now, false);
  }

  // What moved before this page was opened: sent after the view, for the last minutes. Returns the
  // moves, each with its time, as takeChanged() does. A page that has a history of its own knows
  // all of it, and more.
  takeMoves({ reach_ms: reach, processes, moves }, now) {
    if (this.history.total > 0) {
      return [];
    }
    const numbers = processes.map((process) => this.#numberOfProcess(process));
    const stateOf = (index) => numbers[index] ?? index; // nobody and unknown as here
    const lastOwner = new Map();
    return moves.map(([ago, from, to, ranges]) => {
      const time = now - ago;
      const before = stateOf(from);
      const after = stateOf(to);
      const seen = partitionsIn(ranges).map((partition) => {
        if (!lastOwner.has(partition)) {
          this.knownFrom[partition] = before === NOT_KNOWN ? time : now - reach;
        }
        const last = before >= 0 ? before : lastOwner.get(partition) ?? NOBODY;
        this.history.add(time, partition, before, after);
        if (after >= 0 && last >= 0 && last !== after) {
          this.#countMove(time, this.slotsOf(partition));
        }
        lastOwner.set(partition, after >= 0 ? after : last);
        return { partition, before, after, last, fresh: false };
      });
      if (before >= 0) {
        this.owners[before].ledAt = time;
      }
      return { time, seen };
    });
  }

  // Who assigns, and the members that are new or changed; with `whole`, all of them.
  takeAssignment({ at, source, assigner, whole, overrides, members, gone }, now) {
    if (source !== "assigner") {
      return;
    }
    const since = assigner ? now - 1000 * (at - assigner.since) : NaN;
    this.assignment = { assigner: assigner && readable(assigner), since,
      overrides: overrides ?? this.assignment?.overrides ?? NO_OVERRIDES };
    if (overrides) {
      this.#takePins(overrides.pins);
    }
    if (whole) {
      for (const owner of this.owners) {
        owner.member = null;
      }
    }
    for (const { id, name, name_base64, endpoint, endpoint_base64, tags, ...member } of members) {
      const process = { id, name, name_base64, endpoint, endpoint_base64, tags };
      this.owners[this.#numberOfProcess(known(process))].member = readable(member);
    }
    for (const id of gone) {
      if (this.byId.has(id)) {
        this.owners[this.byId.get(id)].member = null;
      }
    }
    this.weights = this.owners.reduce((sum, owner) => sum + weightOf(owner), 0);
  }

  takeAge(settings, now) {
    Object.assign(this.settings, settings);
    this.heardAt = now;
  }

  // Forgets owners that are not needed any more, as a page stays open for months while processes
  // restart: those that lead and claim nothing, last led before that time and are not the last
  // leader of an unowned partition. keep(owner): whether to keep it nevertheless. Returns whether
  // it forgot any: then those left have new numbers, in the same order.
  forget(before, keep) {
    const needed = new Uint8Array(this.owners.length);
    for (const numbers of [this.lastOwner, this.next, this.designee]) {
      for (const number of numbers) {
        if (number >= 0) {
          needed[number] = 1;
        }
      }
    }
    const kept = this.owners.filter((owner) => needed[owner.number] || owner.ledAt >= before
      || owner.member !== null || owner.id === this.settings.id || keep(owner));
    if (kept.length === this.owners.length) {
      return false;
    }
    const numbers = new Int32Array(this.owners.length).fill(NOBODY);
    kept.forEach((owner, number) => {
      numbers[owner.number] = number;
      owner.number = number;
    });
    this.owners = kept;
    this.byId = new Map(kept.map((owner) => [owner.id, owner.number]));
    this.history.forget(before);
    for (const states of [this.state, this.next, this.designee, this.lastOwner,
      this.history.from, this.history.to]) {
      states.forEach((state, at) => {
        states[at] = numbers[state] ?? state; // nobody is nobody still
      });
    }
    return true;
  }

  #begin() {
    const { partitions } = this.settings;
    this.history.clear();
    this.owners = [];
    this.byId = new Map(); // a process's id -> its number
    this.movedSlots = [];
    this.knownFrom = new Float64Array(partitions); // of a partition: since when its state is known
    this.state = new Int32Array(partitions).fill(NOT_KNOWN);
    this.lastOwner = new Int32Array(partitions).fill(NOBODY);
    this.next = new Int32Array(partitions).fill(NOBODY);
    this.designee = new Int32Array(partitions).fill(NOBODY);
    this.assignment = null;
    this.pinnedTo = new Map(); // partition -> the name of processes
    this.weights = 0; // of the members that are to own something
    this.moving = 0; // partitions that are named for another process than their owner
    this.verdict = new Uint8Array(partitions);
    this.draining = new Uint8Array(partitions);
    this.stale = new Uint8Array(partitions);
    this.inc = new Float64Array(partitions).fill(NaN);
    this.offset = new Float64Array(partitions).fill(NaN);
    this.since = new Float64Array(partitions).fill(NaN);
    this.verdictSlots = [0, 0, 0, 0];
    this.drainingSlots = 0;
    this.staleSlots = 0;
    for (let partition = 0; partition < partitions; partition++) {
      this.#account(partition, 1);
    }
  }

  #takePins(pins) {
    this.pinnedTo = new Map(Object.entries(pins).flatMap(([name, ranges]) =>
      partitionsIn(ranges).map((partition) => [partition, name])));
  }

  #learn(index, process) {
    this.told[index] = process;
    Object.assign(this.owners[this.#numberOf(index)], { tags: {} }, readable(process));
  }

  // The stream may name an owner again that this page has forgotten.
  #numberOf(index) {
    return this.#numberOfProcess(this.told[index]);
  }

  #numberOfProcess(process) {
    if (!this.byId.has(process.id)) {
      const number = this.owners.length;
      this.byId.set(process.id, number);
      this.owners.push({ number, partitions: 0, slots: 0, draining: 0, coming: 0, designated: 0,
        ledAt: NaN, heard: null, member: null, tags: {}, ...readable(process) });
    }
    return this.byId.get(process.id);
  }

  // In order of time, for the history.
  #takeRows(rows, now, fresh) {
    const sinceOf = (row) => (row[7] === null ? 0 : row[7]);
    const seen = [];
    for (const row of [...rows].sort((a, b) => sinceOf(b) - sinceOf(a))) {
      const [partition, verdict, owner, next, draining, inc, offset, since, designee, stale] = row;
      const before = this.state[partition];
      const last = this.lastOwner[partition];
      this.#account(partition, -1);
      this.state[partition] = verdict === UNKNOWN ? NOT_KNOWN
        : verdict === UNOWNED ? NOBODY : this.#numberOf(owner);
      this.next[partition] = next < 0 ? NOBODY : this.#numberOf(next);
      this.designee[partition] = (designee ?? -1) < 0 ? NOBODY : this.#numberOf(designee);
      this.verdict[partition] = verdict;
      this.draining[partition] = draining;
      this.stale[partition] = stale ?? 0;
      this.inc[partition] = inc ?? NaN;
      this.offset[partition] = offset ?? NaN;
      this.since[partition] = since === null ? NaN : now - since;
      this.#account(partition, 1);
      const after = this.state[partition];
      if (before >= 0) {
        this.owners[before].ledAt = now;
      }
      if (after >= 0) {
        this.lastOwner[partition] = after;
      }
      if (!fresh && before !== after) {
        this.history.add(now - sinceOf(row), partition, before, after);
        if (after >= 0 && last >= 0 && last !== after) {
          this.#countMove(now, this.slotsOf(partition));
        }
      }
      if (fresh) {
        this.knownFrom[partition] = since === null ? now : now - since;
      }
      seen.push({ partition, before, after, last, fresh });
    }
    return seen;
  }

  #countMove(now, slots) {
    const newest = this.movedSlots.at(-1);
    if (newest && newest[0] === now) {
      newest[1] += slots;
    } else {
      this.movedSlots.push([now, slots]);
    }
    while (this.movedSlots[0][0] < now - MOVES_KEPT_MS) {
      this.movedSlots.shift();
    }
  }

  // Adds a partition to the sums, or takes it out of them.
  #account(partition, sign) {
    const slots = sign * this.slotsOf(partition);
    this.verdictSlots[this.verdict[partition]] += slots;
    const owner = this.ownerOf(partition);
    if (owner) {
      owner.partitions += sign;
      owner.slots += slots;
    }
    if (this.stale[partition]) {
      this.staleSlots += slots;
    }
    if (this.draining[partition]) {
      this.drainingSlots += slots;
      if (owner) {
        owner.draining += slots;
      }
    }
    const next = this.nextOf(partition);
    if (next) {
      next.coming += sign;
    }
    const designee = this.designeeOf(partition);
    if (designee) {
      this.moving += sign;
    }
    const named = designee ?? owner;
    if (named) {
      named.designated += sign;
    }
  }
}

// How much it is to own beside the others.
function weightOf({ member }) {
  return member && member.state === "living" && !member.cordoned && !member.on_probation
    ? member.weight : 0;
}

// Without what is not there.
function known(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

// "0-9,12", as the ledger's records write it.
function partitionsIn(ranges) {
  return ranges.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}
