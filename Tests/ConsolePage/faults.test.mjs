import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { FAULTS, FAULT_WORDS, faultWords, faultEnd } = load(
  ["text", "fault-words", "faults"], ["FAULTS", "FAULT_WORDS", "faultWords", "faultEnd"]);

test("every kind that can be staged has a sentence, with the defaults of the server", () => {
  assert.deepEqual(Object.keys(FAULT_WORDS), Object.keys(FAULTS));
  assert.equal(faultWords("drop"), "Ends each connection without a close frame.");
  assert.equal(faultWords("close"), "Closes each connection with code 4200.");
  assert.equal(faultWords("huge-frame"), "Pads each event to 16.0 MiB.");
  assert.equal(faultWords("late-pong"), "Delays each answer to a ping by 5s.");
  assert.equal(faultWords("auth-fail"), "Refuses each signature; endpoints answer with status 500.");
});

test("a sentence says what the settings change", () => {
  for (const [text, words] of [
    ["drop:after=1", "Ends each connection without a close frame after 1 event."],
    // Without a number, the first event on such a channel ends the connection.
    ["close:code=4100,channel=news-*", "Closes each connection with code 4100 after 1 event on channels that match news-*."],
    ["duplicate:after=1200", "Sends each event, except the first 1,200 of a connection, twice."],
    ["duplicate:after=0", "Sends each event twice."],
    ["late-pong:after=2,delay=500ms", "Delays each answer to a ping, except the first 2 of a connection, by 500ms."],
    ["storm:connections=1,times=3", "Closes each connection with code 4200 as soon as it opens, on 1 connection at most."],
    ["auth-fail:status=403,connections=2", "Refuses each signature; endpoints answer with status 403, on 2 connections at most."],
    ["reset-stream:channel=a,times=1", "At a resume of protocol V2, begins new streams on channels that match a."],
    ["bad-json:channel=a=b", "Sends each event without its last byte on channels that match a=b."],
  ]) {
    assert.equal(faultWords(text), words, text);
  }
});

test("what is half typed or unknown breaks nothing", () => {
  for (const text of ["", "explode", "toString", "__proto__", "constructor:after=1"]) {
    assert.equal(faultWords(text), "Unknown kind of fault.", text);
  }
  for (const text of ["drop:", "drop:after", "drop:after=", "drop:after=x", "drop:,=,", "drop:__proto__=1"]) {
    assert.equal(faultWords(text), "Ends each connection without a close frame.", text);
  }
});

test("the countdown tells which faults end by themselves", () => {
  assert.equal(faultEnd({}), "Stays until you remove it.");
  assert.equal(faultEnd({ times: 2 }), "Ends by itself: 2 times left.");
  assert.equal(faultEnd({ times: 1, connections: 0 }), "Ends by itself: 1 time left.");
  assert.equal(faultEnd({ times: 0, connections: 5 }), "Has ended.");
  assert.equal(faultEnd({ connections: 1 }), "1 further connection left. Stays until you remove it.");
  assert.equal(faultEnd({ connections: 0 }), "Meets no further connection.");
});
