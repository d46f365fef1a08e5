// The opened entry: all its members, and what can be done with it.

class Detail {
  entry = null;
  #request;

  /** @param actions `apps()` gives the server's apps, `sendAgain(entry)` fills the form, `closed()` takes the focus */
  constructor(actions) {
    this.actions = actions;
    const copies = {
      json: () => JSON.stringify(this.entry, null, 2), curl: () => curlLine(this.entry),
      cli: () => triggerLine(this.entry, actions.apps()),
    };
    for (const name in copies) on(`copy-${name}`, "click", () => reporting("detail-result", () => copyText(copies[name]())));
    on("detail-close", "click", () => this.close());
    on("send-again", "click", () => actions.sendAgain(this.entry));
    on("webhook-again", "click", () => reporting("detail-result", async () => {
      await call("webhook", { app: this.entry.app, body: this.entry.body });
      return "Signed again and queued. A new entry reports the result.";
    }));
  }

  show(entry) {
    if (this.entry === entry) return;
    this.entry = entry;
    this.#request = undefined;
    $("detail").hidden = false;
    $("detail").scrollTop = 0;
    show($("detail-title"), cut(words(entry.kind, entry.event ?? entry.action), 200));
    for (const button of document.querySelectorAll("[data-only]")) button.hidden = button.dataset.only !== entry.kind;
    report("detail-result", "");
    const [lines, trees] = [[], []];
    for (const [name, value] of Object.entries(entry)) {
      if (name === "data" || name === "body" || typeof value === "object") {
        const text = typeof value === "string" ? value : JSON.stringify(value);
        trees.push(foreign("h3", `${name}, ${bytes(new TextEncoder().encode(text).length)}`), dataView(text));
      } else lines.push(memberLine(name, value));
    }
    $("detail-members").replaceChildren(...lines);
    $("detail-data").replaceChildren(...trees);
    this.refresh();
  }

  /** The request of an event comes after it. */
  refresh() {
    const request = this.entry?.[REQUEST];
    $("detail-request").hidden = !request;
    if (!request || request === this.#request) return;
    this.#request = request;
    const lines = Object.entries(request).filter(([name]) => name !== "kind");
    $("detail-request-members").replaceChildren(...lines.map(([name, value]) => memberLine(name, value)));
  }

  close() {
    if (this.entry === null) return;
    this.entry = null;
    $("detail").hidden = true;
    this.actions.closed();
  }
}

const memberLine = (name, value) => make("div", {}, foreign("dt", name), foreign("dd", String(value)));
