"use strict";
// Do: stages faults.

const MESSAGE_SETTINGS = ["after", "channel", "connections", "times"];

/** What each kind of `--fault` does, and the settings that it takes. */
const FAULTS = {
  drop: ["End the connection without a close frame.", MESSAGE_SETTINGS],
  close: ["Close the connection with a code, 4200 unless given.", ["code", ...MESSAGE_SETTINGS]],
  storm: ["Close every connection with 4200 as soon as it is there.", ["connections", "times"]],
  blackhole: ["Send nothing more, not even pongs, and keep the connection.", MESSAGE_SETTINGS],
  "late-pong": ["Answer pings only after a delay, 5s unless given.", ["delay", "after", "connections", "times"]],
  "split-utf8": ["Send an event in two fragments, cut inside a character.", MESSAGE_SETTINGS],
  "huge-frame": ["Make an event so many bytes long, 16777217 unless given.", ["size", ...MESSAGE_SETTINGS]],
  "bad-json": ["Send an event without its last byte.", MESSAGE_SETTINGS],
  duplicate: ["Send an event twice.", MESSAGE_SETTINGS],
  reorder: ["Send an event after the next one.", MESSAGE_SETTINGS],
  "auth-fail": ["Refuse signatures, and fail with a status, 500 unless given.", ["status", "channel", "connections", "times"]],
};

const FAULT_HINTS = {
  after: "events before it", channel: "news-*", connections: "how many", times: "how often",
  code: "4200", delay: "5s", size: "bytes", status: "500",
};

class FaultForm {
  #list;

  constructor() {
    const kind = byId("fault-kind");
    kind.append(...Object.keys(FAULTS).map((name) => make("option", {}, name)));
    kind.addEventListener("change", () => this.#choose(kind.value));
    this.#list = new KeyedRows(byId("fault-list"), (fault) => make("li", {}, foreign("code", fault.text)), () => {});
    onSubmit("faults", "fault-result", () => this.#change({ add: byId("fault-text").value }, "Staged."));
    byId("fault-clear").addEventListener("click", async () => {
      const result = byId("fault-result");
      await this.#change({ clear: true }, "All are lifted.").then((words) => report(result, words), (error) => report(result, error.message, true));
    });
    this.#choose("drop");
  }

  #choose(kind) {
    const [about, settings] = FAULTS[kind];
    setText(byId("fault-about"), about);
    byId("fault-settings").replaceChildren(...settings.map((name) => {
      const field = make("input", { id: `fault-${name}`, placeholder: FAULT_HINTS[name], autocomplete: "off" });
      field.addEventListener("input", () => this.#write(kind, settings));
      return make("label", {}, name, " ", field);
    }));
    this.#write(kind, settings);
  }

  #write(kind, settings) {
    const given = settings.map((name) => [name, byId(`fault-${name}`).value.trim()]).filter(([, value]) => value !== "");
    const pairs = given.map(([name, value]) => `${name}=${value}`).join(",");
    byId("fault-text").value = pairs === "" ? kind : `${kind}:${pairs}`;
  }

  async #change(body, words) {
    this.#show(await call("faults", body));
    return words;
  }

  #show({ faults }) {
    this.#list.update(faults.map((text, index) => ({ text, index })), ({ text, index }) => `${index} ${text}`);
    byId("fault-list").dataset.empty = faults.length === 0;
  }

  async refresh() {
    this.#show(await call("faults"));
  }
}
