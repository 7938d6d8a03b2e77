// Who owns how much, against a fair share. A click on a heading sorts it, typing filters it, and
// selected processes stand out on the map.
import { byId, make, setShown, setText } from "./dom.js";
import { count, counted, deviation, duration, tenth } from "./format.js";
import { byName } from "./layout.js";
import { paintSwatch } from "./looks.js";
import { STRIP_MS } from "./strip.js";

const ROWS_AT_FIRST = 12;
const ROWS_MORE = 100;
// Sorted by one of these, the most come first.
const MOST_FIRST = { slots: -1, partitions: -1, draining: -1, held: -1, heard: -1 };

const SORTED_BY = {
  name: (a, b) => byName(a.name, b.name),
  endpoint: (a, b) => byName(a.endpoint ?? "", b.endpoint ?? ""),
  slots: (a, b) => a.slots - b.slots,
  partitions: (a, b) => a.partitions - b.partitions,
  draining: (a, b) => a.draining - b.draining,
  held: (a, b) => (a.held ?? 0) - (b.held ?? 0),
  heard: (a, b) => (a.heard ?? -1) - (b.heard ?? -1),
};

// What is special about it, in words.
function notesOf(owner, view) {
  const { member } = owner;
  const assigns = view.assignment?.assigner?.id === owner.id;
  const coming = owner.designated - owner.partitions;
  return [
    owner.id === view.settings.id && "serves this page",
    assigns && "assigns",
    member?.state === "leaving" && "leaving",
    member?.state === "silent" && "silent",
    member?.cordoned && "cordoned",
    member?.on_probation && "on probation",
    member?.preparing && "preparing",
    owner.endpointShared && "shares its endpoint",
    member && member.weight !== 1 && `weight ${count(member.weight)}`,
    coming > 0 && `${counted(coming, "partition")} to come`,
    coming < 0 && `${counted(-coming, "partition")} to hand over`,
    owner.partitions === 0 && coming === 0 && owner.id !== view.settings.id && "owns nothing",
  ].filter(Boolean).map((note) => note.replaceAll(" ", "\u00a0")).join(" · "); // lines end between
}

function placeOf({ member }) {
  return [member?.host && `host ${member.host}`, member?.zone && `zone ${member.zone}`]
    .filter(Boolean).join(", ");
}

function tagsOf(owner) {
  return Object.entries(owner.tags).map(([tag, value]) => `${tag}=${value}`);
}

export class Processes {
  // onChange(): what is highlighted has changed
  constructor(view, onChange) {
    this.view = view;
    this.onChange = onChange;
    this.selected = new Set(); // ids of owners
    this.filter = "";
    this.sort = { by: "slots", direction: -1 };
    this.limit = ROWS_AT_FIRST;
    this.rows = new Map(); // owner's id -> its row
    this.body = byId("processes-body");
    this.#listen();
  }

  setTiles(tiles) {
    this.tiles = tiles;
    for (const row of this.rows.values()) {
      row.look = null;
    }
    this.show();
  }

  // Whether the filter or the selection excludes any process; and whether it excludes this one.
  get restricts() {
    return this.selected.size > 0 || this.filter !== "";
  }

  accepts(owner) {
    return this.selected.size > 0 ? this.selected.has(owner.id) : this.#matches(owner);
  }

  toggle(owner) {
    if (!this.selected.delete(owner.id)) {
      this.selected.add(owner.id);
    }
    this.show();
    this.onChange();
  }

  clear() {
    this.selected.clear();
    this.filter = byId("filter").value = "";
    this.show();
    this.onChange();
  }

  // --- The table ---------------------------------------------------------------------------------

