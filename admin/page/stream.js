// The stream of /v1/events: opened, watched, reopened. A browser retries by itself when a stream
// breaks, but not when it was refused, and it does not notice one that has fallen silent: the
// server sends something every second.

const SILENT_MS = 4000;
const FIRST_MS = 30000; // the first event is the whole view: large, perhaps over a slow link
const RETRY_MS = 1000;
const RETRY_MOST_MS = 10000;

export class Stream {
  // handlers: {view, assignment, moves, changed, age, transition}, each given the data of an event.
  constructor(url, handlers, onState) {
    this.url = url;
    this.handlers = handlers;
    this.onState = onState;
    this.heardAt = null; // when anything last came
    this.open = false;
    this.failures = 0;
    setInterval(() => this.#watch(), 500);
    this.#connect();
  }

  #connect() {
    this.retryAt = Infinity;
    this.triedAt = performance.now();
    this.begun = false; // no view has come over this connection yet
    this.source = new EventSource(this.url);
    for (const name of Object.keys(this.handlers)) {
      this.source.addEventListener(name, (event) => this.#take(name, event.data));
    }
    this.source.addEventListener("error", () => this.#away());
  }

  // Changes refer to the view that this connection began with.
  #take(name, data) {
    if (name !== "view" && !this.begun) {
      return;
    }
    this.heardAt = performance.now();
    this.begun = true;
    this.failures = 0;
    this.handlers[name](JSON.parse(data), this.heardAt);
    if (!this.open) {
      this.open = true;
      this.onState();
    }
  }

  #away() {
    this.open = false;
    this.onState();
    if (this.source.readyState === EventSource.CLOSED) {
      this.#retryLater();
    }
  }

  #retryLater() {
    this.source.close();
    if (this.retryAt === Infinity) {
      const wait = Math.min(RETRY_MOST_MS, RETRY_MS * 2 ** this.failures);
      this.failures++;
      this.retryAt = performance.now() + wait * (0.75 + Math.random() / 2);
    }
  }

  #watch() {
    const now = performance.now();
    if (now >= this.retryAt) {
      this.#connect();
    } else if (this.retryAt === Infinity && now - (this.begun ? this.heardAt : this.triedAt)
        > (this.begun ? SILENT_MS : FIRST_MS)) {
      this.open = false;
      this.#retryLater();
      this.onState();
    }
  }
}
