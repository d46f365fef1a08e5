"use strict";
// The opened entry: all its members, and what can be done with it.

class Detail {
  entry = null;
  #apps;

  /** @param actions `apps()` gives the server's apps, `sendAgain(entry)` fills the form, `closed()` takes the focus back */
  constructor(actions) {
    this.panel = byId("detail");
    this.#apps = actions.apps;
    this.actions = actions;
    byId("detail-close").addEventListener("click", () => this.close());
    byId("copy-json").addEventListener("click", () => this.#copy(JSON.stringify(this.entry, null, 2)));
    byId("copy-curl").addEventListener("click", () => this.#copy(curlLine(this.entry)));
    byId("copy-cli").addEventListener("click", () => this.#copy(triggerLine(this.entry, this.#apps())));
    byId("send-again").addEventListener("click", () => actions.sendAgain(this.entry));
    byId("webhook-again").addEventListener("click", () => this.#sendWebhook());
  }

  get isOpen() {
    return this.entry !== null;
  }

  show(entry) {
    if (this.entry === entry) return;
    this.entry = entry;
    this.panel.hidden = false;
    this.panel.scrollTop = 0;
    show(byId("detail-title"), cut(words(entry.kind, entry.event ?? entry.action), 200));
    for (const button of this.panel.querySelectorAll("[data-only]")) button.hidden = button.dataset.only !== entry.kind;
    report(byId("detail-result"), "");
    this.#members(entry);
  }

  close() {
    if (!this.isOpen) return;
    this.entry = null;
    this.panel.hidden = true;
    this.actions.closed();
  }

  /** Texts that hold JSON, and values that are JSON, get a tree; all else a line. */
  #members(entry) {
    const lines = [];
    const trees = [];
    for (const [name, value] of Object.entries(entry)) {
      const isTree = name === "data" || name === "body" || (value !== null && typeof value === "object");
      if (isTree) {
        const text = typeof value === "string" ? value : JSON.stringify(value);
        trees.push(foreign("h3", `${name}, ${bytes(new TextEncoder().encode(text).length)}`), dataView(text));
      } else {
        lines.push(make("div", {}, foreign("dt", name), foreign("dd", String(value))));
      }
    }
    byId("detail-members").replaceChildren(...lines);
    byId("detail-data").replaceChildren(...trees);
  }

  async #copy(text) {
    const isCopied = await copyText(text);
    report(byId("detail-result"), isCopied ? "Copied." : "The browser does not let the page copy.", !isCopied);
  }

  async #sendWebhook() {
    const { app, body } = this.entry;
    try {
      await call("webhook", { app, body });
      report(byId("detail-result"), "Signed anew and handed on; what becomes of it comes as an entry.");
    } catch (error) {
      report(byId("detail-result"), error.message, true);
    }
  }
}
