"use strict";
// JSON that folds: what is inside is built when it is unfolded, at most 200 members at a time.

const MEMBERS_AT_ONCE = 200;
/** Texts that are longer begin folded. */
const UNFOLDED_LENGTH = 4000;
const STRING_LENGTH = 2000;

/** Data as a tree where it is JSON, else as text. */
function dataView(text) {
  if (JSONText.problem(text) !== null) return textView(text);
  const start = text.search(/[^ \t\r\n]/);
  const end = text.trimEnd().length;
  return make("ul", { class: "json" }, jsonItem(text, { start, end }, text.length <= UNFOLDED_LENGTH ? 2 : 1));
}

function textView(text) {
  const box = make("div", { class: "text" });
  longText(box, text, (element, part) => show(element, part, true));
  return box;
}

/** Shows the beginning of a long text, and the rest when it is asked for. */
function longText(box, text, put) {
  const part = make("span", { class: "foreign" });
  put(part, cut(text, STRING_LENGTH));
  box.append(part);
  if (text.length <= STRING_LENGTH) return;
  const more = makeButton(`all ${numbers.format(text.length)} characters`, () => {
    put(part, text);
    more.remove();
  });
  box.append(" ", more);
}

/** What a string of JSON stands for, still in quotes, and safe to look at. */
function stringText(token) {
  return JSON.stringify(JSON.parse(token));
}

function jsonItem(text, { key, start, end }, depth) {
  const item = make("li");
  const first = text[start];
  if (typeof key === "string") item.append(foreign("span", stringText(key), { class: "key" }), ": ");
  else if (key !== undefined) item.append(make("span", { class: "key" }, String(key)), ": ");
  if (first === "{" || first === "[") {
    foldable(item, text, start, end, depth);
    return item;
  }
  const value = make("span", { class: first === '"' ? "string" : "scalar" });
  if (first === '"') longText(value, stringText(text.slice(start, end)), show);
  else show(value, text.slice(start, end));
  item.append(value);
  return item;
}

function foldable(item, text, start, end, depth) {
  const isObject = text[start] === "{";
  const { total } = JSONText.children(text, start, 0, 0);
  const label = isObject ? `{ ${count(total, "member")} }` : `[ ${count(total, "element")} ]`;
  if (total === 0) {
    item.append(isObject ? "{ }" : "[ ]");
    return;
  }
  const toggle = makeButton(label, () => fold(toggle.getAttribute("aria-expanded") !== "true"), {
    class: "fold", "aria-expanded": "false",
  });
  const list = make("ul", { class: "json" });
  list.hidden = true;
  function fold(opens) {
    if (opens && list.childElementCount === 0) addMembers(list, text, start, 0, depth - 1);
    list.hidden = !opens;
    toggle.setAttribute("aria-expanded", opens);
  }
  toggle.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    fold(event.key === "ArrowRight");
  });
  item.append(toggle, list);
  if (depth > 0) fold(true);
}

function addMembers(list, text, start, skip, depth) {
  const { found, total } = JSONText.children(text, start, skip, MEMBERS_AT_ONCE);
  list.append(...found.map((member) => jsonItem(text, member, depth)));
  const rest = total - skip - found.length;
  if (rest <= 0) return;
  const more = makeButton(`${numbers.format(Math.min(rest, MEMBERS_AT_ONCE))} more of ${numbers.format(rest)}`, () => {
    const last = list.lastElementChild;
    addMembers(list, text, start, skip + found.length, 0);
    const next = last.nextElementSibling;
    last.remove();
    // The focus goes on where the button was, so that a reader by keyboard does not begin anew.
    (next?.querySelector("button") ?? list.closest("[tabindex]"))?.focus();
  }, { class: "more" });
  list.append(make("li", {}, more));
}
