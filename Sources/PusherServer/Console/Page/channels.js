"use strict";
// Who is where: the list of channels, and the one that is opened.

class ChannelTable {
  path = "channels";
  member = "channels";

  constructor(rates, app, onOpen) {
    this.rates = rates;
    this.app = app;
    const cell = (row, place) => row.children[place];
    this.rows = new KeyedRows(byId("channel-rows"), (channel) => {
      const open = makeButton("", () => onOpen(channel.name), { class: "link" });
      const row = make("tr", {}, make("th", { scope: "row" }, open), ...["count", "count", "", "count"].map((name) => make("td", { class: name })));
      show(open, cut(channel.name, 200)).title = visible(channel.name);
      cell(row, 3).append(sparkline());
      return row;
    }, (row, channel) => {
      setText(cell(row, 1), numbers.format(channel.subscriptions));
      setText(cell(row, 2), channel.users === undefined || channel.users === null ? "" : numbers.format(channel.users));
      const seconds = rates.of(app(), channel.name);
      drawSparkline(cell(row, 3).firstElementChild, seconds);
      setText(cell(row, 4), numbers.format(seconds.reduce((sum, number) => sum + number, 0)));
    });
  }

  show(items) {
    this.rows.update(items, (channel) => channel.name);
  }

  empty = "No channel is occupied. Let a client subscribe to one, such as: pusher-cli subscribe --local news";
}

class OpenedChannel {
  name = null;
  #members;
  #sockets;
  #cached;

  constructor(app, onTerminate) {
    this.app = app;
    this.panel = byId("channel");
    this.#members = new KeyedRows(byId("channel-members"), (member) => make("li", {},
      foreign("strong", member.user_id), " ", terminateButton(member.user_id, onTerminate),
      ...(member.user_info === undefined || member.user_info === null ? [] : [dataView(JSON.stringify(member.user_info))])), () => {});
    this.#sockets = new KeyedRows(byId("channel-sockets"), (socket) => foreign("li", socket), () => {});
    byId("channel-close").addEventListener("click", () => this.close());
  }

  get isOpen() {
    return this.name !== null;
  }

  open(name) {
    this.name = name;
    this.opener = document.activeElement;
    this.#cached = undefined;
    show(byId("channel-name"), cut(name, 500));
    this.panel.hidden = false;
    this.panel.focus();
  }

  close() {
    this.name = null;
    this.panel.hidden = true;
    this.opener?.focus();
  }

  async refresh() {
    if (!this.isOpen) return;
    const name = this.name;
    const answer = await call(query("channel", { app: this.app(), channel: name }));
    if (name !== this.name) return;
    const users = answer.users === undefined || answer.users === null ? "" : `, ${count(answer.users, "user")}`;
    setText(byId("channel-counts"), count(answer.subscriptions, "subscriber") + users
      + (answer.more_members > 0 ? `; ${count(answer.more_members, "more member")} not listed` : "")
      + (answer.more_sockets > 0 ? `; ${count(answer.more_sockets, "more socket")} not listed` : ""));
    // A member's info is part of the key, so that a row is made anew when it changes.
    this.#members.update(answer.members ?? [], (member) => JSON.stringify([member.user_id, member.user_info]));
    this.#sockets.update(answer.sockets ?? [], (socket) => socket);
    this.#showCached(answer.cached);
  }

  #showCached(cached) {
    const text = JSON.stringify(cached ?? null);
    if (text === this.#cached) return;
    this.#cached = text;
    if (text === "null") byId("channel-cached").replaceChildren("none");
    else byId("channel-cached").replaceChildren(foreign("strong", cached.event), dataView(cached.data));
  }
}

function terminateButton(user, onTerminate) {
  return askingButton("Terminate", `End all connections of ${user}?`, () => onTerminate(user), { "data-terminate": user });
}
