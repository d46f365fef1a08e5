// What a line of the list says of an entry.

/** A line has no room for more. */
const LINE = 300;
const words = (...parts) => parts.filter((part) => part !== undefined && part !== null && part !== "").join("  ");

/** The cells "Event or action" and "Details" by kind. */
const CELLS = {
  event: (e) => [e.event, words(
    e.source === "client" ? `from ${e.socket_id}` : "", e.recipients >= 0 ? count(e.recipients, "recipient") : "",
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
};

/** A line of the list: its cells are made once and take one entry after another. */
class Row {
  #entry;
  #cells = ["time", "kind", "foreign", "foreign", "foreign"].map((name) => make("span", { role: "gridcell", class: name }));
  element = make("div", { role: "row", class: "row" }, ...this.#cells);

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

  fill(entry) {
    if (this.#entry === entry) return;
    this.#entry = entry;
    const isBad = isProblem(entry);
    const [time, kind, ...rest] = this.#cells;
    setText(time, String(entry.time).slice(11, 23));
    setText(kind, (isBad ? "⚠ " : "") + entry.kind);
    [entry.channel, ...CELLS[entry.kind](entry), ""].slice(0, 3).forEach((text, index) => {
      const short = cut(String(text ?? ""), LINE);
      show(rest[index], short);
      rest[index].title = index < 2 ? visible(short) : "";
    });
    this.element.dataset.kind = entry.kind;
    this.element.classList.toggle("bad", isBad);
  }
}
