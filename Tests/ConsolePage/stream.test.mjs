import assert from "node:assert/strict";
import { after, test } from "node:test";
import { load } from "./parts.mjs";

const { EventStream, turns } = load(["stream"], ["EventStream", "turns"]);

// An open port would keep the process from its end.
after(() => turns.port1.close());

const message = (event, data, id) => `${id ? `id: ${id}\n` : ""}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const END = message("end", {});

/** What comes of answers, one for each try; and the IDs that were sent with the tries. */
async function run(...answers) {
  const came = [];
  const asked = [];
  globalThis.openStream = async (id) => {
    asked.push(id);
    const answer = answers.shift();
    if (typeof answer === "number") return new Response("", { status: answer });
    if (answer instanceof Error) throw answer;
    return new Response(answer);
  };
  const waits = globalThis.setTimeout;
  globalThis.setTimeout = (action) => queueMicrotask(action);
  try {
    await new EventStream({
      hello: ({ instance }) => came.push(`hello ${instance}`), entry: ({ n }) => came.push(n),
      dropped: ({ count, reason }) => came.push(`${count} ${reason}`), state: (name) => came.push(name), batch() {},
    }).run();
  } finally {
    globalThis.setTimeout = waits;
  }
  return { came, asked };
}

test("a stream that is opened again asks for what comes after its last whole message", async () => {
  const cut = message("entry", { n: 2 }, "a-2").slice(0, -1);
  const { came, asked } = await run(
    message("hello", { instance: "a" }) + message("entry", { n: 1 }, "a-1") + cut,
    message("hello", { instance: "a" }) + message("entry", { n: 2 }, "a-2") + END);
  assert.deepEqual(asked, ["", "a-1"]);
  assert.deepEqual(came, ["connected", "hello a", 1, "lost", "connected", "hello a", 2, "ended"]);
});

test("a message without an id leaves the last id as it is", async () => {
  const { asked } = await run(
    message("entry", { n: 1 }, "a-1") + message("hello", { instance: "a" }), "", END);
  assert.deepEqual(asked, ["", "a-1", "a-1"]);
});

test("entries that were dropped are counted, and are not asked for again", async () => {
  const { came, asked } = await run(
    message("dropped", { count: 3, reason: "expired" }, "a-5") + message("dropped", { count: 2, reason: "slow" }, "a-9"), END);
  assert.deepEqual(asked, ["", "a-9"]);
  assert.deepEqual(came.slice(0, 3), ["connected", "3 expired", "2 slow"]);
});

test("a stream that cannot be opened is tried again, and one that is refused is not", async () => {
  const { came, asked } = await run(message("entry", { n: 1 }, "a-1"), new Error("gone"), 503, 403);
  assert.deepEqual(came, ["connected", 1, "lost", "lost", "lost", "refused"]);
  assert.deepEqual(asked, ["", "a-1", "a-1", "a-1"]);
});
