import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { cutStart, distance } = load(["text", "rows"], ["cutStart", "distance"]);

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
