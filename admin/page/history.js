// What changed while this page was open, and in the minutes before, as its process saw it: the
// newest changes of owner, in the order of their times.
// A change is from one state of a partition to another; a state is an owner's number, NOBODY or
// NOT_KNOWN. Times are the page's own clock, in ms.

const CAPACITY = 1 << 18;

export class History {
  constructor() {
    this.time = new Float64Array(CAPACITY);
    this.partition = new Int32Array(CAPACITY);
    this.from = new Int32Array(CAPACITY);
    this.to = new Int32Array(CAPACITY);
    this.clear();
  }

  clear() {
    this.total = 0; // ever added; the newest is at (total - 1) % CAPACITY
    this.forgotten = 0; // so many of the oldest
  }

  // Times never go back: a change learnt late is shown no earlier than those learnt before.
  add(time, partition, from, to) {
    const at = this.total % CAPACITY;
    const newest = this.total ? this.time[(this.total - 1) % CAPACITY] : -Infinity;
    this.time[at] = Math.max(time, newest);
    this.partition[at] = partition;
    this.from[at] = from;
    this.to[at] = to;
    this.total++;
  }

  // From the newest change to the oldest: visit(index into the arrays) until it returns false.
  backwards(visit) {
    for (let number = this.total - 1; number >= this.#oldest(); number--) {
      if (visit(number % CAPACITY) === false) {
        return;
      }
    }
  }

  // What is older than this time.
  forget(time) {
    for (this.forgotten = this.#oldest(); this.forgotten < this.total
        && this.time[this.forgotten % CAPACITY] < time;) {
      this.forgotten++;
    }
  }

  #oldest() {
    return Math.max(this.forgotten, this.total - CAPACITY);
  }
}
