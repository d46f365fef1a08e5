import Foundation
import PusherCore
import Testing

extension ConsoleInjectionTests {
  private static var texts: JSONValue { .array(HostileTexts.all.map { .string($0) }) }

  /// Returns all lines that match the filters, after waiting for them.
  private func allLines(_ view: ConsoleView) throws -> String {
    try view.page.setViewport(width: 1280, height: 4000)
    try view.page.wait(
      until: """
        document.querySelectorAll("#rows .row:not([hidden])").length
          === Number(document.getElementById("matches").textContent.split(" ")[0])
        """)
    return try view.lines().map { $0.joined(separator: "\n") }.joined(separator: "\n")
  }

  @Test func `names and data of events are shown as text`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { site, view in
      try demandNothingRan(view) {
        try view.page.click("[data-kind=event]")
        let taken = try view.page.evaluate(
          """
          (async () => {
            const taken = [];
            for (const text of \(Self.texts.jsonText)) {
              await call("trigger", { app: "17", channel: "news", event: text, data: text })
                .then(() => taken.push(text), () => 0);
            }
            return taken;
          })()
          """)
        let texts = taken.elements?.compactMap(\.text) ?? []
        #expect(texts.count >= 40)
        try view.wait("matches", shows: "\(texts.count) of")
        let lines = try allLines(view)
        for text in texts { #expect(lines.contains(HostileTexts.shown(text)), "\(text)") }
        try view.choose("do")
        // Name fields offer suggestions.
        try view.page.click("#send-event")
        try view.page.click("#send-channel")
      }
    }
  }

  /// Joins a presence channel once per text, with the text as user and info, and tries everything
  /// that is refused.
  private static let clients = """
    (async () => {
      const joined = [];
      window.sockets = [];
      for (const text of TEXTS) {
        const socket = new WebSocket(`ws://${location.host}/app/local-key?protocol=7`);
        sockets.push(socket);
        const next = () => new Promise((resolve) => {
          socket.onmessage = ({ data }) => resolve(JSON.parse(data));
        });
        const send = (event, data) => socket.send(JSON.stringify({ event, data }));
        const greeting = await next();
        const socket_id = JSON.parse(greeting.data).socket_id;
        const channel_data = JSON.stringify({ user_id: text, user_info: { name: text, [text]: text } });
        const { auth } = await call("sign", { app: "17", socket_id, channel: "presence-room", channel_data });
        send("pusher:subscribe", { channel: "presence-room", auth, channel_data });
        const answer = await next();
        if (answer.event === "pusher_internal:subscription_succeeded") joined.push(text);
        socket.onmessage = null;
        send("pusher:subscribe", { channel: text });
        send("pusher:subscribe", { channel: "private-" + text, auth: text });
        send(text, text);
      }
      return joined;
    })()
    """

