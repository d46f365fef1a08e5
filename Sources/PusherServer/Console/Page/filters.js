"use strict";
// Which entries are shown: the filter, and the numbers of those that match it.

/** Members in which free text is looked for. */
const SEARCHED = [
  "data", "channel", "event", "user_id", "socket_id", "reason", "address", "action", "url", "body", "method", "path",
];

class Filter {
  #app;
  #kinds;
  #channel;
  #event;
  #text;

  /** @param values `app`, `channel`, `event`, `text` as typed, and `kinds`, a set; what is empty lets all pass */
  constructor(values) {
    this.#app = values.app;
    this.#kinds = values.kinds;
    this.#channel = Filter.#pattern(values.channel);
    this.#event = Filter.#pattern(values.event);
    this.#text = Filter.#pattern(values.text);
  }

  static #pattern(text) {
    return text === "" ? undefined : new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "i");
  }

  matches(entry) {
    if (this.#kinds.size > 0 && !this.#kinds.has(entry.kind)) return false;
    if (this.#app !== "" && entry.app !== undefined && entry.app !== this.#app) return false;
    if (this.#channel !== undefined && !this.#channel.test(entry.channel ?? "")) return false;
    if (this.#event !== undefined && !this.#event.test(entry.event ?? "")) return false;
    return this.#text === undefined || this.#hasText(entry);
  }

  #hasText(entry) {
    for (const name of SEARCHED) {
      if (typeof entry[name] === "string" && this.#text.test(entry[name])) return true;
    }
    if (entry.status !== undefined && this.#text.test(String(entry.status))) return true;
    if (entry.code !== undefined && this.#text.test(String(entry.code))) return true;
    return entry.user_info !== undefined && this.#text.test(JSON.stringify(entry.user_info));
  }
}

/** The matching entries. A new filter is tried in slices, while the old result stays to be seen. */
class ShownEntries {
  /** How many have come to the end of the list since the page began. */
  appended = 0;
  /** How many went from its head since the list last asked. */
  trimmed = 0;
  #store;
  #source;
  #filter;
  #numbers = [];
  #head = 0;
  #scanned = 0;
  #fresh = null;

  constructor(store, filter) {
    this.#store = store;
    this.#source = store;
    this.#filter = filter;
  }

  get count() {
    return this.#numbers.length - this.#head;
  }

  get isPaused() {
    return this.#source !== this.#store;
  }

  /** How many entries the filter chooses from. */
  get total() {
    return this.#source.next - this.#source.first;
  }

  /** The number after the last entry that may be shown. */
  get end() {
    return this.#source.next;
  }

  get isDone() {
    return this.#fresh === null && this.#scanned >= this.#source.next;
  }

  number(index) {
    return this.#numbers[this.#head + index];
  }

  entry(index) {
    return this.#source.at(this.number(index));
  }

  /** The place of the entry with this number, or of the one after it. */
  index(number) {
    let low = this.#head;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#numbers[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  apply(filter) {
    this.#filter = filter;
    this.#fresh = [];
    this.#scanned = this.#source.first;
  }

  pause() {
    this.#source = this.#store.snapshot();
  }

  resume() {
    this.#source = this.#store;
  }

  clear() {
    if (this.isPaused) this.pause();
    this.#fresh = null;
    this.#numbers = [];
    this.#head = 0;
    this.#scanned = this.#source.next;
  }

  /** Goes through entries until all are, or until the time is over. */
  advance(deadline) {
    const source = this.#source;
    if (this.#scanned < source.first) this.#scanned = source.first;
    const found = this.#fresh ?? this.#numbers;
    const before = found.length;
    while (this.#scanned < source.next) {
      const end = Math.min(this.#scanned + 64, source.next);
      for (; this.#scanned < end; this.#scanned += 1) {
        if (this.#filter.matches(source.at(this.#scanned))) found.push(this.#scanned);
      }
      if (performance.now() > deadline) break;
    }
    if (this.#fresh === null) this.appended += found.length - before;
    else if (this.#scanned >= source.next) this.#takeFresh();
    this.#trim();
  }

  #takeFresh() {
    this.#numbers = this.#fresh;
    this.#head = 0;
    this.#fresh = null;
  }

  #trim() {
    while (this.#head < this.#numbers.length && this.#numbers[this.#head] < this.#source.first) {
      this.#head += 1;
      this.trimmed += 1;
    }
    if (this.#head > ENTRY_LIMIT) {
      this.#numbers = this.#numbers.slice(this.#head);
      this.#head = 0;
    }
  }
}
