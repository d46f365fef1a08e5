import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { SentEvents, RecentWebhooks, webhookResult } = load(
  ["text", "sent", "webhooks"], ["SentEvents", "RecentWebhooks", "webhookResult"]);

const event = (name, data = "{}") => ({ app: "1", channel: "news", event: name, data });
const names = ({ list }) => list.map((one) => one.event);

test("the history has the newest event first, and each event once", () => {
  const sent = new SentEvents();
  for (const name of ["a", "b", "a"]) sent.add(event(name));
  assert.deepEqual(names(sent), ["a", "b"]);
  sent.add(event("b", "1"));
  assert.deepEqual(names(sent), ["b", "a", "b"]);
  sent.add({ ...event("b", "1"), socket_id: "1.2" });
  assert.deepEqual(names(sent), ["b", "b", "a", "b"]);
});

test("the history keeps 20 events", () => {
  const sent = new SentEvents();
  for (let number = 1; number <= 21; number += 1) sent.add(event(`e${number}`));
  assert.equal(sent.list.length, 20);
  assert.deepEqual([names(sent)[0], names(sent)[19]], ["e21", "e2"]);
});

test("the history keeps 1 MiB of data, the newest", () => {
  const sent = new SentEvents();
  const half = "x".repeat(1 << 19);
  for (const name of ["a", "b", "c"]) sent.add(event(name, half));
  assert.deepEqual(names(sent), ["c", "b"]);
  sent.add(event("large", "x".repeat((1 << 20) + 1)));
  assert.deepEqual(names(sent), []);
});

test("a webhook that comes again is the first one, with its last result", () => {
  const recent = new RecentWebhooks();
  const entry = (body, action) => ({ app: "1", body, event: "channel_occupied", action });
  recent.take(entry("1", "failed"));
  recent.take(entry("2", "sent"));
  const key = recent.take(entry("1", "sent"));
  assert.equal(key, RecentWebhooks.key(entry("1", "failed")));
  assert.deepEqual(recent.list.map(({ body, action }) => [body, action]), [["1", "sent"], ["2", "sent"]]);
  for (let number = 3; number < 30; number += 1) recent.take(entry(String(number), "sent"));
  assert.equal(recent.list.length, 20);
});

test("the result of a webhook says why it failed and when it is tried again", () => {
  assert.equal(webhookResult({ action: "sent", status: 200 }), "sent, status 200");
  assert.equal(
    webhookResult({ action: "failed", status: 500, reason: "refused", retry_in: 2 }),
    "failed, status 500, refused, retry in 2 s");
  assert.equal(webhookResult({ action: "dropped" }), "dropped");
});
