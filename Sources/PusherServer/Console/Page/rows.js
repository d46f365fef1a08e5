"use strict";
// What a line of the list says of an entry.

/** A line has no room for more. */
const LINE_LENGTH = 300;

function words(...parts) {
  return parts.filter((part) => part !== undefined && part !== null && part !== "").join("  ");
}

/** The clock time of a stamp, as it stands there. */
function clockTime(time) {
  return typeof time === "string" ? time.slice(11, 23) : "";
}

const summaries = {
  event: (entry) => ({
    what: entry.event,
    text: words(entry.source === "client" ? `from ${entry.socket_id}` : undefined, recipients(entry), cutData(entry.data)),
  }),
  member: (entry) => ({
    what: entry.action, text: words(entry.user_id, entry.user_info && cutData(JSON.stringify(entry.user_info))),
  }),
  channel: (entry) => ({ what: entry.action, text: "" }),
  connection: (entry) => ({ what: entry.action, text: words(entry.socket_id, entry.address, entry.code, entry.reason) }),
  subscription: (entry) => ({ what: entry.action, text: words(entry.socket_id, entry.user_id, entry.reason) }),
  user: (entry) => ({ what: entry.action, text: words(entry.user_id, entry.socket_id, entry.reason) }),
  webhook: (entry) => ({
    what: words(entry.event, entry.action),
    text: words(entry.url, entry.status, entry.reason, entry.retry_in && `again in ${entry.retry_in} s`),
  }),
  request: (entry) => ({ what: words(entry.method, entry.path), text: words(entry.status, entry.reason) }),
  error: (entry) => ({ what: entry.action ?? "error", text: words(entry.socket_id, entry.reason) }),
  dropped: (entry) => ({ what: `${numbers.format(entry.count)} left out`, text: entry.reason }),
};

function cutData(data) {
  return typeof data === "string" ? cut(data, LINE_LENGTH) : undefined;
}

function recipients(entry) {
  return typeof entry.recipients === "number" ? `→${entry.recipients}` : undefined;
}

/** A line of the list: its cells are made once and take the text of one entry after another. */
class Row {
  #entry = null;

  constructor() {
    const cell = (name) => make("span", { role: "gridcell", class: name });
    this.element = make("div", { role: "row", class: "row" });
    this.cells = { time: cell("time"), kind: cell("kind"), channel: cell("foreign"), what: cell("foreign"), text: cell("foreign") };
    this.element.append(...Object.values(this.cells));
  }

  place(index, top, isSelected) {
    if (this.index !== index) {
      this.index = index;
      this.element.id = `row-${index}`;
      this.element.dataset.index = index;
      this.element.setAttribute("aria-rowindex", index + 2);
    }
    this.element.style.transform = `translateY(${top}px)`;
    if (this.isSelected !== isSelected) {
      this.isSelected = isSelected;
      this.element.setAttribute("aria-selected", isSelected);
    }
  }

  fill(entry) {
    if (this.#entry === entry) return;
    this.#entry = entry;
    const { what, text } = summaries[entry.kind](entry);
    const problem = isProblem(entry);
    setText(this.cells.time, clockTime(entry.time));
    setText(this.cells.kind, (problem ? "⚠ " : "") + entry.kind);
    show(this.cells.channel, cut(String(entry.channel ?? ""), LINE_LENGTH));
    show(this.cells.what, cut(String(what ?? ""), LINE_LENGTH));
    show(this.cells.text, cut(text ?? "", LINE_LENGTH));
    this.element.dataset.kind = entry.kind;
    this.element.classList.toggle("bad", problem);
    this.cells.channel.title = visible(cut(String(entry.channel ?? ""), LINE_LENGTH));
    this.cells.what.title = visible(cut(String(what ?? ""), LINE_LENGTH));
  }
}
