// Looks a key up, and shows step by step why it lands where it does. The answer is the server's,
// the same as for an application; when its partition changes owner, it is requested again.
import { byId, make, setText } from "./dom.js";
import { count, duration, readable } from "./format.js";
import { epochText, term } from "./details.js";

const AGAIN_MS = 200;

export class Lookup {
  // onFound(slot): the map moves its cursor there
  constructor(view, onFound) {
    this.view = view;
    this.onFound = onFound;
    this.answer = null;
    this.question = null;
    this.changed = null; // partitions that changed since it was asked, until it is answered
    byId("lookup").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(new FormData(event.target), true);
    });
    byId("lookup-by").addEventListener("change", (event) => {
      byId("lookup-value").inputMode = event.target.value === "slot" ? "numeric" : "text";
    });
  }

  viewChanged(seen) {
    for (const { partition } of seen) {
      this.changed?.add(partition);
    }
    if (this.answer && seen.some(({ partition }) => partition === this.answer.partition)) {
      this.#askAgain();
    }
  }

  #askAgain() {
    this.again ??= setTimeout(() => {
      this.again = null;
      this.#ask(this.question, false);
    }, AGAIN_MS);
  }

  async #ask(question, asked) {
    this.question = question;
    const changed = new Set();
    this.changed = changed;
    const by = question.get("by");
    const value = question.get("value");
    const url = `v1/route?${by}=${encodeURIComponent(by === "slot" ? value.trim() : value)}`;
    try {
      const response = await fetch(url, { cache: "no-store" });
      const answer = await response.json();
      if (this.question !== question) {
        return; // another was asked meanwhile
      }
      if (!response.ok) {
        this.#fail(answer.error);
        return;
      }
      this.answer = readable(answer);
      if (asked) {
        this.onFound(answer.slot); // announces the slot; the last announcement is heard
      }
      this.#show(this.answer);
      if (changed.has(answer.partition)) {
        this.#askAgain(); // the answer may be older than the change
      }
    } catch {
      this.#fail("This process does not answer. Look up again when the top of the page says "
        + "Live.");
    } finally {
      if (this.changed === changed) {
        this.changed = null;
      }
    }
  }

  #fail(text) {
    this.answer = null;
    byId("lookup-answer").replaceChildren(make("p", { class: "error" }, text));
  }

  #show(answer) {
    const { slots, partitions } = this.view.settings;
    const rows = [];
    if (answer.hash_value !== undefined) {
      const hashed = answer.tag === undefined ? "the whole key is hashed"
        : `only its tag “${answer.tag}” is hashed`;
      rows.push(term("key", answer.key, hashed));
      rows.push(term("hash", answer.hash_value, `${answer.hash}, hexadecimal`));
    }
    rows.push(term("slot", count(answer.slot),
      answer.hash_value === undefined ? "" : `hash mod ${count(slots)} slots`));
    rows.push(term("partition", count(answer.partition),
      `slot mod ${count(partitions)} partitions`));
    rows.push(term("verdict", answer.verdict, explanation(answer)));
    if (answer.epoch !== undefined) {
      rows.push(term("owner", answer.owner, answer.endpoint));
      rows.push(term("epoch", epochText(answer.epoch.inc, answer.epoch.offset),
        `valid for ${duration(answer.valid_for_ms)}`));
    }
    if (answer.next_owner !== undefined) {
      rows.push(term("next owner", answer.next_owner, answer.next_endpoint));
    }
    if (answer.designee !== undefined) {
      rows.push(term("designated", answer.designee,
        answer.assigner === undefined ? "" : `named by ${answer.assigner}`));
    }
    byId("lookup-answer").replaceChildren(make("dl", { class: "steps" }, ...rows));
    setText(byId("said"), `${answer.key ?? ""} is on slot ${answer.slot}, ${answer.verdict}`
      + (answer.owner === undefined ? "" : `, owner ${answer.owner}`));
  }
}

function explanation({ verdict, draining, stale }) {
  return {
    local: "the process that serves this page leads it",
    remote: "another process leads it: go there",
    unowned: "no process leads it now: try again later",
    unknown: "the ledger has not answered yet, or has stopped answering",
  }[verdict] + (draining ? "; draining: it moves soon" : "")
    + (stale ? "; stale: its log is silent, and the last owner serves on" : "");
}
