// Tools: the lines that connect an app to this server.

class ConnectForm {
  #snippets = [];
  #loaded = null;

  constructor() {
    on("connect-library", "change", () => this.#choose());
    onSubmit("connect", "connect-result", () => copyText($("connect-text").dataset.text ?? ""));
  }

  /** Forgets the lines: the server or its apps have changed. */
  renew() {
    this.#loaded = null;
  }

  /** Asks for the lines where they can differ: for another app, or after `renew`. */
  async refresh() {
    const app = $("connect-app").value;
    if (this.#loaded === app) return;
    this.#loaded = app;
    try {
      const { snippets, missing_secret: missing } = await call(query("snippets", { app, url: location.origin }));
      this.#snippets = snippets;
      show($("connect-note"), missing ? `${missing}.` : "");
      this.#choose();
    } catch (error) {
      report("connect-result", error.message, true);
    }
  }

  #choose() {
    const choice = $("connect-library");
    if (choice.options.length === 0) choice.append(...this.#snippets.map(({ name }) => new Option(name, name)));
    const { text } = this.#snippets.find(({ name }) => name === choice.value) ?? { text: "" };
    $("connect-text").dataset.text = text;
    show($("connect-text"), text, true);
    report("connect-result", "");
  }
}
