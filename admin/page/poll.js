// A question that is asked again and again while the stream is open and somebody may be looking:
// for what changes all the time, and what the stream therefore does not send.

const EVERY_MS = 2000;
const REST = 10; // times as long as the last answer took: thousands of owners cost more
const OLD_MS = 6000; // an answer this old is no longer shown
const GIVE_UP_MS = 10e3;
const FAILED_MOST_MS = 60e3;

export class Poll {
  // onAnswer(answer): what it says, or null: that is not known now
  constructor(url, stream, onAnswer) {
    this.url = url;
    this.stream = stream;
    this.onAnswer = onAnswer;
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
      const response = await fetch(this.url,
        { cache: "no-store", signal: AbortSignal.timeout(GIVE_UP_MS) });
      if (!response.ok) {
        throw new Error(response.statusText);
      }
      const answer = await response.json();
      this.failures = 0;
      wait = Math.max(wait, REST * (performance.now() - begun));
      this.#take(answer);
    } catch { // the head of the page tells whether the process answers; here a dash does
      this.failures++;
      wait = Math.min(FAILED_MOST_MS, wait * 2 ** this.failures);
      this.#take(null);
    }
    this.askAt = performance.now() + wait;
    this.asking = false;
  }

  #take(answer) {
    this.toldAt = answer && performance.now();
    this.onAnswer(answer);
  }
}
