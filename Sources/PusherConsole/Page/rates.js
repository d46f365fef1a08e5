// Events a second of the last minute: of all, and of each channel.

const thisSecond = () => Math.floor(Date.now() / 1000);

/** Counts by second, in a ring of 60. */
class Minute {
  #seconds = new Uint32Array(60);
  last = 0;

  add(second) {
    this.#advance(second);
    if (second > this.last - 60) this.#seconds[second % 60] += 1;
  }

  /** The last 60 seconds, the oldest first. */
  list() {
    const now = thisSecond();
    this.#advance(now);
    return Array.from({ length: 60 }, (_, index) => this.#seconds[(now - 59 + index) % 60]);
  }

  #advance(second) {
    for (let past = Math.max(this.last + 1, second - 59); past <= second; past += 1) this.#seconds[past % 60] = 0;
    this.last = Math.max(this.last, second);
  }
}

class Rates {
  #all = new Minute();
  #minutes = new Map();
  /** The least time from an entry's stamp to its coming: what the clocks differ by, however late an old entry comes. */
  #offset = Infinity;

  count({ app, channel, time }) {
    const stamp = Date.parse(time);
    if (Number.isNaN(stamp)) return;
    this.#offset = Math.min(this.#offset, Date.now() - stamp);
    const second = Math.floor((stamp + this.#offset) / 1000);
    this.#all.add(second);
    const key = `${app}\n${channel}`;
    if (!this.#minutes.has(key)) {
      if (this.#minutes.size > 20_000) this.#forget();
      this.#minutes.set(key, new Minute());
    }
    this.#minutes.get(key).add(second);
  }

  of(app, channel) {
    return (this.#minutes.get(`${app}\n${channel}`) ?? new Minute()).list();
  }

  /** The events of the last whole second. */
  get now() {
    return this.#all.list()[58];
  }

  /** Forgets quiet channels, or all where none is quiet: their names may be without number. */
  #forget() {
    for (const [key, { last }] of this.#minutes) if (thisSecond() - last > 60) this.#minutes.delete(key);
    if (this.#minutes.size > 20_000) this.#minutes.clear();
  }
}
