import Foundation
import PusherCore
import Testing

extension ConsoleDoTests {
  // MARK: What was sent

  @Test func `an event that was sent is filled in from the history, and sent again`() throws {
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let page = view.page
      try view.choose("do")
      try page.type("news", into: "#send-channel")
      for (event, data) in [("first", "1"), ("second", "2")] {
        try page.type(event, into: "#send-event", replacing: true)
        try page.type(data, into: "#send-data", replacing: true)
        try page.click("#send-go")
        #expect(try subscriber.line().contains(event))
        try view.wait("send-history", shows: event)
      }
      let rows =
        "[...document.querySelectorAll('#send-history .foreign')].map((row) => row.textContent)"
      #expect(try page.evaluate(rows) == ["second  news  2", "first  news  1"])
      try page.click("#send-history li:last-child button")
      #expect(try page.evaluate("document.activeElement.id") == "send-go")
      try page.press("Enter")
      #expect(try subscriber.line() == #"{"event":"first","channel":"news","data":1}"#)
      try page.wait(until: "\(rows)[0] === 'first  news  1'")
      #expect(try page.evaluate("\(rows).length") == 2)
    }
  }

  @Test func `channels and events are completed, also channels from before the page`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      let subscriber = try site.server.subscribe(["early", "news"], "-L")
      try site.trigger("news", "price", "1")
      try view.wait(line: "event", "news", "price")
      // Without its list, the page knows the channels only from the server.
      try page.open(site.address)
      try view.wait(state: "connected")
      try view.choose("do")
      let offered = { (list: String) in
        "[...document.getElementById('\(list)').options].map((option) => option.value)"
      }
      try page.click("#send-channel")
      try page.wait(until: "\(offered("known-channels")).includes('early')")
      try site.trigger("news", "price", "2")
      // The list is made when the field gets the focus, perhaps before the event is there.
      try page.wait(
        until: """
          (document.getElementById("send-event").dispatchEvent(new Event("focus")),
            \(offered("known-events")).includes("price"))
          """)
      _ = subscriber
    }
  }

  // MARK: Faults

  @Test func `a fault says what it will do, and counts down to its end`() throws {
    try ConsoleSite.visit { site, view in
      let subscriber = try site.server.subscribe(["news"], "-L")
      let page = view.page
      try view.choose("do")
      try page.type("duplicate:times=2", into: "#fault-text", replacing: true)
      try view.wait("fault-about", shows: "Sends each event twice.")
      try page.press("Enter")
      try view.wait("fault-list", shows: "Sends each event twice.")
      for (event, words) in [
        (nil, "Ends by itself: 2 times left."), ("one", "Ends by itself: 1 time left."),
        ("two", "Has ended."),
      ] {
        if let event {
          try site.trigger("news", event)
          #expect(try subscriber.line() == subscriber.line())
        }
        try view.wait("fault-list", shows: words)
      }
      try page.type("drop:after=1000", into: "#fault-text", replacing: true)
      try page.press("Enter")
      try view.wait("fault-list", shows: "after 1,000 events.Stays until you remove it.")
    }
  }

  // MARK: Webhooks

  @Test func `a webhook of the list is sent again, and its result is shown there`() throws {
    let receiver = try WebhookPair()
    try ConsoleSite.visit("--webhook", receiver.url) { site, view in
      try view.choose("do")
      try view.wait("webhook-empty", shows: "No webhooks yet. Subscribe to a channel:")
      let subscriber = try site.server.subscribe(["news"], "-L")
      let first = try receiver.line()
      try view.wait("webhook-list", shows: "channel_occupied  newssent, status 200")
      try view.page.click("#webhook-list button")
      // The receiver prints only webhooks with valid signatures.
      #expect(try receiver.line() == first)
      try view.wait("webhook-result", shows: "channel_occupied  sent, status 200.")
      #expect(try view.page.evaluate("document.querySelectorAll('#webhook-list li').length") == 1)
      _ = subscriber
    }
  }

  @Test func `a server without receivers says how to start one that has`() throws {
    try ConsoleSite.visit { _, view in
      try view.choose("do")
      try view.wait("webhook-empty", shows: "pusher-cli serve --webhook http://127.0.0.1:8000/hook")
    }
  }

  // MARK: Connect

  @Test func `the lines that connect an app are chosen and copied, without the secret`() throws {
    try ConsoleSite.visit { site, view in
      let page = view.page
      try view.choose("do")
      try view.wait("connect-text", shows: "wsPort: \(site.server.port)")
      try view.wait("connect-note", shows: "PUSHER_APP_SECRET is the secret of app '17'")
      let names = try page.evaluate(
        "[...document.getElementById('connect-library').options].map((option) => option.value)")
      let told = try site.ask("/snippets?app=17&url=http://\(site.place)").body["snippets"]
      let snippets = try #require(told?.elements)
      #expect(names.elements == snippets.compactMap { $0["name"] })
      for snippet in snippets {
        let (name, text) = (snippet["name"]?.jsonText ?? "", snippet["text"]?.text ?? "")
        try page.evaluate(
          "(() => { const field = document.getElementById('connect-library'); field.value = \(name); field.dispatchEvent(new Event('change')) })()"
        )
        #expect(try view.text("connect-text") == text)
        try page.evaluate("navigator.clipboard.writeText('nothing')")
        try page.click("#connect-go")
        try view.wait("connect-result", shows: "Copied.")
        #expect(try page.clipboard() == text)
      }
      #expect(
        try page.evaluate("document.documentElement.outerHTML.includes('local-secret')") == false)
    }
  }
}
