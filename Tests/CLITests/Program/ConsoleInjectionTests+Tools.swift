import PusherCore
import Testing

extension ConsoleInjectionTests {
  @Test func `what was sent, faults and webhooks are shown as text in Tools`() throws {
    try ConsoleSite.visit(complaints: ["status of 400", "status of 413"]) { _, view in
      try view.choose("do")
      try demandNothingRan(view) {
        var numbers = (sent: 0, staged: 0)
        for text in HostileTexts.all {
          let shown = try view.page.evaluate(Self.filling(text))
          let setting = String(text.prefix { $0 != "," })
          for (name, wanted) in [
            ("webhook", text), ("about", setting), ("sent", text), ("staged", text),
          ] {
            // An order that the server refuses shows nothing.
            guard let found = shown[name]?.text else { continue }
            if name == "sent" { numbers.sent += 1 }
            if name == "staged" { numbers.staged += 1 }
            let words = Self.plain(HostileTexts.shown(wanted, atMost: 60))
            #expect(Self.plain(found).contains(words), "\(name), \(text): \(found)")
          }
        }
        #expect(numbers.sent >= 40 && numbers.staged >= 40, "\(numbers)")
      }
    }
  }

  /// Removes white space, which fields change.
  private static func plain(_ text: String) -> String {
    text.filter { !"\r\n\t\r\n␍␊␉ ".contains($0) }
  }

  /// Puts a text wherever the tools show foreign text, and returns what they show.
  private static func filling(_ text: String) -> String {
    """
    (async () => {
      const text = \(JSONValue.string(text).jsonText);
      const at = (id) => document.getElementById(id);
      const body = JSON.stringify({ events: [{ channel: text }] });
      page.webhooks.take({ kind: "webhook", app: "17", event: text, action: text, reason: text, body });
      page.webhooks.refresh();
      at("fault-text").value = "drop:channel=" + text;
      at("fault-text").dispatchEvent(new Event("input"));
      const shown = { webhook: at("webhook-list").textContent, about: at("fault-about").textContent };
      const isStaged = await call("faults", { add: "bad-json:channel=" + text }).then(() => true, () => false);
      if (isStaged) {
        await page.faults.refresh();
        shown.staged = at("fault-list").textContent;
        await call("faults", { clear: true });
      }
      at("send-channel").value = "news";
      at("send-event").value = "e";
      at("send-data").value = text;
      at("send-result").textContent = "";
      at("send").requestSubmit();
      while (at("send-result").textContent === "") await new Promise((resolve) => setTimeout(resolve, 1));
      if (at("send-result").textContent === "Sent.") shown.sent = at("send-history").textContent;
      return shown;
    })()
    """
  }
}
