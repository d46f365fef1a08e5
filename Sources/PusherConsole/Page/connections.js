// Connections: the connections, and the view with its pages of 200.

const PAGE = 200;

/** How long ago, in words. */
function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  const [number, unit] = seconds < 60 ? [seconds, "s"] : seconds < 3600 ? [seconds / 60, "min"]
    : seconds < 86_400 ? [seconds / 3600, "h"] : [seconds / 86_400, "d"];
  return Number.isNaN(seconds) ? "" : `${Math.floor(number)} ${unit} ago`;
}

/** Names of the columns after the first; on a small screen they stand before the values. */
const COLUMNS = ["Address", "Connected", "User ID", "Channels", "Received", "Sent", "Queued"];

class ConnectionTable {
  member = "connections";
  empty = "No connections. Connect a client:";

  constructor({ disconnect, terminate }) {
    this.rows = new KeyedRows("connection-rows", ({ socket_id: socket }) => make("tr", {},
      foreign("th", socket, { scope: "row" }), ...COLUMNS.map((name) => make("td", { "data-name": name })),
      make("td", {}, askingButton("Disconnect", `Close connection ${socket}?`, "disconnect", socket, disconnect))),
    ({ children }, connection) => {
      const { user_id: user = "", channels, more_channels: more } = connection;
      const names = channels.join(", ") + (more > 0 ? ` and ${more} more` : "");
      const texts = [
        connection.address, ago(connection.since), null, names, grouped(connection.received), grouped(connection.sent),
        bytes(connection.queued_bytes),
      ];
      const titles = { 0: connection.address, 1: connection.since, 3: names };
      texts.forEach((text, index) => {
        if (text !== null) setText(children[index + 1], visible(cut(text, 500)));
        if (titles[index]) children[index + 1].title = visible(titles[index]);
      });
      if (children[3].dataset.user === user) return;
      children[3].dataset.user = user;
      children[3].replaceChildren(...(user ? [make("span", { class: "user" }, foreign("span", user), terminateButton(user, terminate))] : []));
    });
  }

  show(items) {
    this.rows.update(items, (connection) => connection.socket_id);
  }
}

class WhereView {
  #offset = 0;
  #isAsking = false;
  #isStale = false;
  #hasFailed = false;
  #clearing = {
    label: "Clear filter", act: () => {
      $("where-filter").value = "";
      $("where-filter").focus();
      this.#go(0);
    },
  };

  /** @param apps gives the server's apps */
  constructor(rates, apps) {
    this.apps = apps;
    const app = () => $("where-app").value;
    const disconnect = (socket) => this.#act("disconnect", { app: app(), socket_id: socket }, "The connection is closed.");
    const terminate = (user) => this.#act("terminate", { app: app(), user_id: user }, "The user's connections are closed.");
    this.channel = new OpenedChannel(app, terminate);
    this.tables = [
      new ChannelTable(rates, app, (name) => {
        this.channel.open(name);
        this.refresh();
      }, () => this.channel.name),
      new ConnectionTable({ disconnect, terminate }),
    ];
    this.table = this.tables[0];
    for (const table of this.tables) on(`where-${table.member}`, "click", () => this.#choose(table));
    on("where-app", "change", () => {
      this.channel.close();
      this.#go(0);
    });
    on("where-filter", "input", () => this.#go(0));
    on("where-back", "click", () => this.#go(this.#offset - PAGE));
    on("where-next", "click", () => this.#go(this.#offset + PAGE));
  }

  #choose(chosen) {
    this.table = chosen;
    for (const table of this.tables) {
      $(table.member).hidden = table !== chosen;
      $(`where-${table.member}`).ariaPressed = table === chosen;
    }
    if (chosen !== this.tables[0]) this.channel.close();
    this.#go(0);
  }

  #go(offset) {
    this.#offset = Math.max(0, offset);
    this.refresh();
  }

  #act(path, values, done) {
    reporting("where-note", async () => {
      await call(path, values);
      this.refresh();
      return done;
    });
  }

  /** Asks once at a time; what is typed meanwhile is asked for next. */
  async refresh() {
    this.#isStale = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#isStale) await this.#ask();
      if (this.#hasFailed) report("where-note", "");
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      report("where-note", error.message, true);
    }
    this.#isAsking = false;
  }

  async #ask() {
    this.#isStale = false;
    const { table } = this;
    const filter = $("where-filter").value;
    const values = { app: $("where-app").value, filter, offset: this.#offset, limit: PAGE };
    const { total, [table.member]: items } = await call(query(table.member, values));
    if (this.#isStale || table !== this.table) return;
    // The page may have emptied meanwhile.
    if (items.length === 0 && this.#offset > 0) return this.#go(0);
    table.show(items);
    const last = this.#offset + items.length;
    setText($("where-total"), `${grouped(total)} total`);
    setText($("where-page"), total > PAGE ? `${grouped(this.#offset + 1)} to ${grouped(last)}` : "");
    for (const id of ["where-back", "where-next"]) $(id).hidden = total <= PAGE;
    $("where-back").disabled = this.#offset === 0;
    $("where-next").disabled = last >= total;
    $("where-empty").hidden = items.length > 0;
    const line = subscribeLine(this.apps().find(({ id }) => id === values.app));
    if (filter) sayEmpty("where-empty", "No match. Change or clear the filter.", this.#clearing);
    else sayEmpty("where-empty", table.empty, line);
    await this.channel.refresh();
  }
}
