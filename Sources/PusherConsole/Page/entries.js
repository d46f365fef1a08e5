// The entries that are kept: the last ones, in a ring.

const ENTRY_LIMIT = 100_000;
const TEXT_LIMIT = 64 << 20;
const KINDS = ["event", "member", "channel", "connection", "subscription", "user", "webhook", "request", "error", "dropped", "server"];

/** Whether an entry tells of something that went wrong. */
const isProblem = ({ kind, status, action }) =>
  kind === "error" || kind === "dropped" || status >= 400 || ["refused", "failed", "dropped"].includes(action);

const NUMBERS = ["n", "recipients", "code", "status", "retry_in", "count", "events", "serial"];
/** An event's request and a request's events, which are one row; no entry can bring a symbol along. */
const REQUEST = Symbol("request");
const CAUSED = Symbol("caused");
/** An API call has at most 10 events for 100 channels each. */
const CAUSED_LIMIT = 1000;

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
  /** Requests that share the row of their events: all, and those that are gone. */
  joined = 0;
  joinedGone = 0;
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
    if (entry.kind === "request" && entry.events > 0) this.#join(entry);
  }

  /** A request's events are the last ones of the API before it. */
  #join(request) {
    const found = [];
    const end = Math.max(this.first, this.next - CAUSED_LIMIT);
    for (let number = this.next - 2; number >= end && found.length < request.events; number -= 1) {
      const entry = this.at(number);
      // Its events may be among those that were dropped, and are none of an earlier run's.
      if (entry.kind === "dropped" || entry.kind === "server" || entry[REQUEST]) break;
      if (entry.kind === "event" && entry.source === "api") found.push(entry);
    }
    if (found.length === 0) return;
    for (const entry of found) entry[REQUEST] = request;
    request[CAUSED] = found;
    this.joined += 1;
  }

  clear() {
    this.#slots = [];
    this.first = this.next;
    this.joinedGone = this.joined;
    this.gone = this.text = 0;
    for (const kind of KINDS) this.counts[kind] = 0;
  }

  /** What is kept now, for a reader who pauses: it stays while later entries push it out here. */
  snapshot() {
    const slots = this.#slots.slice();
    const { first, next, joined, joinedGone } = this;
    return { first, next, joined, joinedGone, at: (number) => slots[number % ENTRY_LIMIT] };
  }

  #dropFirst() {
    const slot = this.first++ % ENTRY_LIMIT;
    this.counts[this.#slots[slot].kind] -= 1;
    if (this.#slots[slot][CAUSED]) this.joinedGone += 1;
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
