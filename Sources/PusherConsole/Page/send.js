// Tools: sends an event.

class SendForm {
  /** @param known `channels()` and `events()` give the names that were seen */
  constructor(known) {
    on("send-data", "input", () => this.#check());
    for (const id of ["send-channel", "check-channel"]) on(id, "focus", () => offer("known-channels", known.channels()));
    on("send-event", "focus", () => offer("known-events", known.events()));
    onSubmit("send", "send-result", async () => {
      const socket = $("send-socket").value.trim();
      const body = { ...valuesOf("send", ["app", "channel", "event", "data"]), ...(socket && { socket_id: socket }) };
      const { recipients } = await call("trigger", body);
      return recipients >= 0 ? `Sent to ${count(recipients, "recipient")}.` : "Sent.";
    });
    this.#check();
  }

  /** Takes an entry over, to be sent again. */
  fill(entry) {
    for (const name of ["app", "channel", "event", "data"]) $(`send-${name}`).value = entry[name] ?? "";
    $("send-socket").value = "";
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
