// Tools: sends an event.

class SendForm {
  #sent = new SentEvents();
  #history = new KeyedRows("send-history", (event) => make("li", { class: "item" },
    makeButton("Fill in", () => this.fill(event)), foreign("span", words(event.event, event.channel, cut(event.data, LINE)))));

  /** @param known `channels()` and `events()` give the names that were seen */
  constructor(known) {
    on("send-data", "input", () => this.#check());
    for (const id of ["send-channel", "check-channel"]) on(id, "focus", () => SendForm.#offerChannels(known.channels()));
    on("send-event", "focus", () => offer("known-events", known.events()));
    onSubmit("send", "send-result", async () => {
      const socket = $("send-socket").value.trim();
      const body = { ...valuesOf("send", ["app", "channel", "event", "data"]), ...(socket && { socket_id: socket }) };
      const { recipients } = await call("trigger", body);
      this.#sent.add(body);
      this.#history.update(this.#sent.list, SentEvents.key);
      $("send-sent").hidden = false;
      return recipients >= 0 ? `Sent to ${count(recipients, "recipient")}.` : "Sent.";
    });
    this.#check();
  }

  /** The channels that were seen, at once, and then those that have subscribers too. */
  static async #offerChannels(seen) {
    offer("known-channels", seen);
    const app = $("send-app").value;
    if (document.body.classList.contains("recorded") || !app) return;
    const { channels } = await call(query("channels", { app, limit: 200 })).catch(() => ({ channels: [] }));
    if (channels.length > 0) offer("known-channels", [...new Set([...channels.map(({ name }) => name), ...seen])]);
  }

  /** Takes over an entry, or an event of the history, to be sent again; a client's entry names its sender. */
  fill(entry) {
    for (const name of ["app", "channel", "event", "data"]) $(`send-${name}`).value = entry[name] ?? "";
    $("send-socket").value = entry.source ? "" : entry.socket_id ?? "";
    report("send-result", "");
    this.#check();
    $("send-go").focus();
  }

  #check() {
    const problem = problemOfJSON($("send-data").value);
    setText($("send-json"), problem ? `Not JSON, sent as text (${problem})` : "Valid JSON");
  }
}

/** Fills a list of completions. A choice cannot mark what is hidden in a name, so names with that are left out. */
function offer(id, names) {
  $(id).replaceChildren(...names.filter((name) => !HIDDEN.test(name)).map((name) => new Option(name, name)));
}

/** The values of a form's fields; the optional ones are left out where they are empty. */
function valuesOf(form, names, optional = []) {
  const fields = [...names, ...optional].map((name) => [name, $(`${form}-${name.replace("_", "-")}`).value]);
  return Object.fromEntries(fields.filter(([name, value]) => value !== "" || !optional.includes(name)));
}

function onSubmit(form, result, action) {
  on(form, "submit", (event) => {
    event.preventDefault();
    reporting(result, action);
  });
}
