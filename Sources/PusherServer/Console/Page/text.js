"use strict";
// Foreign text on the page: it becomes text nodes and nothing else.

/** Controls, format characters such as bidirectional overrides, lone surrogates and blanks without a width. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0]/u;
const HIDDEN_EACH = new RegExp(HIDDEN.source, "gu");
const numbers = new Intl.NumberFormat("en");
const byId = (id) => document.getElementById(id);

function escapeOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  const digits = code.toString(16);
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
}

/** The text with what cannot be seen made visible, for places that take no marks, such as a title. */
function visible(text) {
  return HIDDEN.test(text) ? text.replace(HIDDEN_EACH, escapeOf) : text;
}

/** At most so many UTF-16 units, not cut inside a pair. */
function cut(text, most) {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most) + "…";
}

/** Puts foreign text into an element; what cannot be seen becomes a marked escape. */
function show(element, text, keepsLines = false) {
  if (!HIDDEN.test(text)) {
    element.textContent = text;
    return element;
  }
  const parts = [];
  let start = 0;
  for (const match of text.matchAll(HIDDEN_EACH)) {
    const isLayout = keepsLines && (match[0] === "\n" || match[0] === "\t");
    if (isLayout) continue;
    parts.push(text.slice(start, match.index), make("span", { class: "escape" }, escapeOf(match[0])));
    start = match.index + match[0].length;
  }
  parts.push(text.slice(start));
  element.replaceChildren(...parts);
  return element;
}

/** An element of our own: names of attributes and children are never foreign. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeButton(label, action, attributes = {}) {
  const button = make("button", { type: "button", ...attributes }, label);
  button.addEventListener("click", action);
  return button;
}

/** Foreign text in an element of its own, whole in the title, which does not mix its direction with its neighbours'. */
function foreign(tag, text, attributes = {}) {
  const element = show(make(tag, attributes), cut(text, 2000));
  element.classList.add("foreign");
  element.title = visible(cut(text, 2000));
  return element;
}

/** Sets text only where it differs, so that selection and screen readers are left alone. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function count(number, word) {
  return `${numbers.format(number)} ${word}${number === 1 ? "" : "s"}`;
}

function bytes(number) {
  if (number < 1024) return `${number} B`;
  return number < 1048576 ? `${(number / 1024).toFixed(1)} KiB` : `${(number / 1048576).toFixed(1)} MiB`;
}

/** Shows what came of an action: in words, with a sign, and with colour last. */
function report(element, text, isBad = false) {
  element.classList.toggle("bad", isBad);
  show(element, (isBad ? "⚠ " : "") + text);
}
