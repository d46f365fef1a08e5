// Do: stages faults.

const MESSAGE = ["after", "channel", "connections", "times"];

/** What each kind of `--fault` does, and the settings that it takes. */
const FAULTS = {
  "drop": ["End the connection without a close frame.", MESSAGE],
  "close": ["Close the connection with a code, 4200 unless given.", ["code", ...MESSAGE]],
  "storm": ["Close every connection with 4200 as soon as it is there.", ["connections", "times"]],
  "blackhole": ["Send nothing more, not even pongs, and keep the connection.", MESSAGE],
  "late-pong": ["Answer pings only after a delay, 5s unless given.", ["delay", "after", "connections", "times"]],
  "split-utf8": ["Send an event in two fragments, cut inside a character.", MESSAGE],
  "huge-frame": ["Make an event so many bytes long, 16777217 unless given.", ["size", ...MESSAGE]],
  "bad-json": ["Send an event without its last byte.", MESSAGE],
  "duplicate": ["Send an event twice.", MESSAGE],
  "reorder": ["Send an event after the next one.", MESSAGE],
  "auth-fail": ["Refuse signatures, and fail with a status, 500 unless given.", ["status", "channel", "connections", "times"]],
};

const FAULT_HINTS = {
  after: "events before it", channel: "news-*", connections: "how many", times: "how often",
  code: "4200", delay: "5s", size: "bytes", status: "500",
};

class FaultForm {
  #list = new KeyedRows("fault-list", ([, text]) => make("li", {}, foreign("code", text)));

  constructor() {
    $("fault-kind").append(...Object.keys(FAULTS).map((name) => new Option(name)));
    on("fault-kind", "change", () => this.#choose());
    onSubmit("faults", "fault-result", () => this.#change({ add: $("fault-text").value }, "Staged."));
    on("fault-clear", "click", () => reporting("fault-result", () => this.#change({ clear: true }, "All are lifted.")));
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
      const field = make("input", { id: `fault-${name}`, placeholder: FAULT_HINTS[name] });
      field.addEventListener("input", write);
      return make("label", {}, name, field);
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
