// How long ago each owner's last renewal was read. The stream does not send it, as it changes all
// the time; so the page requests it while somebody may be looking. Between two answers an age does
// not grow: a page that has not asked does not mean that the owner is silent.

const EVERY_MS = 2000;
const REST = 10; // times as long as the last answer took: thousands of owners cost more
const OLD_MS = 6000; // an answer this old is no longer shown
const GIVE_UP_MS = 10e3;
const FAILED_MOST_MS = 60e3;

export class Ages {
  // onChange(): owners' heard (ms, or null: not known) may have changed
  constructor(view, stream, onChange) {
    this.view = view;
    this.stream = stream;
    this.onChange = onChange;
    this.asking = false;
    this.failures = 0;
    this.askAt = 0;
    this.toldAt = null;
  }

  // Call it now and then.
  watch(now) {
    const useful = this.stream.open && document.visibilityState === "visible";
    if (this.toldAt !== null && (!this.stream.open || now - this.toldAt > OLD_MS)) {
      this.#take(null);
    }
    if (useful && !this.asking && now >= this.askAt) {
      this.#ask(now);
    }
  }

  async #ask(begun) {
    this.asking = true;
    let wait = EVERY_MS;
    try {
      const response = await fetch("v1/processes",
        { cache: "no-store", signal: AbortSignal.timeout(GIVE_UP_MS) });
      if (!response.ok) {
        throw new Error(response.statusText);
      }
      const { processes } = await response.json();
      this.failures = 0;
      wait = Math.max(wait, REST * (performance.now() - begun));
      this.#take(processes);
    } catch { // the head of the page tells whether the process answers; here a dash does
      this.failures++;
      wait = Math.min(FAILED_MOST_MS, wait * 2 ** this.failures);
      this.#take(null);
    }
    this.askAt = performance.now() + wait;
    this.asking = false;
  }

  #take(processes) {
    this.toldAt = processes && performance.now();
    for (const owner of this.view.owners) {
      owner.heard = null;
    }
    for (const { id, partitions, oldest_ms: oldest } of processes ?? []) {
      const owner = this.view.owners[this.view.byId.get(id)];
      if (owner && partitions > 0) { // a process that leads nothing has no renewal
        owner.heard = oldest;
      }
    }
    this.onChange();
  }
}
