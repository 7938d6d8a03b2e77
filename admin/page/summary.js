// The head of the page: whose view this is, whether it can be trusted, and the few numbers that
// show whether all is well.
import { byId, setFields, setShown, setText } from "./dom.js";
import { count, counted, deviation, duration, tenth } from "./format.js";
import { STRIP_MS } from "./strip.js";
import { LOCAL, REMOTE, UNKNOWN, UNOWNED, VERDICTS } from "./view.js";

// What a person must know before believing anything else on the page.
export function conditionOf(view, stream, now) {
  if (!stream.open) {
    return stream.heardAt === null ? notYet(stream) : away(view, now - stream.heardAt);
  }
  const { ledger, ready, process } = view.settings;
  if (ledger === "silent") {
    return {
      kind: "silent", pill: "Ledger silent",
      text: `The ledger has not answered ${process} for ${duration(view.age(now))}. `
        + whatIsLeft(view),
    };
  }
  if (!ready) {
    return {
      kind: "reading", pill: "Not ready",
      text: `${process} does not know the owners of ${counted(view.verdictSlots[UNKNOWN], "slot")} `
        + "yet: it has not read their logs for long enough, or a log does not answer.",
    };
  }
  return { kind: "live", pill: "Live", text: "" };
}

// What can still be shown if the ledger is silent.
function whatIsLeft(view) {
  const unknown = view.verdictSlots[UNKNOWN];
  if (unknown === view.settings.slots) {
    return "Every lease has ended since: all slots are unknown until it answers again.";
  }
  return (unknown === 0 ? "The page shows the last answer"
    : `${counted(unknown, "slot")} unknown by now; the rest is from the last answer`)
    + (view.staleSlots ? ", by which the owners serve on."
      : ", which is valid until the leases end.");
}

function notYet(stream) {
  return stream.failures === 0
    ? { kind: "connecting", pill: "Connecting", text: "" }
    : {
      kind: "away", pill: "No answer",
      text: "This process does not answer on its admin port. Trying again every few seconds.",
    };
}

function away(view, silentFor) {
  const age = duration(silentFor);
  return {
    kind: "away", pill: "Disconnected",
    text: `Nothing received from ${view.settings.process} for ${age}. The page shows its last `
      + "message: the process may have ended, or the network may be down. Trying again every few "
      + "seconds.",
  };
}

export function showCondition(condition) {
  const root = document.documentElement;
  if (root.dataset.condition !== condition.kind) {
    root.dataset.condition = condition.kind;
  }
  setText(byId("condition"), condition.pill);
  setShown(byId("banner"), condition.text !== "");
  setText(byId("banner-text"), condition.text);
}

export function showSettings({ group, topic, lane, mode, hash, partitions, logs, process }) {
  document.title = `${group}: slots`;
  setText(byId("group"), group);
  setText(byId("settings"), [`topic ${topic}`, `lane ${lane}`, mode, `hash ${hash}`,
    `${counted(partitions, "partition")} in ${counted(logs, "log")}`,
    `as ${process} sees it`].join(" · "));
}

export function showFacts(view, now) {
  const { slots, version, digest } = view.settings;
  const unknown = view.verdictSlots[UNKNOWN];
  const unowned = view.verdictSlots[UNOWNED];
  const owned = view.verdictSlots[LOCAL] + view.verdictSlots[REMOTE];
  setFields("fact", {
    owned: count(owned),
    slots: ` of ${count(slots)}`,
    state: unknown ? `${counted(unknown, "slot")} unknown` : old(view, now)
      + (unowned ? `${counted(unowned, "slot")} unowned`
        : view.staleSlots ? `${counted(view.staleSlots, "slot")} stale: Kafka is silent`
          : "every slot has an owner"),
    processes: count(view.sharing),
    fair: fairness(view),
    moves: count(view.movedSince(now - STRIP_MS)),
    age: duration(view.age(now)),
    version: `version ${count(version)}`,
    digest,
  });
  byId("fact-owned").classList.toggle("trouble", unowned > 0);
  VERDICTS.forEach((name, verdict) => {
    setText(byId(`count-${name}`), count(view.verdictSlots[verdict]));
  });
  for (const [part, slotsOf] of [["owned", owned], ["unowned", unowned], ["unknown", unknown]]) {
    byId(`part-${part}`).style.flexGrow = slotsOf;
  }
  setText(byId("count-draining"), count(view.drainingSlots));
}

// What to say before a value that may be out of date.
function old(view, now) {
  const shown = view.shownAt(now);
  return shown === now ? "" : `${duration(now - shown)} ago: `;
}

function fairness(view) {
  if (view.sharing === 0) {
    return view.verdictSlots[UNKNOWN] ? "not known now" : "nobody owns a slot";
  }
  const owners = view.owners.filter((owner) => owner.partitions > 0);
  const shares = owners.map((owner) => owner.slots / view.fairOf(owner)).filter(Number.isFinite);
  const most = shares.reduce((a, b) => Math.max(a, b), 0);
  const fairs = new Set(owners.map((owner) => view.fairOf(owner)).filter((fair) => fair > 0));
  const share = fairs.size === 1 ? `fair share ${tenth([...fairs][0])}` : "fair shares by weight";
  return `${share} · most ${deviation(most)}`;
}
