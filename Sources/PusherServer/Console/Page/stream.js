"use strict";
// Reads the stream of events, and opens it again when it ends.

/** How long one piece of work may hold the page up, in milliseconds. */
const SLICE = 8;

const turns = new MessageChannel();
const waiting = [];
turns.port1.onmessage = () => waiting.shift()();

/** Lets the page paint and take input; a timer would wait for milliseconds. */
function nextTurn() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    turns.port2.postMessage(0);
  });
}

class EventStream {
  #pieces = [];
  #event = "";
  #data = "";
  #hasEnded = false;

  /** @param handlers `hello`, `entry`, `dropped`, `end` take the data as text; `state(name, seconds)`; `batch()` */
  constructor(handlers) {
    this.handlers = handlers;
  }

  async run() {
    let wait = 0;
    while (!this.#hasEnded) {
      try {
        const response = await openStream();
        if (response.status === 403) return this.handlers.state("refused");
        if (response.ok) {
          wait = 0;
          this.#pieces = [];
          this.handlers.state("connected");
          await this.#read(response.body.getReader());
        }
      } catch {
        // Whatever the reason, the stream is gone and is opened again.
      }
      if (this.#hasEnded) break;
      wait = Math.min(wait + 1, 10);
      this.handlers.state("lost", wait);
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
    this.handlers.state("ended");
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let start = performance.now();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#take(decoder.decode(value, { stream: true }));
      this.handlers.batch();
      if (performance.now() - start > SLICE) {
        await nextTurn();
        start = performance.now();
      }
    }
  }

  /** Cuts text into lines. What has no end yet waits in pieces, so that a long line is put together once. */
  #take(text) {
    let start = 0;
    let end = text.indexOf("\n");
    if (end !== -1 && this.#pieces.length > 0) {
      this.#line(this.#pieces.join("") + text.slice(0, end));
      this.#pieces = [];
      start = end + 1;
      end = text.indexOf("\n", start);
    }
    for (; end !== -1; end = text.indexOf("\n", start)) {
      this.#line(text.slice(start, end));
      start = end + 1;
    }
    if (start < text.length) this.#pieces.push(text.slice(start));
  }

  #line(line) {
    if (line.endsWith("\r")) line = line.slice(0, -1);
    if (line.startsWith("data:")) this.#data = line.slice(line[5] === " " ? 6 : 5);
    else if (line.startsWith("event:")) this.#event = line.slice(6).trim();
    else if (line === "") this.#dispatch();
  }

  #dispatch() {
    const event = this.#event;
    const data = this.#data;
    this.#event = "";
    this.#data = "";
    if (event === "end") this.#hasEnded = true;
    if (!["hello", "entry", "dropped", "end"].includes(event)) return;
    let value;
    try {
      value = JSON.parse(data);
    } catch {
      return;
    }
    if (value !== null && typeof value === "object") this.handlers[event]?.(value, data.length);
  }
}
