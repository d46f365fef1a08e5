// Calls below /console. The token stays in this scope and in the header of a request.

const { call, openStream } = (() => {
  const token = new URLSearchParams(location.search).get("token") ?? "";

  const request = (path, options, fields) => fetch(`${location.pathname.replace(/\/+$/, "")}/${path}`, {
    cache: "no-store", redirect: "error", ...options,
    headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json", ...fields },
  });

  /** A GET, or a POST where there is a body; throws an Error with the server's sentence. */
  async function call(path, body) {
    const options = body && { method: "POST", body: JSON.stringify(body) };
    const response = await request(path, options).catch(() => {
      throw new Error("The server does not answer. Check that it is running.");
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(String(answer.error ?? `The server answers with status ${response.status}.`));
    return answer;
  }

  /** @param lastID the ID of the last message that came; the server goes on after it */
  const openStream = (lastID) => request("events", {}, lastID && { "Last-Event-ID": lastID });

  return { call, openStream };
})();

/** The path of a GET with what it asks for. */
const query = (path, values) => `${path}?${new URLSearchParams(values)}`;
