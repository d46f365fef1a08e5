"use strict";
// Events a second of the last minute: of all, and of each channel.

class Rates {
  #minutes = new Map();
  #all = Rates.#minute();
  /** The smallest time from an entry's stamp to its coming: what the clocks differ by, however late an old entry comes. */
  #offset = Infinity;

  static #minute() {
    return { seconds: new Uint32Array(60), last: 0 };
  }

  static #now() {
    return Math.floor(Date.now() / 1000);
  }

  /** Counts an event that was stamped at `time`. */
  count(app, channel, time) {
    const stamp = Date.parse(time);
    if (Number.isNaN(stamp)) return;
    const now = Date.now();
    if (now - stamp < this.#offset) this.#offset = now - stamp;
    const second = Math.floor((stamp + this.#offset) / 1000);
    Rates.#add(this.#all, second);
    const key = `${app}\n${channel}`;
    let minute = this.#minutes.get(key);
    if (minute === undefined) {
      if (this.#minutes.size >= 20_000) this.#forgetQuiet();
      this.#minutes.set(key, minute = Rates.#minute());
    }
    Rates.#add(minute, second);
  }

  /** The events of each of the last 60 seconds, the oldest first. */
  of(app, channel) {
    return Rates.#list(this.#minutes.get(`${app}\n${channel}`));
  }

  /** The events of the last whole second. */
  get now() {
    return Rates.#list(this.#all)[58];
  }

  static #add(minute, second) {
    Rates.#advance(minute, second);
    if (second > minute.last - 60) minute.seconds[second % 60] += 1;
  }

  static #advance(minute, second) {
    if (second <= minute.last) return;
    if (second - minute.last >= 60) minute.seconds.fill(0);
    else for (let past = minute.last + 1; past <= second; past += 1) minute.seconds[past % 60] = 0;
    minute.last = second;
  }

  static #list(minute) {
    const list = new Array(60).fill(0);
    if (minute === undefined) return list;
    const now = Rates.#now();
    Rates.#advance(minute, now);
    for (let index = 0; index < 60; index += 1) list[index] = minute.seconds[(now - 59 + index) % 60];
    return list;
  }

  #forgetQuiet() {
    const now = Rates.#now();
    for (const [key, minute] of this.#minutes) if (now - minute.last > 60) this.#minutes.delete(key);
    if (this.#minutes.size >= 20_000) this.#minutes.clear();
  }
}
