import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { addressOf, chartPoints, cutStart, distance, spanBetween, viewOf } = load(
  ["text", "entries", "rows", "address", "chart"],
  ["addressOf", "chartPoints", "cutStart", "distance", "spanBetween", "viewOf"]);

// The address.

const plain = { app: "", channel: "", event: "", text: "", kinds: new Set(), folds: true, showsDistance: false };

test("a view as at the beginning leaves nothing in the address", () => {
  assert.equal(addressOf(plain), "");
  for (const address of ["", "#", "#token=x"]) assert.deepEqual(viewOf(address), plain, address);
});

test("a view comes back from its address", () => {
  for (const values of [
    { channel: "private-*" }, { event: "App\\Events\\*" }, { text: "a&b=c #d+e%20 ü 🎉" }, { app: "2" },
    { kinds: new Set(["event", "request"]) }, { folds: false }, { showsDistance: true },
    { channel: "[a-z]?", text: "</script>", kinds: new Set(["error"]), folds: false, showsDistance: true },
  ]) {
    const view = { ...plain, ...values };
    assert.deepEqual(viewOf(`#${addressOf(view)}`), view);
  }
  assert.equal(addressOf({ ...plain, channel: "private-*" }), "channel=private-*");
});

test("what an address cannot mean is left out", () => {
  const view = viewOf("#kind=event,nonsense,__proto__,&fold=x&time=never&channel=a&channel=b&%E0%A4%A");
  assert.deepEqual(view, { ...plain, channel: "a", kinds: new Set(["event"]) });
});

test("a filter that no input takes is left out of an address", () => {
  const longest = "[".repeat(1024);
  assert.equal(viewOf(`#text=${longest}`).text, longest);
  for (const name of ["channel", "event", "text"]) assert.equal(viewOf(`#${name}=${longest}[`)[name], "");
});

// The rows.

test("a long name is cut at its beginning, not inside a character", () => {
  assert.equal(cutStart("OrderShipped", 12), "OrderShipped");
  assert.equal(cutStart("App\\Events\\OrderShipped", 13), "…\\OrderShipped");
  assert.equal(cutStart("ab🎉c", 3), "…🎉c");
  assert.equal(cutStart("ab🎉c", 2), "…c");
});

test("a distance is told in seconds, then in minutes, and is not made up", () => {
  const at = (milliseconds) => new Date(milliseconds).toISOString();
  assert.equal(distance(at(5), at(5)), "+0.000 s");
  assert.equal(distance(at(1250), at(0)), "+1.250 s");
  assert.equal(distance(at(59_999), at(0)), "+59.999 s");
  assert.equal(distance(at(60_000), at(0)), "+1 min 0 s");
  assert.equal(distance(at(7_205_000), at(0)), "+120 min 5 s");
  assert.equal(distance(at(0), at(20)), "−0.020 s");
  for (const [time, before] of [["x", at(0)], [at(0), undefined], [undefined, undefined]]) assert.equal(distance(time, before), "");
});

// The chart.

test("a span has the seconds between both places, whichever came first", () => {
  const now = 1000;
  assert.deepEqual(spanBetween(0, 299.9, now), { from: 701, to: 1001 });
  assert.deepEqual(spanBetween(10.7, 12.2, now), { from: 711, to: 714 });
  assert.deepEqual(spanBetween(12.2, 10.7, now), { from: 711, to: 714 });
  assert.deepEqual(spanBetween(-50, 9e9, now), { from: 701, to: 1001 });
  assert.deepEqual(spanBetween(5, 5, now), { from: 706, to: 707 });
});

test("the peak has the full height, and silence lies at the bottom", () => {
  assert.equal(chartPoints([0, 0]), "0,31.0 1,31.0");
  assert.equal(chartPoints([0, 1, 2]), "0,31.0 1,16.0 2,1.0");
});
