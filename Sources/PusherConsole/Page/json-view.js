// JSON that folds: what is inside is built when it is unfolded, at most 200 members at a time.

const MEMBERS_AT_ONCE = 200;
const STRING_LENGTH = 2000;

/** Data as a tree where it is JSON, else as text. */
function dataView(text) {
  if (problemOfJSON(text)) return longText(make("div", { class: "text" }), text, true);
  const start = text.search(/[^ \t\r\n]/);
  return make("ul", { class: "json" }, jsonItem(text, { start, end: text.trimEnd().length }, text.length <= 4000 ? 2 : 1));
}

/** Shows the beginning of a long text, and the rest when it is asked for. */
function longText(box, text, keepsLines) {
  const part = show(make("span", { class: "foreign" }), cut(text, STRING_LENGTH), keepsLines);
  box.append(part);
  if (text.length > STRING_LENGTH) {
    const more = makeButton(`Show all ${grouped(text.length)} characters`, () => {
      show(part, text, keepsLines);
      more.remove();
    });
    box.append(" ", more);
  }
  return box;
}

function jsonItem(text, { name, start, end }, depth) {
  const item = make("li");
  const quoted = (token) => JSON.stringify(JSON.parse(token));
  if (name !== undefined) item.append(foreign("span", typeof name === "string" ? quoted(name) : String(name), { class: "key" }), ": ");
  if (text[start] === "{" || text[start] === "[") fold(item, text, start, depth);
  else if (text[start] === '"') item.append(longText(make("span", { class: "string" }), quoted(text.slice(start, end))));
  else item.append(show(make("span"), text.slice(start, end)));
  return item;
}

/** A button that unfolds what is in an object or array; it begins unfolded where `depth` is more than 0. */
function fold(item, text, start, depth) {
  const { total } = membersOfJSON(text, start, 0, 0);
  const list = make("ul", { class: "json" });
  const set = (opens) => {
    if (opens && list.childElementCount === 0) addMembers(list, text, start, 0, depth - 1);
    list.hidden = !opens;
    button.ariaExpanded = opens;
  };
  const label = text[start] === "{" ? `{ ${count(total, "member")} }` : `[ ${count(total, "element")} ]`;
  const button = makeButton(label, () => set(list.hidden), { class: "fold" });
  button.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight" || key === "ArrowLeft") set(key === "ArrowRight");
  });
  set(depth > 0);
  item.append(button, list);
}

function addMembers(list, text, start, skip, depth) {
  const { found, total } = membersOfJSON(text, start, skip, MEMBERS_AT_ONCE);
  list.append(...found.map((member) => jsonItem(text, member, depth)));
  const shown = skip + found.length;
  if (shown >= total) return;
  const more = makeButton(`Show more (${grouped(shown)} of ${grouped(total)} shown)`, () => {
    const last = list.lastElementChild;
    addMembers(list, text, start, shown, 0);
    // The focus goes on where the button was, so that a reader by keyboard does not begin anew.
    (last.nextElementSibling.querySelector("button") ?? list.closest("[tabindex]"))?.focus();
    last.remove();
  }, { class: "more" });
  list.append(make("li", {}, more));
}
