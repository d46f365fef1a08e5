// Which entries are shown: the filter, and the numbers of those that match it.

/** Members in which free text is looked for. */
const SEARCHED = [
  "data", "channel", "event", "user_id", "socket_id", "reason", "address", "action", "url", "body", "method", "path",
  "status", "code",
];

/** What lets an entry pass: `app`, `channel`, `event` and `text` as typed, `kinds` as a set; empty lets all pass. */
function makeFilter({ app, kinds, ...typed }) {
  const pattern = (text) => text && new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "i");
  const [channel, event, text] = [typed.channel, typed.event, typed.text].map(pattern);
  const hasText = (entry) => SEARCHED.some((name) => entry[name] !== undefined && text.test(entry[name]))
    || entry.user_info !== undefined && text.test(JSON.stringify(entry.user_info));
  return (entry) => (kinds.size === 0 || kinds.has(entry.kind))
    && (!app || entry.app === undefined || entry.app === app)
    && (!channel || channel.test(entry.channel ?? ""))
    && (!event || event.test(entry.event ?? ""))
    && (!text || hasText(entry));
}

/** The matching entries. A new filter is tried in slices, while the old result stays to be seen. */
class ShownEntries {
  /** How many have come to the end of the list since the page began. */
  appended = 0;
  /** How many went from its head since the list last asked. */
  trimmed = 0;
  #numbers = [];
  #head = 0;
  #scanned = 0;
  #fresh = null;

  constructor(store, filter) {
    this.store = this.source = store;
    this.filter = filter;
  }

  get count() {
    return this.#numbers.length - this.#head;
  }

  get isPaused() {
    return this.source !== this.store;
  }

  get isDone() {
    return this.#fresh === null && this.#scanned >= this.source.next;
  }

  number(index) {
    return this.#numbers[this.#head + index];
  }

  entry(index) {
    return this.source.at(this.number(index));
  }

  /** The place of the entry with this number, or of the one after it. */
  index(number) {
    let [low, high] = [this.#head, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#numbers[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  apply(filter) {
    this.filter = filter;
    this.#fresh = [];
    this.#scanned = this.source.first;
  }

  toggle() {
    this.source = this.isPaused ? this.store : this.store.snapshot();
  }

  clear() {
    if (this.isPaused) this.source = this.store.snapshot();
    this.#fresh = null;
    this.#numbers = [];
    this.#head = 0;
    this.#scanned = this.source.next;
  }

  /** Goes through entries until all are, or until the time is over. */
  advance(deadline) {
    const { source } = this;
    const found = this.#fresh ?? this.#numbers;
    const before = found.length;
    this.#scanned = Math.max(this.#scanned, source.first);
    while (this.#scanned < source.next) {
      const end = Math.min(this.#scanned + 64, source.next);
      for (; this.#scanned < end; this.#scanned += 1) if (this.filter(source.at(this.#scanned))) found.push(this.#scanned);
      if (performance.now() > deadline) break;
    }
    if (this.#fresh === null) this.appended += found.length - before;
    else if (this.#scanned >= source.next) {
      this.#numbers = found;
      this.#head = 0;
      this.#fresh = null;
    }
    for (; this.number(0) < source.first; this.#head += 1) this.trimmed += 1;
    if (this.#head > ENTRY_LIMIT) {
      this.#numbers = this.#numbers.slice(this.#head);
      this.#head = 0;
    }
  }
}