  @Test func `users, their info, and what they are refused, are shown as text`() throws {
    try ConsoleSite.visit { site, view in
      try demandNothingRan(view) {
        let script = Self.clients.replacingOccurrences(of: "TEXTS", with: Self.texts.jsonText)
        let joined = try view.page.evaluate(script).elements?.compactMap(\.text) ?? []
        #expect(joined.count >= 40)
        try view.page.click("[data-kind=member]")
        try view.wait("matches", shows: "\(joined.count) of")
        let lines = try allLines(view)
        for text in joined { #expect(lines.contains(HostileTexts.shown(text)), "\(text)") }
        try view.choose("where")
        // Some of the texts are valid channel names.
        try view.page.type("presence-room", into: "#where-filter")
        try view.page.wait(until: "document.querySelectorAll('#channel-rows button').length === 1")
        try view.page.click("#channel-rows button")
        try view.page.wait(
          until: "document.querySelectorAll('#channel-members > li').length === \(joined.count)")
        let members = try view.text("channel-members")
        try view.page.type("", into: "#where-filter", replacing: true)
        try view.page.click("#where-connections")
        try view.page.wait(
          until:
            "document.querySelectorAll('#connection-rows tr').length === \(HostileTexts.all.count)")
        for text in joined { #expect(members.contains(HostileTexts.shown(text)), "\(text)") }
        // The confirmation dialog names the user.
        let asked =
          try view.page.evaluate(
            """
            [...document.querySelectorAll("#channel-members [data-terminate]")].map((button) => {
              button.click();
              const text = document.getElementById("ask").textContent;
              document.getElementById("ask-no").click();
              return text;
            }).join("\\n")
            """
          ).text ?? ""
        for text in joined {
          #expect(asked.contains("Close all connections of \(HostileTexts.shown(text))"), "\(text)")
        }
      }
    }
  }

  @Test func `paths of requests that were refused are shown as text`() throws {
    try ConsoleSite.visit { site, view in
      try demandNothingRan(view) {
        let sent = HostileTexts.all.filter { text in
          text.utf8.count < 2000 && !text.hasPrefix("?")
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        let targets = sent.flatMap {
          [
            "--next", "-s", "--request-target", "/apps/17/channels/\($0)/users?socket_id=\($0)",
            "http://\(site.place)/",
          ]
        }
        _ = try PusherCLI.tool(["curl"] + targets.dropFirst())
        try view.page.click("[data-kind=request]")
        try view.wait("matches", shows: "\(sent.count) of")
        let lines = try allLines(view)
        // A query is not part of the path.
        for text in sent {
          #expect(lines.contains(text.prefix(100).prefix { $0 != "?" }), "\(text)")
        }
      }
    }
  }

  // MARK: Pasted text

  @Test func `lines to be replayed, and what is to be checked, are shown as text`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { site, view in
      try demandNothingRan(view) {
        let lines = HostileTexts.all.flatMap { text in
          let quoted = JSONValue.string(text).jsonText
          return [
            text, "{\(quoted):1}", #"{"event":\#(quoted),"channel":\#(quoted),"data":\#(quoted)}"#,
            #" {"event":{"toString":1},"channel":\#(quoted)}"#,
            #"{"event":"e","channel":{"\#("toString")":1}}"#,
          ]
        }
        let pasted = JSONValue.string(lines.joined(separator: "\n")).jsonText
        try view.choose("do")
        try view.page.evaluate(
          """
          (() => {
            const field = document.getElementById("replay-lines");
            field.value = \(pasted);
            field.dispatchEvent(new Event("input"));
          })()
          """)
        try view.wait("replay-count", shows: "cannot be sent: not JSON")
        try view.page.click("#replay-once")
        try view.page.click("#replay-start")
        try view.wait("replay-result", shows: "failed")
        try view.choose("check")
        for text in HostileTexts.all {
          let shown = try view.page.evaluate(Self.checking(text)).text ?? ""
          let wanted = HostileTexts.shown(text, atMost: 60)
          #expect(Self.joined(shown).contains(Self.joined(wanted)), "\(text): \(shown)")
        }
      }
    }
  }

  /// Removes line ends and tabs.
  ///
  /// Fields and the string to sign keep them.
  private static func joined(_ text: String) -> String {
    text.filter { !"\r\n\t\r\n␍␊␉ ".contains($0) }
  }

  /// Checks a signature whose fields all contain a text, and returns the page's result.
  private static func checking(_ text: String) -> String {
    """
    (async () => {
      const at = (id) => document.getElementById(id);
      for (const name of ["key", "socket-id", "channel", "channel-data", "auth"]) at("check-" + name).value = \(JSONValue.string(text).jsonText);
      for (const name of ["key", "socket-id", "channel", "auth"]) at("check-" + name).value ||= "x";
      at("check-result").textContent = "";
      at("check-form").noValidate = true;
      at("check-form").requestSubmit();
      while (at("check-result").textContent === "") await new Promise((resolve) => setTimeout(resolve, 1));
      return at("check-form").textContent;
    })()
    """
  }
}
