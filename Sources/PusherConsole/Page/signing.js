// Tools: signs an authorisation. Auth check: says what is wrong with one.

class SignForm {
  constructor() {
    for (const word of ["channel", "user"]) on(`sign-for-${word}`, "change", () => this.#choose(word));
    on("sign-copy", "click", () => reporting("sign-result", () => copyText(this.answer)));
    onSubmit("sign", "sign-result", () => this.#sign());
    this.#choose("channel");
  }

  #choose(word) {
    this.word = word;
    for (const label of document.querySelectorAll("[data-sign]")) label.hidden = label.dataset.sign !== word;
  }

  async #sign() {
    $("sign-output").hidden = true;
    const body = this.word === "user" ? valuesOf("sign", ["app", "socket_id", "user_data"])
      : valuesOf("sign", ["app", "socket_id", "channel"], ["channel_data"]);
    const { string_to_sign: text, ...answer } = await call("sign", body);
    this.answer = JSON.stringify(answer);
    show($("sign-string"), text, true);
    show($("sign-answer"), this.answer);
    $("sign-output").hidden = false;
    return "Signed.";
  }
}

class CheckForm {
  constructor() {
    on("check-auth", "input", ({ target }) => this.#spread(target.value.trim()));
    onSubmit("check-form", "check-result", () => this.#check());
  }

  /** The whole answer of an endpoint fills the fields; a signature brings its key along. */
  #spread(text) {
    if (!text.startsWith("{") || problemOfJSON(text)) return;
    const { auth, channel_data: data } = JSON.parse(text);
    if (typeof auth !== "string") return;
    $("check-auth").value = auth;
    if (auth.includes(":")) $("check-key").value = auth.split(":")[0];
    if (typeof data === "string") $("check-channel-data").value = data;
  }

  async #check() {
    $("check-output").hidden = true;
    $("check-findings").replaceChildren();
    const body = valuesOf("check", ["key", "socket_id", "channel", "auth"], ["channel_data"]);
    for (const name of ["key", "socket_id", "auth"]) body[name] = body[name].trim();
    const { valid, findings, string_to_sign: text } = await call("check", body);
    $("check-findings").replaceChildren(...findings.map((finding) => foreign("li", finding)));
    show($("check-string"), text ?? "", true);
    $("check-output").hidden = !text;
    if (!valid) throw new Error("Invalid authorisation.");
    return "✓ Valid authorisation.";
  }
}
