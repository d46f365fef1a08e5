// Reads the stream of events, and opens it again when it ends: the server then goes on where it was.

/** How long one piece of work may hold the page up, in milliseconds. */
const SLICE = 8;
const turns = new MessageChannel();
const waiting = [];
turns.port1.onmessage = () => waiting.shift()();

/** Lets the page paint and take input; a timer would wait for milliseconds. */
const nextTurn = () => new Promise((resolve) => {
  waiting.push(resolve);
  turns.port2.postMessage(0);
});

class EventStream {
  #pieces = [];
  #event = "";
  #data = "";
  #id = "";
  /** The ID of the last whole message. */
  #lastID = "";
  #hasEnded = false;

  /** @param handlers `hello`, `entry`, `dropped` take the data and its length; `state(name, seconds)`; `batch()` */
  constructor(handlers) {
    this.handlers = handlers;
  }

  async run() {
    for (let wait = 1; ; wait = Math.min(wait + 1, 10)) {
      try {
        const response = await openStream(this.#lastID);
        if (response.status === 403) return this.handlers.state("refused");
        if (response.ok) {
          wait = 1;
          // A message that was cut off does not continue on the next connection.
          this.#pieces = [];
          this.#event = this.#data = "";
          this.#id = this.#lastID;
          this.handlers.state("connected");
          await this.#read(response.body.getReader());
        }
      } catch {
        // However it was lost, it is opened again.
      }
      if (this.#hasEnded) return this.handlers.state("ended");
      this.handlers.state("lost", wait);
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let start = performance.now();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#take(decoder.decode(value, { stream: true }));
      this.handlers.batch();
      // The server keeps the answer open, since a page whose stream ends comes for it again.
      if (this.#hasEnded) return reader.cancel();
      if (performance.now() - start < SLICE) continue;
      await nextTurn();
      start = performance.now();
    }
  }

  /** What has no end yet waits in pieces, so that a long line is put together once. */
  #take(text) {
    const lines = text.split("\n");
    this.#pieces.push(lines[0]);
    if (lines.length === 1) return;
    lines[0] = this.#pieces.join("");
    this.#pieces = [lines.pop()];
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #line(line) {
    if (line.startsWith("data:")) this.#data = line.slice(5);
    else if (line.startsWith("event:")) this.#event = line.slice(6).trim();
    else if (line.startsWith("id:")) this.#id = line.slice(3).trim();
    else if (line === "") {
      this.#lastID = this.#id;
      if (this.#event === "end") this.#hasEnded = true;
      else if (["hello", "entry", "dropped"].includes(this.#event)) this.#tell(this.#event, this.#data);
      this.#event = this.#data = "";
    }
  }

  #tell(event, data) {
    let value = null;
    try {
      value = JSON.parse(data);
    } catch {
      // What is not JSON tells nothing.
    }
    if (value !== null && typeof value === "object") this.handlers[event](value, data.length);
  }
}
