// Keeps the events that the page has sent, so that they can be sent again.

const SENT_LIMIT = 20;
const SENT_TEXT_LIMIT = 1 << 20;

/** The last events that were sent, the newest first; an event that is sent again moves to the top. */
class SentEvents {
  list = [];

  add(event) {
    const key = SentEvents.key(event);
    this.list = [event, ...this.list.filter((other) => SentEvents.key(other) !== key)].slice(0, SENT_LIMIT);
    let size = this.#size;
    while (size > SENT_TEXT_LIMIT) size -= this.list.pop().data.length;
  }

  get #size() {
    return this.list.reduce((sum, { data }) => sum + data.length, 0);
  }

  static key({ app, channel, event, data, socket_id: socket = "" }) {
    return JSON.stringify([app, channel, event, data, socket]);
  }
}
