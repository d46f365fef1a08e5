// The entries that are kept: the last ones, in a ring.

const ENTRY_LIMIT = 100_000;
const TEXT_LIMIT = 64 << 20;
const KINDS = ["event", "member", "channel", "connection", "subscription", "user", "webhook", "request", "error", "dropped"];

/** Whether an entry tells of something that went wrong. */
const isProblem = ({ kind, status, action }) =>
  kind === "error" || kind === "dropped" || status >= 400 || ["refused", "failed", "dropped"].includes(action);

const NUMBERS = ["n", "recipients", "code", "status", "retry_in", "count"];

/** A recording may hold anything: what is not of its type becomes text, so that nothing that shows entries need ask. */
function tame(entry) {
  for (const name in entry) {
    const value = entry[name];
    const isSound = typeof value === "string" || name === "user_info" || typeof value === "number" && NUMBERS.includes(name);
    if (!isSound) entry[name] = JSON.stringify(value);
  }
}

/** Entries by a number of the page's own, which counts up from 0 and is not the server's. */
class EntryStore {
  first = 0;
  next = 0;
  gone = 0;
  text = 0;
  counts = {};
  #slots = [];
  #sizes = new Uint32Array(ENTRY_LIMIT);
  #shared = new Map();

  constructor() {
    this.clear();
  }

  get size() {
    return this.next - this.first;
  }

  at(number) {
    return this.#slots[number % ENTRY_LIMIT];
  }

  /** @param size how long the entry's text was */
  add(entry, size) {
    if (!KINDS.includes(entry.kind)) entry.kind = "error";
    for (const name of ["kind", "app", "channel", "event", "source", "action"]) {
      if (typeof entry[name] === "string") entry[name] = this.#share(entry[name]);
    }
    while (this.size === ENTRY_LIMIT || this.size > 0 && this.text + size > TEXT_LIMIT) this.#dropFirst();
    const slot = this.next++ % ENTRY_LIMIT;
    this.#slots[slot] = entry;
    this.#sizes[slot] = size;
    this.text += size;
    this.counts[entry.kind] += 1;
  }

  clear() {
    this.#slots = [];
    this.first = this.next;
    this.gone = this.text = 0;
    for (const kind of KINDS) this.counts[kind] = 0;
  }

  /** What is kept now, for a reader who pauses: it stays while later entries push it out here. */
  snapshot() {
    const slots = this.#slots.slice();
    return { first: this.first, next: this.next, at: (number) => slots[number % ENTRY_LIMIT] };
  }

  #dropFirst() {
    const slot = this.first++ % ENTRY_LIMIT;
    this.counts[this.#slots[slot].kind] -= 1;
    this.text -= this.#sizes[slot];
    this.#slots[slot] = undefined;
    this.gone += 1;
  }

  /** One string for a name that comes again. Names may be without number, so they are forgotten at times. */
  #share(text) {
    if (this.#shared.size > 20_000) this.#shared.clear();
    if (!this.#shared.has(text)) this.#shared.set(text, text);
    return this.#shared.get(text);
  }
}
