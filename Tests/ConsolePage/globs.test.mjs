import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./parts.mjs";

const { Glob } = load(["globs"], ["Glob"]);

// The table of GlobTests.swift: the page and the program mean the same by a pattern.
const TABLE = [
  ["", [""], ["a"]],
  ["order", ["order"], ["orders", "Order", "", "orde"]],
  ["*", ["", "a", "order.created", "😀"], []],
  ["order.*", ["order.", "order.created"], ["order", "xorder.a"]],
  ["*.created", ["order.created", ".created"], ["created", "order.created2"]],
  ["a*b*c", ["abc", "axbxc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]],
  ["**a**", ["a", "bab"], ["", "b"]],
  ["?", ["a", "é", "😀"], ["", "ab"]],
  ["a?c", ["abc", "a?c"], ["ac", "abbc"]],
  ["[abc]", ["a", "b", "c"], ["d", "", "ab", "[abc]"]],
  ["[a-c]x", ["ax", "bx", "cx"], ["dx", "-x", "x"]],
  ["[c-a]", ["a", "b", "c"], ["d"]],
  ["[!a-c]", ["d", "-", "!"], ["a", "b", "c", ""]],
  ["[^a]", ["b", "^"], ["a"]],
  ["[]]", ["]"], ["[", "[]]"]],
  ["[!]]", ["a"], ["]"]],
  ["[a-]", ["a", "-"], ["b"]],
  ["[-a]", ["a", "-"], ["b"]],
  ["[é-ü]", ["é", "ö"], ["e"]],
  ["[a-cx-z0]", ["b", "y", "0"], ["d", "1"]],
  ["[abc", ["[abc"], ["a", "b"]],
  ["[", ["["], [""]],
  ["[]", ["[]"], ["", "]"]],
  ["[!]", ["[!]"], ["a"]],
  ["a]", ["a]"], ["a"]],
  ["[a][b[", ["a[b["], ["ab[", "[a][b["]],
  ["[[[]", ["["], ["[[", "]"]],
  ["\\*", ["\\", "\\a"], ["*", "a", ""]],
  ["\\?", ["\\a"], ["?", "\\"]],
  ["\\\\", ["\\"], ["\\\\", ""]],
  ["\\\\\\\\", ["\\\\"], ["\\"]],
  ["a\\", ["a\\"], ["a"]],
  ["a\\b", ["a\\b"], ["ab"]],
  ["[\\*]", ["\\", "*"], ["a"]],
  ["[*]", ["*"], ["a", ""]],
  ["pusher:*", ["pusher:member_added"], ["client-a"]],
];

test("a pattern fits the whole of a name, as in the program", () => {
  for (const [pattern, fitting, others] of TABLE) {
    const glob = new Glob(pattern);
    for (const name of fitting) assert.ok(glob.matches(name), `${pattern} fits ${name}`);
    for (const name of others) assert.ok(!glob.matches(name), `${pattern} does not fit ${name}`);
  }
});

test("a pattern of many stars does not take for ever", () => {
  const name = "a".repeat(200);
  assert.ok(!new Glob(`${"a*".repeat(50)}b`).matches(name));
  assert.ok(new Glob(`${"*a".repeat(50)}*`).matches(name));
});

test("halves of characters match as they are", () => {
  assert.ok(new Glob("\ud800*").matches("\ud800x"));
  assert.ok(!new Glob("[\ud800-\ud801]").matches("\ud802"));
});
