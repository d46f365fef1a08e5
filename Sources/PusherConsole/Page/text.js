// Foreign text on the page: it becomes text nodes and nothing else.

/** Controls, formats such as bidirectional overrides, lone surrogates, and blanks without a width. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0]/u;
const EACH_HIDDEN = new RegExp(HIDDEN.source, "gu");
const $ = (id) => document.getElementById(id);
const on = (id, type, action) => $(id).addEventListener(type, action);
const grouped = (number) => Number(number).toLocaleString("en");

function escapeOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** For places that take no marks, such as a title. */
const visible = (text) => text.replace(EACH_HIDDEN, escapeOf);

/** At most so many UTF-16 units, not cut inside a pair. */
function cut(text, most) {
  if (text.length <= most) return text;
  return text.slice(0, /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most) + "…";
}

/** The same from the end: names such as `App\\Events\\OrderShipped` differ there. */
function cutStart(text, most) {
  if (text.length <= most) return text;
  const start = text.length - most;
  return "…" + text.slice(/[\udc00-\udfff]/.test(text[start]) ? start + 1 : start);
}

/** Puts foreign text into an element; what cannot be seen becomes a marked escape. */
function show(element, text, keepsLines = false) {
  if (!HIDDEN.test(text)) {
    if (element.textContent !== text) element.textContent = text;
    return element;
  }
  const parts = [];
  let start = 0;
  for (const { 0: character, index } of text.matchAll(EACH_HIDDEN)) {
    if (keepsLines && (character === "\n" || character === "\t")) continue;
    parts.push(text.slice(start, index), make("span", { class: "escape" }, escapeOf(character)));
    start = index + character.length;
  }
  element.replaceChildren(...parts, text.slice(start));
  return element;
}

/** An element of our own: attributes that can be foreign are set as properties. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

function makeButton(label, action, attributes) {
  const button = make("button", { type: "button", ...attributes }, label);
  button.addEventListener("click", action);
  return button;
}

/** Foreign text in an element that does not mix its direction with its neighbours'; whole in the title. */
function foreign(tag, text, attributes) {
  const element = show(make(tag, attributes), cut(text, 2000));
  element.classList.add("foreign");
  element.title = visible(cut(text, 2000));
  return element;
}

/** Only where it differs, so that selection and screen readers are left alone. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const count = (number, word, words = `${word}s`) => `${grouped(number)} ${number === 1 ? word : words}`;

function bytes(number) {
  if (number < 1024) return `${number} B`;
  return number < 1 << 20 ? `${(number / 1024).toFixed(1)} KiB` : `${(number / (1 << 20)).toFixed(1)} MiB`;
}

/** Says what came of an action, with a sign where it failed. */
function report(id, text, isBad = false) {
  $(id).classList.toggle("bad", isBad);
  show($(id), (isBad ? "⚠ " : "") + text);
}

async function reporting(id, action) {
  try {
    report(id, await action());
  } catch (error) {
    report(id, error.message, true);
  }
}
