// Which entries are shown: the filter, and the numbers of those that match it.

/** Members in which free text is looked for. */
const SEARCHED = [
  "data", "channel", "event", "user_id", "socket_id", "reason", "address", "action", "url", "body", "method", "path",
  "status", "code",
];

/** A pattern for a text anywhere in another, in upper or lower case. */
const plain = (text) => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "i");

/** A test for names: a glob must match the whole name; other text may stand anywhere in it. */
function nameTest(text) {
  const bracket = text.indexOf("[");
  if (!/[*?]/.test(text) && (bracket < 0 || text.lastIndexOf("]") < bracket + 2)) {
    const pattern = plain(text);
    return (name) => pattern.test(name);
  }
  const glob = new Glob(text);
  // Names come again and again, but may be without number.
  const known = new Map();
  return (name) => {
    if (known.size > 5000) known.clear();
    if (!known.has(name)) known.set(name, glob.matches(name));
    return known.get(name);
  };
}

/** As for --event: with the mark that Echo puts before a complete name, the name without it is meant too. */
function eventTest(text) {
  const rest = text.replace(/^(\.|\\\\?)/, "");
  const tests = (rest === "" || rest === text ? [text] : [text, rest]).map(nameTest);
  return (name) => tests.some((test) => test(name));
}

/** A test for entries: the fields as typed, `kinds` as a set, `span` as a function of the entry; an empty field lets all pass. */
function makeFilter({ app, kinds, span, ...typed }) {
  const channel = typed.channel && nameTest(typed.channel);
  const event = typed.event && eventTest(typed.event);
  const text = typed.text && plain(typed.text);
  const hasText = (entry) => SEARCHED.some((name) => entry[name] !== undefined && text.test(entry[name]))
    || entry.user_info !== undefined && text.test(JSON.stringify(entry.user_info));
  const passes = (entry) => (kinds.size === 0 || kinds.has(entry.kind))
    && (!app || entry.app === undefined || entry.app === app)
    && (!channel || channel(entry.channel ?? ""))
    && (!event || event(entry.event ?? ""))
    && (!text || hasText(entry))
    && (!span || span(entry));
  // A request is in the row of its event, where that is shown.
  return (entry) => passes(entry) && !entry[CAUSED]?.some(passes);
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

  constructor(store, filter, folds) {
    this.store = this.source = store;
    this.filter = filter;
    this.rows = new FoldedRows(folds);
  }

  /** Number of entries that match; `rows.count` is the number of their rows. */
  get count() {
    return this.#numbers.length - this.#head;
  }

  get isPaused() {
    return this.source !== this.store;
  }

  get isDone() {
    return this.#fresh === null && this.#scanned >= this.source.next;
  }

  #number(index) {
    return this.#numbers[this.#head + index];
  }

  /** The place of the entry with this number, or of the one after it. */
  #index(number) {
    let [low, high] = [this.#head, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#numbers[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  /** The content of a row: the last of its entries, that entry's number, and how many entries it has. */
  row(index) {
    const [start, end] = [index, index + 1].map((row) => this.#index(this.rows.start(row)));
    const number = this.#number(end - 1);
    return { number, entry: this.source.at(number), total: end - start };
  }

  /** The row of this entry; -1 where it is not shown. */
  rowOf(number) {
    return this.#number(this.#index(number)) === number ? this.rows.index(number) : -1;
  }

  /** Gives each entry of a row its own. */
  unfold(index) {
    const [start, end] = [index, index + 1].map((row) => this.#head + this.#index(this.rows.start(row)));
    if (end - start > 1) this.rows.replace(index, index, this.#numbers.slice(start, end));
  }

  /** Makes the burst around a row one row again. */
  fold(index) {
    const at = (place) => this.source.at(this.#number(place));
    let first = this.#index(this.row(index).number);
    let last = first;
    while (first > 0 && repeats(at(first), at(first - 1))) first -= 1;
    while (last < this.count - 1 && repeats(at(last + 1), at(last))) last += 1;
    if (last - first + 1 < BURST) return;
    const [from, to] = [first, last].map((place) => this.rows.index(this.#number(place)));
    this.rows.replace(from, to, [this.#number(first)]);
  }

  apply(filter, folds) {
    this.filter = filter;
    this.#fresh = { numbers: [], rows: new FoldedRows(folds) };
    this.#scanned = this.source.first;
  }

  toggle() {
    this.source = this.isPaused ? this.store : this.store.snapshot();
  }

  clear() {
    if (this.isPaused) this.source = this.store.snapshot();
    this.#fresh = null;
    this.#begin([], new FoldedRows(this.rows.folds));
    this.#scanned = this.source.next;
  }

  #begin(numbers, rows) {
    this.#numbers = numbers;
    this.#head = 0;
    this.rows = rows;
  }

  /** Goes through entries until all are, or until the time is over. */
  advance(deadline) {
    const { source } = this;
    const numbers = this.#fresh?.numbers ?? this.#numbers;
    const rows = this.#fresh?.rows ?? this.rows;
    const before = numbers.length;
    this.#scanned = Math.max(this.#scanned, source.first);
    while (this.#scanned < source.next) {
      const end = Math.min(this.#scanned + 64, source.next);
      for (; this.#scanned < end; this.#scanned += 1) {
        const entry = source.at(this.#scanned);
        if (!this.filter(entry)) continue;
        numbers.push(this.#scanned);
        rows.add(this.#scanned, entry);
      }
      if (performance.now() > deadline) break;
    }
    if (this.#fresh === null) this.appended += numbers.length - before;
    else if (this.#scanned >= source.next) {
      this.#begin(numbers, rows);
      this.#fresh = null;
    }
    this.#trim();
  }

  /** Forgets what the store has forgotten. */
  #trim() {
    const before = this.#head;
    while (this.#number(0) < this.source.first) this.#head += 1;
    if (this.#head === before) return;
    if (this.count === 0) return this.#begin([], new FoldedRows(this.rows.folds));
    this.trimmed += this.rows.trim(this.#number(0));
    if (this.#head <= ENTRY_LIMIT) return;
    this.#numbers = this.#numbers.slice(this.#head);
    this.#head = 0;
  }
}