  show() {
    if (!this.view.known || !this.tiles) {
      return;
    }
    this.#forget();
    const now = performance.now();
    const all = this.view.owners.filter((owner) => this.#isListed(owner, now));
    this.#findHeld();
    this.#findShared();
    const matching = all.filter((owner) => this.#matches(owner)).sort((a, b) => {
      const order = this.sort.direction * SORTED_BY[this.sort.by](a, b);
      return order || byName(a.name, b.name) || a.number - b.number;
    });
    const shown = matching.slice(0, this.limit);
    const scale = Math.max(2 * this.view.fairSlots,
      matching.reduce((most, owner) => Math.max(most, owner.slots, this.view.fairOf(owner)), 0));
    this.#arrange(shown.map((owner) => this.#row(owner, scale)));
    setShown(byId("processes-none"), shown.length === 0);
    setText(byId("processes-none"), all.length === 0
      ? "No process has written to the ledger yet." : `No process matches “${this.filter}”.`);
    setShown(byId("processes-more"), matching.length > shown.length);
    setText(byId("processes-more"),
      `Show ${count(Math.min(ROWS_MORE, matching.length - shown.length))} more`);
    setText(byId("processes-count"), this.#counted(all, matching, shown));
    setShown(byId("clear-selection"), this.restricts);
    this.#tellAssignment(now);
  }

  // Where a process assigns: which one, and what is special about the others.
  #tellAssignment(now) {
    const { assignment, owners, moving } = this.view;
    setShown(byId("assigned"), assignment !== null);
    if (assignment === null) {
      return;
    }
    const { assigner, since, overrides } = assignment;
    const members = owners.filter((owner) => owner.member !== null).map((owner) => owner.member);
    const having = (state, is) => {
      const number = members.filter(is).length;
      return number > 0 && `${count(number)} ${state}`;
    };
    setText(byId("assigned-by"), !assigner ? "nobody: owners keep what they have"
      : `${assigner.name} for ${duration(this.view.shownAt(now) - since)}`
        + (assigner.assigning ? "" : ", which does not say so yet, or is cut off from a log"));
    setText(byId("assigned-members"), [
      counted(members.filter(({ state }) => state !== "silent").length, "member"),
      having("cordoned", ({ cordoned }) => cordoned),
      having("leaving", ({ state }) => state === "leaving"),
      having("silent", ({ state }) => state === "silent"),
      having("on probation", (member) => member.on_probation),
      having("preparing", (member) => member.preparing),
      moving > 0 && `${counted(moving, "partition")} on the way`,
      this.view.pinnedTo.size > 0 && `${counted(this.view.pinnedTo.size, "partition")} pinned`,
    ].filter(Boolean).join(" · "));
    setShown(byId("assigned-paused"), overrides.moves_paused);
    byId("assigned-by").classList.toggle("late", !assigner?.assigning);
  }

