import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { load } from "./parts.mjs";

const { Rates } = load(["rates"], ["Rates"]);

const START = Date.parse("2026-11-22T21:50:00.000Z");
const at = (seconds) => new Date(START + seconds * 1000).toISOString();
const event = (seconds) => ({ app: "1", channel: "news", time: at(seconds) });

function counted(rates, seconds, number = 1) {
  mock.timers.setTime(START + seconds * 1000);
  for (let one = 0; one < number; one += 1) rates.count(event(seconds));
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["Date"], now: START });
});

test("events a second are an average over the last five whole seconds", () => {
  const rates = new Rates();
  assert.equal(rates.average, 0);
  for (const [second, number] of [[0, 10], [1, 0], [2, 5], [4, 5]]) counted(rates, second, number);
  mock.timers.setTime(START + 5000);
  assert.equal(rates.average, 4);
  // The second that has begun does not count yet.
  counted(rates, 5, 100);
  assert.equal(rates.average, 4);
  mock.timers.setTime(START + 7000);
  assert.equal(rates.average, 22);
  mock.timers.setTime(START + 11_000);
  assert.equal(rates.average, 0);
});

test("five minutes are kept of all, and one of a channel", () => {
  const rates = new Rates();
  counted(rates, 0, 3);
  mock.timers.setTime(START + 59_000);
  assert.equal(rates.of("1", "news")[0], 3);
  assert.equal(rates.of("2", "news").length, 60);
  mock.timers.setTime(START + 60_000);
  assert.ok(rates.of("1", "news").every((number) => number === 0));
  mock.timers.setTime(START + 299_000);
  assert.equal(rates.all[0], 3);
  mock.timers.setTime(START + 300_000);
  assert.ok(rates.all.every((number) => number === 0));
});

test("the clocks of server and page may differ", () => {
  mock.timers.setTime(START + 3_600_000);
  const rates = new Rates();
  rates.count(event(0));
  assert.equal(rates.all[299], 1);
  assert.equal(rates.second(at(0)), rates.now);
  assert.equal(rates.clock(rates.now), "21:50:00");
});

test("entries from before the page was opened count at their own time", () => {
  const rates = new Rates();
  // The page's clock is an hour ahead of the server's.
  mock.timers.setTime(START + 3_600_000 + 200_000);
  rates.begin(false, at(200));
  for (const seconds of [0, 0, 150]) rates.count(event(seconds));
  assert.deepEqual([rates.all[99], rates.all[249], rates.all[299]], [2, 1, 0]);
  assert.equal(rates.clock(rates.now), "21:53:20");
});

test("a greeting without a time breaks nothing", () => {
  const rates = new Rates();
  for (const time of [undefined, "", "<b>"]) rates.begin(false, time);
  rates.count(event(0));
  assert.equal(rates.all[299], 1);
});

test("a recording ends with its last event, however long ago", () => {
  const rates = new Rates();
  rates.begin(true);
  for (const second of [0, 200, 299]) rates.count(event(second));
  mock.timers.setTime(START + 86_400_000);
  assert.deepEqual([rates.all[0], rates.all[200], rates.all[299]], [1, 1, 1]);
  assert.equal(rates.clock(rates.now), "21:54:59");
});

test("times that mean nothing break nothing", () => {
  const rates = new Rates();
  assert.equal(rates.clock(rates.now), "–", "before the first event");
  rates.begin(true);
  assert.ok(rates.all.every((number) => number === 0));
  for (const time of ["", "<b>", "-000001-01-01T00:00:00Z", "+275760-09-13T00:00:00.000Z", undefined]) rates.count({ time });
  assert.equal(rates.all.length, 300);
  assert.equal(rates.clock(rates.now + 1), "–");
});
