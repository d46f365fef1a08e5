// The rows of the list: each entry has one, but a burst of the same event is one row until it is unfolded.

/** Minimum number of events in a burst, and maximum time between two of them, in milliseconds. */
const BURST = 5;
const BURST_PAUSE = 1000;

/** True if an event repeats the one before it. */
const repeats = (entry, before) => entry.kind === "event" && before?.kind === "event"
  && entry.event === before.event && entry.channel === before.channel && entry.app === before.app
  && Math.abs(Date.parse(entry.time) - Date.parse(before.time)) <= BURST_PAUSE;

/** Rows by the number of their first entry; a row reaches to the next one's. */
class FoldedRows {
  #starts = [];
  #head = 0;
  /** The burst at the end: its length, its last event, and whether it is unfolded. */
  #run = 0;
  #last;
  #isOpen = false;

  constructor(folds) {
    this.folds = folds;
  }

  get count() {
    return this.#starts.length - this.#head;
  }

  /** The number of a row's first entry; infinite after the last row. */
  start(index) {
    return this.#starts[this.#head + index] ?? Infinity;
  }

  /** The row with this number, or the one before it. */
  index(number) {
    let [low, high] = [this.#head, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] <= number) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1 - this.#head);
  }

  add(number, entry) {
    if (!this.folds || !repeats(entry, this.#last)) {
      this.#run = 0;
      this.#isOpen = false;
    }
    this.#last = entry;
    this.#run += 1;
    if (this.#run < BURST || this.#isOpen) this.#starts.push(number);
    // Now it is a burst: the rows of the events before become one.
    else if (this.#run === BURST) this.#starts.length = Math.max(this.#head + 1, this.#starts.length - BURST + 2);
  }

  /** Forgets the rows before the one with this number, and says how many they were. */
  trim(number) {
    const before = this.#head;
    while (this.count > 1 && this.start(1) <= number) this.#head += 1;
    const gone = this.#head - before;
    if (this.#head > ENTRY_LIMIT) {
      this.#starts = this.#starts.slice(this.#head);
      this.#head = 0;
    }
    return gone;
  }

  /** Puts rows with these numbers in the place of the rows from one to another. */
  replace(from, to, numbers) {
    if (to === this.count - 1) this.#isOpen = numbers.length > 1;
    this.#starts = [
      ...this.#starts.slice(0, this.#head + from), ...numbers, ...this.#starts.slice(this.#head + to + 1),
    ];
  }
}
