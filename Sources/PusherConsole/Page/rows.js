// What a line of the list says of an entry.

/** A line has no room for more. */
const LINE = 300;
const words = (...parts) => parts.filter((part) => part !== undefined && part !== null && part !== "").join("  ");

/** The cells "Event" and "Data" by kind. */
const CELLS = {
  event: (e) => [e.event, words(
    e.source === "client" ? `from ${e.socket_id}` : "", e.recipients >= 0 ? count(e.recipients, "recipient") : "",
    e.serial && `serial ${e.serial}`,
    e.data && cut(e.data, LINE))],
  member: (e) => [e.action, words(e.user_id, e.user_info && JSON.stringify(e.user_info))],
  channel: (e) => [e.action],
  connection: (e) => [e.action, words(e.socket_id, e.address, e.code, e.reason)],
  subscription: (e) => [e.action, words(e.socket_id, e.user_id, e.reason)],
  user: (e) => [e.action, words(e.user_id, e.socket_id, e.reason)],
  webhook: (e) => [words(e.event, e.action), words(e.url, e.status, e.reason, e.retry_in && `retry in ${e.retry_in} s`)],
  request: (e) => [words(e.method, e.path), words(e.status, e.reason)],
  error: (e) => [e.action, words(e.socket_id, e.reason)],
  dropped: (e) => [`${count(e.count, "entry", "entries")} dropped`, e.reason],
  server: (e) => [e.action, e.reason],
};

/** The time since the row before, such as "+1.250 s"; empty if either has no time. */
function distance(time, before) {
  const milliseconds = Date.parse(time) - Date.parse(before);
  if (Number.isNaN(milliseconds)) return "";
  const seconds = Math.abs(milliseconds) / 1000;
  const sign = milliseconds < 0 ? "−" : "+";
  if (seconds < 60) return `${sign}${seconds.toFixed(3)} s`;
  const minutes = Math.floor(seconds / 60);
  return `${sign}${grouped(minutes)} min ${Math.floor(seconds % 60)} s`;
}

/** A line of the list: its cells are made once and take one entry after another. */
class Row {
  #said = "";
  #entry;
  #channel = make("bdi");
  #event = make("bdi");
  #times = make("button", { type: "button", class: "times", tabindex: "-1", title: "Show each (→)" });
  #cells = [
    Row.#cell("time"), Row.#cell("kind"), Row.#cell("foreign name", this.#channel),
    Row.#cell("foreign what", make("span", { class: "name" }, this.#event), this.#times), Row.#cell("foreign data"),
  ];
  element = make("div", { role: "row", class: "row" }, ...this.#cells);

  static #cell(name, ...children) {
    return make("span", { role: "gridcell", class: name }, ...children);
  }

  place(index, top, isSelected) {
    const { element } = this;
    if (this.index !== index) {
      this.index = element.dataset.index = index;
      element.id = `row-${index}`;
      element.ariaRowIndex = index + 2;
    }
    element.style.transform = `translateY(${top}px)`;
    element.ariaSelected = isSelected;
  }

  /** @param total how many entries the row stands for; this is the last of them */
  fill(entry, total, time) {
    const said = `${total} ${time}`;
    if (this.#entry === entry && this.#said === said) return;
    this.#entry = entry;
    this.#said = said;
    const isBad = isProblem(entry);
    const [clock, kind, channel, what, data] = this.#cells;
    setText(clock, time);
    setText(kind, (isBad ? "⚠ " : "") + entry.kind);
    const [name, details] = CELLS[entry.kind](entry).map((text) => String(text ?? ""));
    this.#name(channel, this.#channel, String(entry.channel ?? ""));
    this.#name(what, this.#event, name);
    show(data, cut(details ?? "", LINE));
    this.#times.hidden = total === 1;
    setText(this.#times, total === 1 ? "" : `×${grouped(total)}`);
    this.element.dataset.kind = entry.kind;
    this.element.classList.toggle("bad", isBad);
  }

  /** The end of a name tells it from others, so its beginning is left out. */
  #name(cell, element, text) {
    const short = cutStart(text, LINE);
    show(element, short);
    cell.title = visible(short);
  }
}
