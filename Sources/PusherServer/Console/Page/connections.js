"use strict";
// Who is where: the connections, and the view with its pages of 200.

const PAGE = 200;

/** How long ago, in words. */
function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`;
}

class ConnectionTable {
  path = "connections";
  member = "connections";
  empty = "Nobody is connected. Let a client connect, such as: pusher-cli subscribe --local news";

  constructor(actions) {
    const names = ["", "", "", "wrap", "count", "count", "count", ""];
    this.rows = new KeyedRows(byId("connection-rows"), (connection) => {
      const socket = foreign("th", connection.socket_id, { scope: "row" });
      const row = make("tr", {}, socket, ...names.map((name) => make("td", { class: name })));
      row.lastElementChild.append(askingButton("Disconnect", `Close ${connection.socket_id}?`,
        () => actions.disconnect(connection.socket_id), { "data-disconnect": connection.socket_id }));
      return row;
    }, (row, connection) => ConnectionTable.#fill(row.children, connection, actions));
  }

  static #fill(cells, connection, actions) {
    const text = (place, value) => {
      if (cells[place].dataset.shown === value) return;
      cells[place].dataset.shown = value;
      show(cells[place], cut(value, 500)).title = visible(value);
    };
    text(1, connection.address);
    setText(cells[2], ago(connection.since));
    cells[2].title = connection.since;
    const user = connection.user_id ?? "";
    if (cells[3].dataset.user !== user) {
      cells[3].dataset.user = user;
      cells[3].replaceChildren(...(user === "" ? [] : [foreign("span", user), " ", terminateButton(user, actions.terminate)]));
    }
    text(4, connection.channels.join(", ") + (connection.more_channels > 0 ? ` and ${connection.more_channels} more` : ""));
    setText(cells[5], numbers.format(connection.received));
    setText(cells[6], numbers.format(connection.sent));
    setText(cells[7], bytes(connection.queued_bytes));
  }

  show(items) {
    this.rows.update(items, (connection) => connection.socket_id);
  }
}

class WhereView {
  #offset = 0;
  #isAsking = false;

  constructor(rates, note) {
    this.note = note;
    const app = () => byId("where-app").value;
    this.app = app;
    this.channel = new OpenedChannel(app, (user) => this.#act("terminate", { user_id: user }, "The user's connections are ended."));
    this.tables = {
      channels: new ChannelTable(rates, app, (name) => {
        this.channel.open(name);
        this.refresh();
      }),
      connections: new ConnectionTable({
        disconnect: (socket) => this.#act("disconnect", { socket_id: socket }, "The connection is closed."),
        terminate: (user) => this.#act("terminate", { user_id: user }, "The user's connections are ended."),
      }),
    };
    this.table = this.tables.channels;
    for (const name of ["channels", "connections"]) byId(`where-${name}`).addEventListener("click", () => this.#choose(name));
    byId("where-app").addEventListener("change", () => {
      if (this.channel.isOpen) this.channel.close();
      this.#go(0);
    });
    byId("where-filter").addEventListener("input", () => this.#go(0));
    byId("where-back").addEventListener("click", () => this.#go(this.#offset - PAGE));
    byId("where-next").addEventListener("click", () => this.#go(this.#offset + PAGE));
  }

  #choose(name) {
    this.table = this.tables[name];
    for (const other of ["channels", "connections"]) {
      byId(other).hidden = other !== name;
      byId(`where-${other}`).setAttribute("aria-pressed", other === name);
    }
    this.#go(0);
  }

  #go(offset) {
    this.#offset = Math.max(0, offset);
    this.refresh();
  }

  async #act(path, values, done) {
    try {
      await call(path, { app: this.app(), ...values });
      report(this.note, done);
    } catch (error) {
      report(this.note, error.message, true);
    }
    this.refresh();
  }

  /** Asks once at a time; what is typed meanwhile is asked for next. */
  async refresh() {
    if (this.#isAsking) {
      this.isStale = true;
      return;
    }
    this.#isAsking = true;
    try {
      do {
        this.isStale = false;
        await this.#ask();
      } while (this.isStale);
      if (this.hasFailed) report(this.note, "");
      this.hasFailed = false;
    } catch (error) {
      this.hasFailed = true;
      report(this.note, error.message, true);
    } finally {
      this.#isAsking = false;
    }
  }

  async #ask() {
    const table = this.table;
    const filter = byId("where-filter").value;
    const answer = await call(query(table.path, { app: this.app(), filter, offset: this.#offset, limit: PAGE }));
    if (table !== this.table) return;
    const items = answer[table.member];
    if (items.length === 0 && this.#offset > 0) {
      this.#offset = 0;
      this.isStale = true;
      return;
    }
    table.show(items);
    setText(byId("where-total"), numbers.format(answer.total));
    const last = this.#offset + items.length;
    setText(byId("where-page"), answer.total > PAGE ? `${numbers.format(this.#offset + 1)} to ${numbers.format(last)}` : "");
    byId("where-back").disabled = this.#offset === 0;
    byId("where-next").disabled = last >= answer.total;
    const empty = byId("where-empty");
    empty.hidden = items.length > 0;
    setText(empty, filter === "" ? table.empty : "Nothing matches the filter.");
    await this.channel.refresh();
  }
}
