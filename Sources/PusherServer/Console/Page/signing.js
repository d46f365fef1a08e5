"use strict";
// Do: signs an authorisation. Check: says what is wrong with one.

class SignForm {
  constructor() {
    for (const id of ["sign-for-channel", "sign-for-user"]) byId(id).addEventListener("change", () => this.#choose());
    byId("sign-copy").addEventListener("click", () => copyText(byId("sign-answer").dataset.text));
    onSubmit("sign", "sign-result", () => this.#sign());
    this.#choose();
  }

  get #isForUser() {
    return byId("sign-for-user").checked;
  }

  #choose() {
    const word = this.#isForUser ? "user" : "channel";
    for (const label of document.querySelectorAll("[data-sign]")) label.hidden = label.dataset.sign !== word;
  }

  async #sign() {
    byId("sign-output").hidden = true;
    const names = this.#isForUser ? ["app", "socket_id", "user_data"] : ["app", "socket_id", "channel", "channel_data"];
    const body = valuesOf("sign", names);
    if (body.channel_data === "") delete body.channel_data;
    const { string_to_sign: text, ...answer } = await call("sign", body);
    const json = JSON.stringify(answer);
    show(byId("sign-string"), text, true);
    show(byId("sign-answer"), json, true);
    byId("sign-answer").dataset.text = json;
    byId("sign-output").hidden = false;
    return "Signed.";
  }
}

class CheckForm {
  constructor() {
    byId("check-auth").addEventListener("input", (event) => this.#spread(event.target.value.trim()));
    onSubmit("check-form", "check-result", () => this.#check());
  }

  /** The whole answer of an endpoint fills the fields; a signature brings the key along. */
  #spread(text) {
    if (!text.startsWith("{")) return;
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      return;
    }
    if (typeof answer.auth !== "string") return;
    byId("check-auth").value = answer.auth;
    if (typeof answer.channel_data === "string") byId("check-channel-data").value = answer.channel_data;
    const colon = answer.auth.indexOf(":");
    if (colon > 0) byId("check-key").value = answer.auth.slice(0, colon);
  }

  async #check() {
    byId("check-findings").replaceChildren();
    byId("check-output").hidden = true;
    const body = valuesOf("check", ["key", "socket_id", "channel", "auth", "channel_data"]);
    for (const name of ["key", "socket_id", "auth"]) body[name] = body[name].trim();
    if (body.channel_data === "") delete body.channel_data;
    const answer = await call("check", body);
    byId("check-findings").replaceChildren(...answer.findings.map((finding) => foreign("li", finding)));
    show(byId("check-string"), answer.string_to_sign ?? "", true);
    byId("check-output").hidden = answer.string_to_sign === undefined;
    if (!answer.valid) throw new Error("The signature is not accepted.");
    return "✓ The signature is right.";
  }
}