  #counted(all, matching, shown) {
    const text = matching.length === all.length
      ? counted(all.length, "process", "processes")
      : `${count(matching.length)} of ${counted(all.length, "process", "processes")}`;
    const parts = [shown.length < matching.length ? `${text}, ${count(shown.length)} shown` : text];
    if (this.selected.size > 0) {
      parts.push(`${count(this.selected.size)} selected`);
    }
    return parts.join(" · ");
  }

  // How long each owner has held its oldest partition: a time since, or null.
  #findHeld() {
    for (const owner of this.view.owners) {
      owner.held = null;
    }
    const { state, since } = this.view;
    const now = this.view.shownAt(performance.now());
    for (let partition = 0; partition < state.length; partition++) {
      const owner = this.view.owners[state[partition]];
      if (owner && since[partition] === since[partition]) { // not NaN
        owner.held = Math.max(owner.held ?? 0, now - since[partition]);
      }
    }
  }

  // Which of those that live state the endpoint of another one, so that callers reach one of them.
  #findShared() {
    const stated = new Map();
    for (const owner of this.view.owners) {
      owner.endpointShared = owner.slots > owner.draining || owner.coming > 0
        || owner.member?.state === "living";
      if (owner.endpoint && owner.endpointShared) {
        stated.set(owner.endpoint, 1 + (stated.get(owner.endpoint) ?? 0));
      }
    }
    for (const owner of this.view.owners) {
      owner.endpointShared &&= stated.get(owner.endpoint) > 1;
    }
  }

  // Puts the rows into the table; leaves it alone, with its focus, when they are there already.
  #arrange(rows) {
    const wanted = rows.map((row) => row.node);
    const same = wanted.length === this.body.children.length
      && wanted.every((node, index) => node === this.body.children[index]);
    if (!same) {
      const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
      this.body.replaceChildren(...wanted);
      focused?.focus({ preventScroll: true });
    }
  }

  #row(owner, scale) {
    if (!this.rows.has(owner.id)) {
      this.rows.set(owner.id, this.#newRow(owner));
    }
    const row = this.rows.get(owner.id);
    const fair = this.view.fairOf(owner);
    setText(row.name, owner.name);
    setText(row.self, notesOf(owner, this.view));
    setText(row.endpoint, owner.endpoint);
    setText(row.under, owner.endpoint);
    setText(row.tags, tagsOf(owner).join(" "));
    setText(row.slots, count(owner.slots));
    setText(row.deviation, owner.slots && fair ? deviation(owner.slots / fair) : "");
    row.node.title = placeOf(owner);
    setText(row.partitions, count(owner.partitions));
    setText(row.draining, owner.draining ? count(owner.draining) : "–");
    setText(row.held, owner.held === null ? "–" : duration(owner.held));
    this.#tellHeard(row, owner);
    row.bar.style.width = `${100 * owner.slots / scale}%`;
    row.fair.style.left = `${100 * fair / scale}%`;
    row.bar.parentNode.title = `${tenth(owner.slots)} slots; a fair share is ${tenth(fair)}`;
    row.button.setAttribute("aria-pressed", this.selected.has(owner.id));
    if (row.look !== this.tiles) {
      paintSwatch(row.swatch, this.tiles.ofName(owner.name), this.tiles.scale);
      row.look = this.tiles;
    }
    return row;
  }

  // Renewals arrive several times per lease: half of one without any is an early sign of trouble.
  #tellHeard(row, owner) {
    const known = owner.heard !== null && owner.partitions > 0; // it may have lost them since
    const late = known && owner.heard > this.view.settings.lease_ms / 2;
    const age = late ? `late: ${duration(owner.heard)}` : `${duration(owner.heard)}\u00a0ago`;
    setText(row.heard, known ? age : "–");
    setText(row.age, known ? `heard ${age}` : "");
    for (const node of [row.heard, row.age]) {
      node.classList.toggle("late", late);
    }
  }

  #newRow(owner) {
    const part = (tag, name, ...children) => make(tag, { class: name }, ...children);
    const row = { look: null };
    row.swatch = make("canvas", { class: "swatch", "aria-hidden": "true" });
    row.name = part("span", "name");
    row.self = part("span", "note");
    row.under = part("span", "under");
    row.age = part("span", "under age");
    row.tags = part("span", "tags");
    row.button = make("button", { type: "button", "aria-pressed": "false" },
      row.swatch, row.name);
    row.bar = part("span", "bar");
    row.fair = part("span", "fair");
    for (const field of ["slots", "partitions", "draining", "held", "heard"]) {
      row[field] = part("td", `number ${field}`);
    }
    row.deviation = part("span", "deviation");
    row.endpoint = part("td", "endpoint");
    const head = make("th", { scope: "row" }, row.button, " ", row.self, " ", row.tags, // may wrap
      row.under, row.age);
    const share = part("td", "share", part("span", "track", row.bar, row.fair), row.deviation);
    row.node = make("tr", {}, head, row.endpoint, row.slots, share, row.partitions, row.draining,
      row.held, row.heard);
    row.button.addEventListener("click", () => this.toggle(this.#current(owner.id)));
    return row;
  }

  // The rows of owners that the view has forgotten.
  #forget() {
    for (const id of this.rows.keys()) {
      if (!this.view.byId.has(id)) {
        this.rows.delete(id);
      }
    }
  }

  // By its id: a new view numbers the owners again.
  #current(id) {
    return this.view.owners[this.view.byId.get(id)];
  }

  // Owners, those that are about to be, the answering process; and for a while former owners.
  #isListed(owner, now) {
    return owner.partitions > 0 || owner.coming > 0 || owner.designated > 0
      || owner.member !== null || owner.id === this.view.settings.id
      || now - owner.ledAt < STRIP_MS;
  }

  #matches(owner) {
    if (this.filter === "") {
      return true;
    }
    const wanted = this.filter.toLowerCase();
    const notes = notesOf(owner, this.view).replaceAll("\u00a0", " ");
    return [owner.name, owner.endpoint, owner.id, notes, placeOf(owner), ...tagsOf(owner)]
      .some((text) => text.toLowerCase().includes(wanted));
  }

  #listen() {
    byId("filter").addEventListener("input", (event) => {
      this.filter = event.target.value.trim();
      this.limit = ROWS_AT_FIRST;
      this.show();
      this.onChange();
    });
    byId("clear-selection").addEventListener("click", () => this.clear());
    byId("processes-more").addEventListener("click", () => {
      this.limit += ROWS_MORE;
      this.show();
    });
    for (const button of document.querySelectorAll("#processes thead button")) {
      button.addEventListener("click", () => this.#sortBy(button.value));
    }
  }

  #sortBy(by) {
    const direction = this.sort.by === by ? -this.sort.direction : MOST_FIRST[by] ?? 1;
    this.sort = { by, direction };
    for (const button of document.querySelectorAll("#processes thead button")) {
      const sorted = button.value === by ? (direction > 0 ? "ascending" : "descending") : "none";
      button.closest("th").setAttribute("aria-sort", sorted);
    }
    this.show();
  }
}
