import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { BURST, EntryStore, ShownEntries } = load(
  ["entries", "globs", "folds", "filters"], ["BURST", "EntryStore", "ShownEntries"]);

/** An event so many milliseconds after the beginning. */
const event = (name, at) => ({ kind: "event", app: "1", channel: "news", event: name, time: new Date(at).toISOString() });

class List {
  constructor(entries, { folds = true, filter = () => true } = {}) {
    this.store = new EntryStore();
    this.shown = new ShownEntries(this.store, filter, folds);
    this.add(...entries);
  }

  add(...entries) {
    for (const entry of entries) this.store.add(entry, 10);
    this.shown.advance(Infinity);
  }

  get rows() {
    return Array.from({ length: this.shown.rows.count }, (_, index) => {
      const { entry, total } = this.shown.row(index);
      return `${entry.event}${total > 1 ? ` ×${total}` : ""}`;
    });
  }
}

const burst = (name, length, start = 0) => Array.from({ length }, (_, index) => event(name, start + index * 100));

test("a burst of the same event is one row, which counts it and shows its last", () => {
  const list = new List([event("first", 0), ...burst("price", 240), event("last", 24_000)]);
  assert.deepEqual(list.rows, ["first", "price ×240", "last"]);
  assert.equal(list.shown.row(1).entry, list.store.at(240));
  assert.equal(list.shown.count, 242);
});

test("few events are no burst, and one more makes it one", () => {
  const list = new List(burst("a", BURST - 1));
  assert.deepEqual(list.rows, Array(BURST - 1).fill("a"));
  list.add(event("a", (BURST - 1) * 100));
  assert.deepEqual(list.rows, [`a ×${BURST}`]);
});

test("another name, channel or kind, and a second of silence, end a burst", () => {
  const others = [
    event("b", 0), { ...event("a", 0), channel: "sport" }, { ...event("a", 0), app: "2" },
    { kind: "error", time: new Date(0).toISOString() }, event("a", 1401), event("a", 8_000_000),
  ];
  for (const other of others) {
    const list = new List([...burst("a", BURST), other, ...burst("c", 2)]);
    assert.equal(list.rows.length, 4, JSON.stringify(other));
  }
  assert.deepEqual(new List([...burst("a", BURST), event("a", 1400)]).rows, [`a ×${BURST + 1}`]);
});

test("entries without a time never fold", () => {
  const list = new List(Array.from({ length: 10 }, () => ({ ...event("a", 0), time: "<b>" })));
  assert.equal(list.rows.length, 10);
});

test("what the filter leaves out does not part a burst", () => {
  const entries = burst("a", BURST).flatMap((one) => [one, { kind: "request", time: one.time }]);
  const list = new List(entries, { filter: ({ kind }) => kind === "event" });
  assert.deepEqual(list.rows, [`a ×${BURST}`]);
});

test("a burst is unfolded and folded again", () => {
  const list = new List([event("x", 0), ...burst("a", 6), event("y", 9000)]);
  list.shown.unfold(1);
  assert.deepEqual(list.rows, ["x", "a", "a", "a", "a", "a", "a", "y"]);
  list.shown.unfold(0);
  list.shown.fold(0);
  assert.equal(list.rows.length, 8, "one entry alone neither unfolds nor folds");
  for (const row of [1, 4, 6]) {
    list.shown.fold(row);
    assert.deepEqual(list.rows, ["x", "a ×6", "y"]);
    list.shown.unfold(1);
  }
});

test("an unfolded burst at the end goes on in rows, a folded one in its row", () => {
  const list = new List(burst("a", 6));
  list.shown.unfold(0);
  list.add(event("a", 600));
  assert.equal(list.rows.length, 7);
  list.shown.fold(3);
  list.add(event("a", 700));
  assert.deepEqual(list.rows, ["a ×8"]);
  list.add(event("b", 800), ...burst("a", 5, 900));
  assert.deepEqual(list.rows, ["a ×8", "b", "a ×5"]);
});

test("without folding each entry has its row, and a new filter decides anew", () => {
  const list = new List(burst("a", 9), { folds: false });
  assert.equal(list.rows.length, 9);
  list.shown.apply(() => true, true);
  list.shown.advance(Infinity);
  assert.deepEqual(list.rows, ["a ×9"]);
});

test("an entry is found in the row that stands for it", () => {
  const list = new List([event("x", 0), ...burst("a", 6), event("y", 9000)]);
  assert.deepEqual([0, 1, 4, 6, 7].map((number) => list.shown.rowOf(number)), [0, 1, 1, 1, 2]);
  assert.deepEqual([-1, 8, NaN].map((number) => list.shown.rowOf(number)), [-1, -1, -1]);
});

test("a burst that leaves the store at its head counts what is left", () => {
  const list = new List([...burst("a", 60_000), event("x", 9_000_000)]);
  list.add(...burst("b", 100_000 - 60_001, 10_000_000));
  assert.deepEqual(list.rows, ["a ×60000", "x", "b ×39999"]);
  list.add(...burst("c", 10_000, 50_000_000));
  assert.deepEqual(list.rows, ["a ×50000", "x", "b ×39999", "c ×10000"]);
  list.add(...burst("d", 50_000, 70_000_000));
  assert.equal(list.rows[0], "x");
  assert.equal(list.shown.trimmed, 1);
  list.add(...burst("e", 100_000, 100_000_000));
  assert.deepEqual(list.rows, ["e ×100000"]);
});

test("when the last matching entry is gone, the next one begins anew", () => {
  const list = new List(burst("a", 7), { filter: ({ event: name }) => name === "a" });
  list.add(...burst("b", 100_000, 10_000));
  assert.equal(list.shown.count, 0);
  assert.deepEqual(list.rows, []);
  list.add(event("a", 800));
  assert.deepEqual(list.rows, ["a"]);
});

test("a cleared list is empty, and a pause keeps what was there", () => {
  const list = new List(burst("a", 6));
  list.shown.toggle();
  list.add(event("b", 700));
  assert.deepEqual(list.rows, ["a ×6"]);
  list.shown.toggle();
  list.shown.advance(Infinity);
  assert.deepEqual(list.rows, ["a ×6", "b"]);
  list.store.clear();
  list.shown.clear();
  assert.deepEqual(list.rows, []);
});
