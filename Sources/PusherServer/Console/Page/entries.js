"use strict";
// The entries that are kept: the last ones, in a ring.

const ENTRY_LIMIT = 100_000;
const TEXT_LIMIT = 64 << 20;
const KINDS = [
  "event", "member", "channel", "connection", "subscription", "user", "webhook", "request", "error", "dropped",
];

/** Members that are the same on many entries share one string. */
class SharedStrings {
  #known = new Map();

  share(text) {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // Names may be without number; what is shared must not grow with them.
    if (this.#known.size >= 20_000) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}

/** Entries by a number of the page's own, which counts up from 0 and is not the server's. */
class EntryStore {
  first = 0;
  next = 0;
  gone = 0;
  text = 0;
  counts = new Map(KINDS.map((kind) => [kind, 0]));
  #slots = [];
  #sizes = new Uint32Array(ENTRY_LIMIT);
  #strings = new SharedStrings();

  get size() {
    return this.next - this.first;
  }

  at(number) {
    return this.#slots[number % ENTRY_LIMIT];
  }

  /** @param size how long the entry's text was */
  add(entry, size) {
    if (!KINDS.includes(entry.kind)) entry.kind = "error";
    for (const name of ["kind", "time", "app", "channel", "event", "source", "action"]) {
      if (typeof entry[name] === "string") entry[name] = this.#strings.share(entry[name]);
    }
    if (this.size === ENTRY_LIMIT) this.#dropFirst();
    while (this.size > 0 && this.text + size > TEXT_LIMIT) this.#dropFirst();
    const slot = this.next % ENTRY_LIMIT;
    this.#slots[slot] = entry;
    this.#sizes[slot] = size;
    this.text += size;
    this.next += 1;
    this.counts.set(entry.kind, this.counts.get(entry.kind) + 1);
  }

  clear() {
    this.#slots = [];
    this.first = this.next;
    this.gone = 0;
    this.text = 0;
    for (const kind of KINDS) this.counts.set(kind, 0);
  }

  /** What is kept now, for a reader who pauses: it stays while later entries push it out here. */
  snapshot() {
    const slots = this.#slots.slice();
    return { first: this.first, next: this.next, at: (number) => slots[number % ENTRY_LIMIT] };
  }

  #dropFirst() {
    const slot = this.first % ENTRY_LIMIT;
    const kind = this.#slots[slot].kind;
    this.counts.set(kind, this.counts.get(kind) - 1);
    this.text -= this.#sizes[slot];
    this.#slots[slot] = undefined;
    this.first += 1;
    this.gone += 1;
  }
}

/** Whether an entry tells of something that went wrong. */
function isProblem(entry) {
  return entry.kind === "error" || entry.kind === "dropped" || entry.status >= 400
    || entry.action === "refused" || entry.action === "failed" || entry.action === "dropped";
}
