// Tools: stages faults.

const MESSAGE = ["after", "channel", "connections", "times"];

/** The settings that each kind of `--fault` takes; fault-words.js says what it does. */
const FAULTS = {
  "drop": MESSAGE, "close": ["code", ...MESSAGE], "storm": ["connections", "times"], "blackhole": MESSAGE,
  "late-pong": ["delay", "after", "connections", "times"], "split-utf8": MESSAGE, "huge-frame": ["size", ...MESSAGE],
  "bad-json": MESSAGE, "duplicate": MESSAGE, "reorder": MESSAGE, "expire-window": ["channel", "connections", "times"],
  "reset-stream": ["channel", "connections", "times"], "auth-fail": ["status", "channel", "connections", "times"],
};

/** Label and placeholder of each setting; the placeholder is the default, except for `channel`. */
const FAULT_FIELDS = {
  after: ["Events before", "0"], channel: ["Channel pattern", "news-*"], connections: ["Connections", "all"],
  times: ["Repeat", "no limit"], code: ["Close code", "4200"], delay: ["Delay", "5s"],
  size: ["Size in bytes", "16777217"], status: ["Status", "500"],
};

class FaultForm {
  #list = new KeyedRows("fault-list",
    ([, text]) => make("li", {}, foreign("code", text), show(make("p", { class: "note" }), cut(faultWords(text), 2000)), make("p", { class: "note" })),
    ({ lastChild }, [, , left]) => setText(lastChild, faultEnd(left)));

  constructor() {
    $("fault-kind").append(...Object.keys(FAULTS).map((name) => new Option(name)));
    on("fault-kind", "change", () => this.#choose());
    on("fault-text", "input", () => this.#explain());
    onSubmit("faults", "fault-result", () => this.#change({ add: $("fault-text").value }, "Staged."));
    on("fault-clear", "click", () => reporting("fault-result", () => this.#change({ clear: true }, "All faults are removed.")));
    this.#choose();
  }

  #choose() {
    const kind = $("fault-kind").value;
    const settings = FAULTS[kind];
    const write = () => {
      const given = settings.map((name) => [name, $(`fault-${name}`).value.trim()]).filter(([, value]) => value);
      $("fault-text").value = kind + (given.length > 0 ? ":" : "") + given.map((pair) => pair.join("=")).join(",");
      this.#explain();
    };
    $("fault-settings").replaceChildren(...settings.map((name) => {
      const [label, placeholder] = FAULT_FIELDS[name];
      const field = make("input", { id: `fault-${name}`, placeholder });
      field.addEventListener("input", write);
      return make("label", {}, label, field);
    }));
    write();
  }

  #explain() {
    show($("fault-about"), cut(faultWords($("fault-text").value), 2000));
  }

  /** Asks for the staged faults, or changes them. */
  async #change(body, words) {
    const { faults, left } = await call("faults", body);
    this.#list.update(faults.map((text, index) => [index, text, left[index]]), ([index, text]) => `${index} ${text}`);
    $("fault-list").dataset.empty = faults.length === 0;
    return words;
  }

  refresh() {
    return this.#change();
  }
}
