"use strict";
// Do: replays a recording.

const REPLAY_LIMIT = 64 << 20;

/** Names of the connection's own events, which applications cannot send. */
const RESERVED = /^(pusher:|pusher_internal:|pusher-cli:)/;

/** The event of a line as it is sent; `null` for a line that is none, and a text that says what is wrong. */
function replayEvent(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return "not JSON";
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "not an object";
  if (value.kind !== undefined && value.kind !== "event") return null;
  if (typeof value.event !== "string") return "no event";
  if (RESERVED.test(value.event)) return null;
  if (typeof value.channel !== "string") return "no channel";
  const time = Date.parse(value.received_at ?? value.time);
  return { channel: value.channel, event: value.event, data: replayData(line, value.data), time };
}

/** The data as it stands in the line, so that 1.10 stays 1.10. */
function replayData(line, data) {
  if (typeof data === "string") return data;
  const start = line.indexOf("{");
  const members = JSONText.children(line, start, 0, Infinity).found;
  const member = members.findLast(({ key }) => JSON.parse(key) === "data");
  return member === undefined ? "null" : line.slice(member.start, member.end);
}

function readRecording(text) {
  const events = [];
  const wrong = new Map();
  let others = 0;
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const event = replayEvent(line);
    if (event === null) others += 1;
    else if (typeof event === "string") wrong.set(event, (wrong.get(event) ?? 0) + 1);
    else events.push(event);
  }
  return { events, wrong, others };
}

function describeRecording({ events, wrong, others }) {
  const parts = [`${count(events.length, "event")} to send`];
  const bad = [...wrong.values()].reduce((sum, number) => sum + number, 0);
  const reasons = [...wrong].map(([reason, number]) => `${number} ${reason}`).join(", ");
  if (bad > 0) parts.push(`${count(bad, "line")} cannot be sent: ${reasons}`);
  if (others > 0) parts.push(`${count(others, "line")} left out: about the connection, not an event`);
  return parts.join("; ") + ".";
}

class ReplayForm {
  #recording = readRecording("");
  #stop = null;

  constructor() {
    byId("replay-lines").addEventListener("input", (event) => this.#read(event.target.value));
    byId("replay-file").addEventListener("change", (event) => this.#readFile(event.target.files[0]));
    byId("replay-stop").addEventListener("click", () => this.#stop?.());
    onSubmit("replay", "replay-result", () => this.#run());
  }

  #read(text) {
    this.#recording = readRecording(text);
    setText(byId("replay-count"), describeRecording(this.#recording));
  }

  async #readFile(file) {
    if (file === undefined) return;
    if (file.size > REPLAY_LIMIT) return report(byId("replay-result"), `The file has more than ${bytes(REPLAY_LIMIT)}.`, true);
    byId("replay-lines").value = "";
    this.#read(await file.text());
  }

  async #run() {
    if (this.#stop !== null) return "A replay is running.";
    const { events } = this.#recording;
    if (events.length === 0) throw new Error("There is no event to send: paste lines, or choose a file.");
    const factor = byId("replay-once").checked ? Infinity : Number(byId("replay-factor").value);
    const app = byId("replay-app").value;
    const tally = { sent: 0, failed: 0, reason: "", isStopped: false };
    const stopped = new Promise((resolve) => {
      this.#stop = () => resolve(tally.isStopped = true);
    });
    byId("replay-start").disabled = !(byId("replay-stop").disabled = false);
    try {
      await ReplayForm.#play(events, factor, app, tally, stopped);
    } finally {
      this.#stop = null;
      byId("replay-start").disabled = !(byId("replay-stop").disabled = true);
    }
    const ending = `${tally.isStopped ? "Stopped: sent" : "Sent"} ${count(tally.sent, "event")} of ${numbers.format(events.length)}.`;
    if (tally.failed > 0) throw new Error(`${ending} ${count(tally.failed, "event")} failed: ${tally.reason}`);
    return ending;
  }

  /** An event without a time follows the one before it at once. */
  static async #play(events, factor, app, tally, stopped) {
    const begin = performance.now();
    const first = events.find(({ time }) => !Number.isNaN(time))?.time;
    for (const { time, ...event } of events) {
      const wait = Number.isNaN(time) ? 0 : begin + (time - first) / factor - performance.now();
      if (wait > 0) await ReplayForm.#sleep(wait, stopped);
      if (tally.isStopped) return;
      try {
        await call("trigger", { app, ...event });
        tally.sent += 1;
      } catch (error) {
        tally.failed += 1;
        tally.reason = error.message;
      }
      ReplayForm.#progress(tally, events.length);
    }
  }

  static #sleep(wait, stopped) {
    let timer;
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, Math.min(wait, 2 ** 31 - 1));
    });
    return Promise.race([over, stopped]).finally(() => clearTimeout(timer));
  }

  static #progress({ sent, failed }, total) {
    const bar = byId("replay-progress");
    bar.max = total;
    bar.value = sent + failed;
    report(byId("replay-result"), `${numbers.format(sent + failed)} of ${numbers.format(total)}`);
  }
}
