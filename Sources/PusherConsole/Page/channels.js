// Connections: the list of channels, and the one that is opened.

const usersOf = ({ users }) => (typeof users === "number" ? grouped(users) : "");

/** Names of the columns after the first; on a small screen they stand before the values. The chart needs none. */
const CHANNEL_COLUMNS = ["Subscribers", "Users", null, "Events/min"];

class ChannelTable {
  member = "channels";
  empty = "No channel has subscribers. Subscribe to one:";

  /** @param opened gives the name of the channel that is open, or null */
  constructor(rates, app, open, opened) {
    this.rows = new KeyedRows("channel-rows", ({ name }) => {
      const button = makeButton("", () => open(name), { class: "link" });
      show(button, cut(name, 200)).title = visible(name);
      const row = make("tr", {}, make("th", { scope: "row" }, button), 
        ...CHANNEL_COLUMNS.map((name) => make("td", name ? { "data-name": name } : {})));
      row.children[3].append(sparkline());
      return row;
    }, (row, channel) => {
      const { children } = row;
      const seconds = rates.of(app(), channel.name);
      setText(children[1], grouped(channel.subscriptions));
      setText(children[2], usersOf(channel));
      drawSparkline(children[3].firstElementChild, seconds);
      setText(children[4], grouped(seconds.reduce((sum, number) => sum + number, 0)));
      row.ariaCurrent = channel.name === opened() ? "true" : null;
    });
  }

  show(items) {
    this.rows.update(items, ({ name }) => name);
  }
}

class OpenedChannel {
  name = null;
  #cached;

  constructor(app, terminate) {
    this.app = app;
    this.members = new KeyedRows("channel-members", ({ user_id: user, user_info: info }) => make("li", {},
      foreign("strong", user), " ", terminateButton(user, terminate), ...(info ? [dataView(JSON.stringify(info))] : [])));
    this.sockets = new KeyedRows("channel-sockets", (socket) => foreign("li", socket));
    on("channel-close", "click", () => this.close());
  }

  open(name) {
    this.name = name;
    this.opener = document.activeElement;
    this.#cached = undefined;
    show($("channel-name"), cut(name, 500));
    $("channel").hidden = false;
    $("channel").focus();
  }

  close() {
    if (this.name === null) return;
    this.name = null;
    $("channel").hidden = true;
    document.querySelector("tr[aria-current]")?.removeAttribute("aria-current");
    this.opener.focus();
  }

  async refresh() {
    const { name } = this;
    if (name === null) return;
    const answer = await call(query("channel", { app: this.app(), channel: name }));
    if (name !== this.name) return;
    const more = (number, what) => (number > 0 ? `; ${count(number, what)} not listed` : "");
    const users = usersOf(answer) && `, ${count(answer.users, "user")}`;
    setText($("channel-counts"), count(answer.subscriptions, "subscriber") + users
      + more(answer.more_members, "more member") + more(answer.more_sockets, "more socket"));
    // The info is part of the key, so that a row is made anew when it changes.
    this.members.update(answer.members, (member) => JSON.stringify(member));
    this.sockets.update(answer.sockets, String);
    $("channel-members").dataset.empty = answer.members.length === 0;
    $("channel-sockets").dataset.empty = answer.sockets.length === 0;
    const { cached } = answer;
    if (JSON.stringify(cached) === this.#cached) return;
    this.#cached = JSON.stringify(cached);
    $("channel-cached").replaceChildren(...(cached ? [dataView(cached.data)] : ["None. Only cache channels keep an event."]));
  }
}

const terminateButton = (user, terminate) =>
  askingButton("Terminate", `Close all connections of ${user}?`, "terminate", user, terminate);
