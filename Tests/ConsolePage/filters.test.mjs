import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { CAUSED, REQUEST, EntryStore, makeFilter } = load(
  ["entries", "globs", "folds", "filters"], ["CAUSED", "REQUEST", "EntryStore", "makeFilter"]);

const event = (name, values) => ({ kind: "event", source: "api", app: "1", channel: "news", event: name, data: "{}", ...values });
const request = (values) => ({ kind: "request", method: "POST", path: "/apps/1/events", status: 200, ...values });
const passes = (typed, entry) => makeFilter({ app: "", channel: "", event: "", text: "", kinds: new Set(), ...typed })(entry);

function stored(...entries) {
  const store = new EntryStore();
  for (const entry of entries) store.add(entry, 10);
  return store;
}

test("a request's events are not looked for before a restart of the server", () => {
  const restart = { kind: "server", action: "restarted", reason: "server restarted at 07:28" };
  const [before, after, call] = [event("a"), event("b"), request({ events: 2 })];
  stored(before, restart, after, call);
  assert.deepEqual(call[CAUSED], [after]);
  assert.equal(before[REQUEST], undefined);
});

test("an empty filter lets everything pass", () => {
  for (const entry of [event("a"), request(), { kind: "error" }]) assert.ok(passes({}, entry));
});

test("plain text is found anywhere in a name, in any case, and is no expression", () => {
  const entry = event("order.Created", { channel: "private-orders.7" });
  for (const channel of ["orders", "PRIVATE", "s.7"]) assert.ok(passes({ channel }, entry), channel);
  for (const name of ["created", "r.C"]) assert.ok(passes({ event: name }, entry), name);
  for (const channel of ["ordersx7", "private.orders", "("]) assert.ok(!passes({ channel }, entry), channel);
});

test("a glob matches the whole name, and its case", () => {
  const entry = event("order.created", { channel: "private-orders.7" });
  for (const channel of ["private-*", "*.?", "private-orders.[0-9]"]) assert.ok(passes({ channel }, entry), channel);
  for (const channel of ["orders*", "PRIVATE-*", "private-*.??"]) assert.ok(!passes({ channel }, entry), channel);
  assert.ok(!passes({ channel: "private-*" }, { kind: "connection" }), "no channel");
});

test("a bracket begins a set where another one closes it", () => {
  for (const [channel, name, expected] of [
    ["[a]", "a", true], ["[a]", "x[a]", false], ["[]", "x[]", true], ["][", "x][", true], ["[a", "x[a", true],
    ["a]b[", "xa]b[", true], ["[[]", "[", true], ["[[]", "[[]", false],
  ]) assert.equal(passes({ channel }, event("e", { channel: name })), expected, channel);
});

test("the text of a filter costs no more than its length", () => {
  const entry = event("e", { channel: "a".repeat(1000) });
  // A million brackets would take a quarter of an hour if each of them looked for the end.
  for (const channel of [`${"[".repeat(1e6)}*`, `${"[".repeat(1e6)}?`]) assert.ok(!passes({ channel }, entry));
  for (const channel of ["[".repeat(1024), `[${"a-".repeat(500)}`, "]".repeat(1024)]) {
    assert.ok(!passes({ channel }, entry));
  }
});

test("the mark of Echo before an event's name may be there or not", () => {
  const entry = event("App\\Events\\OrderShipped");
  for (const name of ["\\App\\Events\\OrderShipped", "\\App\\*", "App\\*", "\\\\App\\Events\\*", "OrderShipped"]) {
    assert.ok(passes({ event: name }, entry), name);
  }
  assert.ok(passes({ event: ".order.*" }, event("order.created")));
  assert.ok(passes({ event: "." }, event("order.created")), "a mark alone is text");
  assert.ok(!passes({ event: "\\Other*" }, entry));
});

test("text is found in data and in what else an entry tells", () => {
  assert.ok(passes({ text: "NEEDLE" }, event("a", { data: "hay needle hay" })));
  assert.ok(passes({ text: "401" }, request({ status: 401 })));
  assert.ok(passes({ text: "ada" }, { kind: "member", user_info: { name: "Ada" } }));
  assert.ok(!passes({ text: ".*" }, event("a")));
});

test("a request shares the row of the events that it caused", () => {
  const [first, second, call] = [event("a"), event("b"), request({ events: 2 })];
  const store = stored(event("own"), first, second, call);
  assert.equal(first[REQUEST], call);
  assert.equal(second[REQUEST], call);
  assert.equal(store.at(0)[REQUEST], undefined, "an event of the console has no request");
  assert.equal(call[CAUSED].length, 2);
  assert.equal(store.joined, 1);
  assert.ok(!passes({}, call));
  assert.ok(passes({ kinds: new Set(["request"]) }, call), "the filter hides its events");
  assert.ok(passes({ text: "POST" }, call));
  assert.ok(!passes({ event: "a" }, call));
});

test("a request without an event has a row of its own", () => {
  const refused = request({ status: 401 });
  const late = request({ events: 1 });
  const store = stored(event("a", { source: "client" }), refused, { kind: "dropped", count: 3 }, late);
  assert.equal(store.joined, 0);
  assert.ok(passes({}, refused));
  assert.ok(passes({}, late));
});

test("an event has one request, and a hostile number of them ends nowhere", () => {
  const [mine, other] = [request({ events: 1 }), request({ events: Infinity })];
  const first = event("a");
  const store = stored(first, mine, other);
  assert.equal(first[REQUEST], mine);
  assert.equal(other[CAUSED], undefined);
  assert.equal(store.joined, 1);
  for (const events of [-1, NaN, "many"]) assert.equal(stored(event("a"), request({ events })).joined, 0);
});

test("what is cleared is no longer joined", () => {
  const store = stored(event("a"), request({ events: 1 }));
  store.clear();
  assert.equal(store.joined - store.joinedGone, 0);
  store.add(request({ events: 1 }), 10);
  assert.equal(store.joined, 1);
});
