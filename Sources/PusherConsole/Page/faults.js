// Tools: stages faults.

const MESSAGE = ["after", "channel", "connections", "times"];

/** What each kind of `--fault` does, and the settings that it takes. */
const FAULTS = {
  "drop": ["End the connection without a close frame.", MESSAGE],
  "close": ["Close the connection with a code (default: 4200).", ["code", ...MESSAGE]],
  "storm": ["Close every connection with 4200 as soon as it opens.", ["connections", "times"]],
  "blackhole": ["Send nothing more, not even pongs, and keep the connection open.", MESSAGE],
  "late-pong": ["Answer pings only after a delay (default: 5s).", ["delay", "after", "connections", "times"]],
  "split-utf8": ["Send an event in two fragments, cut inside a character.", MESSAGE],
  "huge-frame": ["Pad an event to a size in bytes (default: 16777217).", ["size", ...MESSAGE]],
  "bad-json": ["Send an event without its last byte.", MESSAGE],
  "duplicate": ["Send an event twice.", MESSAGE],
  "reorder": ["Send an event after the next event.", MESSAGE],
  "auth-fail": ["Refuse signatures; endpoints answer with a status (default: 500).", ["status", "channel", "connections", "times"]],
};

/** Label and placeholder of each setting; the placeholder is the default, except for `channel`. */
const FAULT_FIELDS = {
  after: ["Events before", "0"], channel: ["Channel pattern", "news-*"], connections: ["Connections", "all"],
  times: ["Repeat", "no limit"], code: ["Close code", "4200"], delay: ["Delay", "5s"],
  size: ["Size in bytes", "16777217"], status: ["Status", "500"],
};

class FaultForm {
  #list = new KeyedRows("fault-list", ([, text]) => make("li", {}, foreign("code", text)));

  constructor() {
    $("fault-kind").append(...Object.keys(FAULTS).map((name) => new Option(name)));
    on("fault-kind", "change", () => this.#choose());
    onSubmit("faults", "fault-result", () => this.#change({ add: $("fault-text").value }, "Staged."));
    on("fault-clear", "click", () => reporting("fault-result", () => this.#change({ clear: true }, "All faults are removed.")));
    this.#choose();
  }

  #choose() {
    const kind = $("fault-kind").value;
    const [about, settings] = FAULTS[kind];
    const write = () => {
      const given = settings.map((name) => [name, $(`fault-${name}`).value.trim()]).filter(([, value]) => value);
      $("fault-text").value = kind + (given.length > 0 ? ":" : "") + given.map((pair) => pair.join("=")).join(",");
    };
    setText($("fault-about"), about);
    $("fault-settings").replaceChildren(...settings.map((name) => {
      const [label, placeholder] = FAULT_FIELDS[name];
      const field = make("input", { id: `fault-${name}`, placeholder });
      field.addEventListener("input", write);
      return make("label", {}, label, field);
    }));
    write();
  }

  /** Asks for the staged faults, or changes them. */
  async #change(body, words) {
    const { faults } = await call("faults", body);
    this.#list.update([...faults.entries()], String);
    $("fault-list").dataset.empty = faults.length === 0;
    return words;
  }

  refresh() {
    return this.#change();
  }
}
