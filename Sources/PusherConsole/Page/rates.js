// Events a second: of all for five minutes, and of each channel for one.

const thisSecond = () => Math.floor(Date.now() / 1000);

/** Counts by second, in a ring. */
class Seconds {
  #counts;
  last = 0;

  constructor(length) {
    this.#counts = new Uint32Array(length);
  }

  add(second) {
    const { length } = this.#counts;
    this.#advance(second);
    if (second > this.last - length) this.#counts[second % length] += 1;
  }

  /** The last seconds, the oldest first. */
  list(now = thisSecond()) {
    const { length } = this.#counts;
    this.#advance(now);
    return Array.from({ length }, (_, index) => this.#counts[(now - length + 1 + index) % length]);
  }

  #advance(second) {
    const { length } = this.#counts;
    for (let past = Math.max(this.last + 1, second - length + 1); past <= second; past += 1) this.#counts[past % length] = 0;
    this.last = Math.max(this.last, second);
  }
}

class Rates {
  #all = new Seconds(300);
  #minutes = new Map();
  /** The least time from an entry's stamp to its coming: what the clocks differ by, however late an old entry comes. */
  #offset = Infinity;
  #isRecorded = false;

  /**
   * Of a recording, the last five minutes end with its last event.
   * @param time the server's clock now, since the first entries may be old
   */
  begin(isRecorded, time) {
    this.#isRecorded = isRecorded;
    if (isRecorded) this.#offset = 0;
    else this.#meet(Date.parse(time));
  }

  count({ app, channel, time }) {
    const stamp = Date.parse(time);
    if (Number.isNaN(stamp)) return;
    if (!this.#isRecorded) this.#meet(stamp);
    const second = this.second(time);
    if (second < 0) return;
    this.#all.add(second);
    const key = `${app}\n${channel}`;
    if (!this.#minutes.has(key)) {
      if (this.#minutes.size > 20_000) this.#forget();
      this.#minutes.set(key, new Seconds(60));
    }
    this.#minutes.get(key).add(second);
  }

  #meet(stamp) {
    if (!Number.isNaN(stamp)) this.#offset = Math.min(this.#offset, Date.now() - stamp);
  }

  /** The second of a stamp, by the page's clock. */
  second(time) {
    return Math.floor((Date.parse(time) + this.#offset) / 1000);
  }

  /** The server's clock at a second of the page's, as in the list. */
  clock(second) {
    const date = new Date(second * 1000 - this.#offset);
    // A recording may hold any time, and before the first event none is known.
    return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(-13, -5);
  }

  of(app, channel) {
    return (this.#minutes.get(`${app}\n${channel}`) ?? new Seconds(60)).list();
  }

  get now() {
    return this.#isRecorded ? Math.max(300, this.#all.last) : thisSecond();
  }

  /** The last five minutes, second by second. */
  get all() {
    return this.#all.list(this.now);
  }

  /** Events a second, over the last five whole seconds. */
  get average() {
    return this.all.slice(-6, -1).reduce((sum, number) => sum + number, 0) / 5;
  }

  /** Forgets quiet channels, or all where none is quiet: their names may be without number. */
  #forget() {
    for (const [key, { last }] of this.#minutes) if (thisSecond() - last > 60) this.#minutes.delete(key);
    if (this.#minutes.size > 20_000) this.#minutes.clear();
  }
}
