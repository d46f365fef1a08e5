import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

globalThis.location = new URL("http://127.0.0.1:6001/console?token=secret");
const { curlLine, subscribeLine, triggerLine } = load(["text", "copy"], ["curlLine", "subscribeLine", "triggerLine"]);

const local = { id: "1", key: "local" };
const entry = { app: "1", channel: "news", event: "price", data: "{}" };
const from = (address, act) => {
  const before = globalThis.location;
  globalThis.location = new URL(address);
  try {
    return act();
  } finally {
    globalThis.location = before;
  }
};

test("lines for the app of serve without options need nothing else to work", () => {
  assert.equal(subscribeLine(local), "pusher-cli subscribe --local --port 6001 news");
  assert.equal(triggerLine(entry, [local]), "pusher-cli trigger --local --port 6001 -c 'news' -e 'price' '{}'");
});

test("a line for another app says which secret it needs", () => {
  const app = { id: "17", key: "it's" };
  assert.equal(subscribeLine(app), "pusher-cli subscribe --local --port 6001 --key='it'\\''s' news");
  assert.equal(
    triggerLine({ ...entry, app: "17" }, [app]),
    "# Set PUSHER_APP_SECRET first\npusher-cli trigger --port 6001 --host '127.0.0.1' --scheme http"
      + " --key='it'\\''s' --app-id='17' -c 'news' -e 'price' '{}'");
});

test("a line names the host and scheme of the page", () => {
  for (const [address, options] of [
    ["https://localhost/console", "--port 443 --host 'localhost' --scheme https"],
    ["http://[::1]:80/console", "--port 80 --host '::1'"],
  ]) {
    assert.equal(from(address, () => subscribeLine(local)), `pusher-cli subscribe --local ${options} news`);
  }
});

test("curl says which token it needs, and does not hold it", () => {
  const line = curlLine(entry);
  assert.ok(line.startsWith("# Set PUSHER_CONSOLE_TOKEN first"));
  assert.ok(!line.includes("secret"));
});
