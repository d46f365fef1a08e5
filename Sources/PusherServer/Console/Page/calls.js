"use strict";
// Calls below /console. The token stays in this file and in the header of a request.

const { call, openStream } = (() => {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const base = location.pathname.replace(/\/+$/, "") + "/";

  function request(path, options = {}) {
    return fetch(base + path, {
      cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", ...options,
      headers: { Authorization: `Bearer ${token}`, ...options.headers },
    });
  }

  /** A GET, or a POST where there is a body; throws an Error with the server's sentence. */
  async function call(path, body) {
    const options = body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    };
    const response = await request(path, options).catch(() => {
      throw new Error("The server does not answer.");
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(String(answer.error ?? `The server answers with status ${response.status}.`));
    return answer;
  }

  return { call, openStream: (signal) => request("events", { headers: { Accept: "text/event-stream" }, signal }) };
})();

/** The path of a call with what it asks; parts that are empty are left out. */
function query(path, values) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== "" && value !== undefined) parts.set(name, value);
  return `${path}?${parts}`;
}
