// What becomes of requests in the process that serves this page. It counts them since it started;
// a rate is the difference of two counts, over the last seconds. Hidden where none was counted.
import { byId, make, setShown, setText } from "./dom.js";
import { count, perSecond } from "./format.js";
import { Poll } from "./poll.js";

const OVER_S = 10; // of time, which is what the rates are taken over
const BY = { proxy: "per second, in this process", admit: "per second, as admit() answered here" };
const KINDS = [
  ["served", "served here", "Requests for keys that this process owns"],
  ["forwarded", "forwarded", "Answered by another owner, and passed on"],
  ["redirected", "redirected", "For keys of another owner: the application sends them on"],
  ["misdirected", "misdirected", "421 of a process that was no owner: sent again"],
  ["waited", "waited", "How often one waited for an owner"],
  ["refused", "refused",
    "Malformed, without a key, sent on too often, or after this process has left"],
  ["unowned", "no owner", "Nobody owned the slot in time: 503"],
  ["unreachable", "unreachable", "The owner, or the application here, could not be reached: 503"],
  ["failed", "failed", "The owner's answer was malformed, incomplete or late: 502 or 504"],
];
const TROUBLE = new Set(["unowned", "unreachable", "failed"]); // shown once there was any

// Counted by another process, or by one that has started since.
function isAnother(answer, before) {
  return answer.source !== before.source || answer.process !== before.process
    || KINDS.some(([kind]) => answer[kind] < before[kind]);
}

export class Requests {
  constructor(stream) {
    this.answers = []; // of the last seconds, the newest last
    this.rows = KINDS.map(([kind, label, meaning]) => {
      const rate = make("span", { class: "rate" });
      const total = make("span", { class: "hint" });
      const row = make("div", { id: `requests-${kind}`, title: meaning },
        make("dt", {}, label), make("dd", {}, rate, total));
      return { kind, row, rate, total };
    });
    byId("requests-kinds").append(...this.rows.map(({ row }) => row));
    this.poll = new Poll("v1/requests", stream, (answer) => this.#take(answer));
  }

  // Call it now and then.
  watch(now) {
    this.poll.watch(now);
  }

  #take(answer) {
    if (answer === null) { // what was counted by then stays
      this.answers = this.answers.slice(-1);
      this.#show(null);
      return;
    }
    const before = this.answers.at(-1);
    const age = before ? answer.at - before.at : 0;
    if (!(age > 0 && age <= OVER_S) || isAnother(answer, before)) { // or a clock was set
      this.answers = [];
    }
    this.answers.push(answer);
    while (this.answers.length > 2 && answer.at - this.answers[1].at >= OVER_S) {
      this.answers.shift();
    }
    this.#show(this.answers.length > 1 ? this.answers[0] : null);
  }

  // first: with what the newest is compared; null: the rates are not known.
  #show(first) {
    const newest = this.answers.at(-1) ?? {};
    const any = KINDS.some(([kind]) => newest[kind] > 0);
    setShown(byId("requests"), any);
    if (!any) {
      return;
    }
    setText(byId("requests-by"), BY[newest.source] ?? "");
    for (const { kind, row, rate, total } of this.rows) {
      const sum = newest[kind];
      setShown(row, sum > 0 || (sum === 0 && !TROUBLE.has(kind)));
      const each = first && (sum - first[kind]) / (newest.at - first.at);
      setText(rate, first ? perSecond(each) : "–");
      rate.classList.toggle("late", TROUBLE.has(kind) && each > 0);
      setText(total, `${count(sum ?? 0)} in all`);
    }
  }
}
