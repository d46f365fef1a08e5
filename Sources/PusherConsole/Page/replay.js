// Tools: replays a recording.

const REPLAY_LIMIT = 64 << 20;
/** Names of the connection's own events, which applications cannot send. */
const RESERVED = /^(pusher|pusher_internal|pusher-cli):/;

/** The event of a line; `null` for what is none, a text that says what is wrong, `NaN` as the time of one without. */
function replayEvent(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return "not JSON";
  }
  const { kind = "event", event, channel, data, received_at: received, time } = value ?? {};
  if (kind !== "event") return null;
  if (typeof event !== "string") return "no event name";
  if (RESERVED.test(event)) return null;
  if (typeof channel !== "string") return "no channel";
  return { channel, event, data: typeof data === "string" ? data : dataOfLine(line), time: Date.parse(received ?? time) };
}

/** The data as it stands in the line, so that 1.10 stays 1.10. */
function dataOfLine(line) {
  const { found } = membersOfJSON(line, 0, 0, Infinity);
  const member = found.findLast(({ name }) => JSON.parse(name) === "data");
  return member ? line.slice(member.start, member.end) : "null";
}

function readRecording(text) {
  const events = [];
  const wrong = {};
  let others = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const event = replayEvent(line);
    if (event === null) others += 1;
    else if (typeof event === "string") wrong[event] = (wrong[event] ?? 0) + 1;
    else events.push(event);
  }
  const reasons = Object.entries(wrong).map(([reason, number]) => `; ${count(number, "line")} cannot be sent: ${reason}`);
  const rest = others > 0 ? `; ${count(others, "line")} skipped: not an event of an app` : "";
  return { events, words: `${count(events.length, "event")} to send${reasons.join("")}${rest}.` };
}

class ReplayForm {
  #events = [];
  /** Ends the run, where there is one. */
  #stop = null;

  constructor() {
    on("replay-lines", "input", ({ target }) => this.#read(target.value));
    on("replay-file", "change", ({ target }) => reporting("replay-result", async () => {
      const [file] = target.files;
      if (file?.size > REPLAY_LIMIT) throw new Error(`The file is larger than ${bytes(REPLAY_LIMIT)}. Choose a smaller file.`);
      $("replay-lines").value = "";
      this.#read(file ? await file.text() : "");
      return "";
    }));
    on("replay-stop", "click", () => this.#stop?.());
    onSubmit("replay", "replay-result", () => this.#run());
  }

  #read(text) {
    const { events, words } = readRecording(text);
    this.#events = events;
    setText($("replay-count"), words);
  }

  async #run() {
    const events = this.#events;
    if (events.length === 0) throw new Error("No events to send. Paste lines, or choose a file.");
    const tally = { sent: 0, failed: 0, reason: "", isStopped: false };
    const stopped = new Promise((resolve) => {
      this.#stop = () => resolve(tally.isStopped = true);
    });
    $("replay-start").disabled = true;
    $("replay-stop").disabled = false;
    await ReplayForm.#play(events, tally, stopped);
    this.#stop = null;
    $("replay-start").disabled = false;
    $("replay-stop").disabled = true;
    const ending = `${tally.isStopped ? "Stopped: sent" : "Sent"} ${grouped(tally.sent)} of ${count(events.length, "event")}.`;
    if (tally.failed > 0) throw new Error(`${ending} ${count(tally.failed, "event")} failed: ${tally.reason}`);
    return ending;
  }

  /** An event without a time follows the one before it at once. */
  static async #play(events, tally, stopped) {
    const app = $("replay-app").value;
    const factor = $("replay-once").checked ? Infinity : Number($("replay-factor").value);
    const begin = performance.now();
    const first = events.find(({ time }) => time)?.time;
    for (const { time, ...event } of events) {
      const wait = begin + (time - first) / factor - performance.now();
      if (wait > 0) await ReplayForm.#sleep(wait, stopped);
      if (tally.isStopped) return;
      try {
        await call("trigger", { app, ...event });
        tally.sent += 1;
      } catch (error) {
        tally.failed += 1;
        tally.reason = error.message;
      }
      $("replay-progress").value = (tally.sent + tally.failed) / events.length;
      report("replay-result", `${grouped(tally.sent + tally.failed)} of ${grouped(events.length)}`);
    }
  }

  static #sleep(wait, stopped) {
    let timer;
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, Math.min(wait, 2 ** 31 - 1));
    });
    return Promise.race([over, stopped]).finally(() => clearTimeout(timer));
  }
}
