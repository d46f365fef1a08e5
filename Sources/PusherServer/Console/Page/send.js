"use strict";
// Do: sends an event.

/** Says whether data is JSON, and if not, where it is wrong. */
function describeJSON(text) {
  const problem = JSONText.problem(text);
  if (problem === null) return "is JSON";
  return `is not JSON: sent as text (${JSONText.place(text, problem.offset)}: ${problem.reason})`;
}

class SendForm {
  /** @param known `channels()` and `events()` give the names that were seen */
  constructor(known) {
    this.known = known;
    const data = byId("send-data");
    data.addEventListener("input", () => this.#check());
    byId("send-channel").addEventListener("focus", () => fillNames("known-channels", known.channels()));
    byId("check-channel").addEventListener("focus", () => fillNames("known-channels", known.channels()));
    byId("send-event").addEventListener("focus", () => fillNames("known-events", known.events()));
    onSubmit("send", "send-result", () => this.#send());
    this.#check();
  }

  /** Takes an entry over, to be sent again. */
  fill(entry) {
    for (const name of ["app", "channel", "event", "data"]) byId(`send-${name}`).value = entry[name] ?? "";
    byId("send-socket").value = "";
    report(byId("send-result"), "");
    this.#check();
    byId("send-go").focus();
  }

  #check() {
    setText(byId("send-json"), describeJSON(byId("send-data").value));
  }

  async #send() {
    const body = valuesOf("send", ["app", "channel", "event", "data"]);
    const socket = byId("send-socket").value.trim();
    if (socket !== "") body.socket_id = socket;
    const { recipients } = await call("trigger", body);
    return typeof recipients === "number" ? `Sent to ${count(recipients, "recipient")}.` : "Sent.";
  }
}

function fillNames(id, names) {
  // A choice cannot mark what is hidden in a name, so names with that are typed or pasted.
  byId(id).replaceChildren(...names.filter((name) => !HIDDEN.test(name)).map((name) => {
    const option = document.createElement("option");
    option.value = name;
    return option;
  }));
}

function valuesOf(form, names) {
  return Object.fromEntries(names.map((name) => [name, byId(`${form}-${name.replace("_", "-")}`).value]));
}

/** Runs an action when a form is submitted; its words, or those of its failure, stand in the result. */
function onSubmit(form, result, action) {
  byId(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      report(byId(result), await action());
    } catch (error) {
      report(byId(result), error.message, true);
    }
  });
}
