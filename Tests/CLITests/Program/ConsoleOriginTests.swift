import Foundation
import PusherCore
import Testing

/// A page of another origin in the same browser can neither read nor act, even with the token.
@Suite("Console: other origins", .serialized, .sharesBrowser, .needsBrowser, .runsProgramsFirst)
struct ConsoleOriginTests {
  /// Tries every kind of request to `base` and returns the results.
  private static let attempts = """
    async function attempt(base, token) {
      const found = {};
      const suffix = token ? `&token=${token}` : "";
      const headers = { Authorization: `Bearer ${token}` };
      const tell = (answer) => (answer.type === "opaque" ? "opaque" : `read ${answer.status}`);
      const tried = async (name, url, options) => {
        found[name] = await fetch(url, options).then(tell, () => "refused");
      };
      for (const path of ["", "/events", "/channels", "/channel", "/connections", "/faults"]) {
        const url = `${base}${path}?app=17&channel=news${suffix}`;
        await tried(`cors ${path}`, url);
        await tried(`header ${path}`, url, { headers });
        await tried(`credentials ${path}`, url, { credentials: "include" });
        await tried(`no-cors ${path}`, url, { mode: "no-cors" });
      }
      const event = { app: "17", channel: "news", event: "forged", data: "1" };
      for (const [path, order] of [
        ["/trigger", event], ["/faults", { add: "duplicate" }], ["/faults", { add: "drop" }],
        ["/terminate", { app: "17", user_id: "ada" }], ["/disconnect", { app: "17", socket_id: "SOCKET" }],
        ["/sign", { app: "17", socket_id: "1.2", channel: "private-a" }],
      ]) {
        const url = `${base}${path}?app=17${suffix}`;
        const body = JSON.stringify(order);
        await tried(`post ${path}`, url, { method: "POST", body, headers: { ...headers, "Content-Type": "application/json" } });
        await tried(`simple post ${path}`, url, { method: "POST", body, mode: "no-cors" });
        found[`beacon ${path}`] = navigator.sendBeacon(url, body) ? "sent" : "not sent";
      }
      const element = (tag, name, url, set = (made) => made.src = url) => new Promise((resolve) => {
        const made = document.createElement(tag);
        made.onload = () => resolve("loaded");
        made.onerror = () => resolve("refused");
        set(made);
        document.body.append(made);
      }).then((answer) => { found[name] = answer; });
      for (const path of ["", "/events", "/channels"]) {
        const url = `${base}${path}?app=17${suffix}`;
        await element("img", `img ${path}`, url);
        await element("script", `script ${path}`, url);
        await element("link", `style ${path}`, url, (made) => Object.assign(made, { rel: "stylesheet", href: url }));
      }
      found.frame = await new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.onload = () => {
          try {
            resolve(frame.contentDocument.title === "pusher-cli console" ? "read" : "empty");
          } catch {
            resolve("closed");
          }
        };
        frame.src = `${base}?${suffix}`;
        document.body.append(frame);
      });
      found.form = await new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.name = `answer-${Math.random()}`;
        document.body.append(frame);
        const form = document.createElement("form");
        Object.assign(form, { method: "post", enctype: "text/plain", target: frame.name, action: `${base}/trigger?app=17${suffix}` });
        const field = document.createElement("input");
        // Such a form sends "name=value", which can be a JSON object.
        field.name = JSON.stringify({ ...event, rest: "" }).slice(0, -2);
        field.value = "\\"}";
        form.append(field);
        document.body.append(form);
        frame.onload = () => frame.src === "" && resolve("answered");
        form.submit();
      });
      found.source = await new Promise((resolve) => {
        const source = new EventSource(`${base}/events?${suffix}`);
        source.addEventListener("hello", () => resolve("read"));
        source.onerror = () => resolve("refused");
      });
      found.socket = await new Promise((resolve) => {
        const socket = new WebSocket(`${base.replace("http", "ws")}/events?${suffix}`);
        // The server says over an open socket that there is no such app.
        socket.onmessage = ({ data }) => resolve(JSON.parse(data).event);
        socket.onclose = () => resolve("refused");
      });
      return found;
    }
    """

  @Test(arguments: ["127.0.0.1", "evil.example"], [false, true])
  func `a page from elsewhere reads and does nothing`(host: String, knowsToken: Bool) throws {
    let console = try ConsoleSite()
    let subscriber = try console.server.subscribe(["news"], "-L")
    let socket = try #require(
      try console.ask("/connections?app=17").body["connections"]?.elements?.first?["socket_id"]?
        .text)
    let script = Self.attempts.replacingOccurrences(of: "SOCKET", with: socket)
    let other = try PageSite.serve(["/": PageSite.document("<script>\(script)</script>")])
    let page = try SuiteBrowser.current().page()
    try page.open("http://\(host):\(other.port)/")
    // Under the other page's host name the console would be same-site except for the port.
    for target in [console.place, "\(host):\(console.server.port)"] {
      let token = knowsToken ? console.token : ""
      let found = try page.evaluate("attempt('http://\(target)/console', '\(token)')")
      for member in found.members ?? [] {
        let outcome = member.value.text ?? ""
        let isKept =
          ["opaque", "refused", "sent", "answered", "empty", "closed", "pusher:error"].contains(
            outcome)
        #expect(isKept, "\(host), \(target): \(member.name) came to '\(outcome)'")
      }
      #expect((found.members ?? []).count > 40)
    }
    #expect(try console.ask("/faults").body["faults"] == [])
    try console.trigger("news", "real", "1")
    #expect(try subscriber.line() == #"{"event":"real","channel":"news","data":1}"#)
    _ = try? page.call("Page.close")
  }
}
