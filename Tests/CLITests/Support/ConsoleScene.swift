import PusherCore

/// A server with clients, events and faults of a developer's day, for checks of the page's look.
struct ConsoleScene {
  static let views = ["live", "where", "do", "check"]

  let site: ConsoleSite
  let view: ConsoleView
  private let clients: [ChildProgram]
  private let receiver: ConsoleWebhooks

  init() throws {
    receiver = try ConsoleWebhooks()
    let site = try ConsoleSite(["--webhook", receiver.url])
    self.site = site
    view = try ConsoleView(site)
    clients = try ["ada", "grace", "linus"].map { try Self.client($0, of: site) }
    try sendEvents()
    let refused = try site.server.trigger("orders", "order.paid", "1", secret: "wrong")
    guard refused.ending != .exited(0) else { throw Unexpected("a wrong secret was taken") }
    _ = try site.ask("/faults", ["add": "drop:after=500,channel=orders"])
    try view.page.wait(
      until: "document.querySelector('[data-kind=request] .number').textContent === '1'")
  }

  private static func client(_ user: String, of site: ConsoleSite) throws -> ChildProgram {
    let program = try site.program(
      ["subscribe"], "presence-lobby", "orders", "cache-prices", "private-chat-7", "-L",
      "--sign-in", "--stdin", "--user-id", user,
      "--user-info", #"{"name":"\#(user.capitalized)","role":"editor"}"#, input: .pipe)
    // Greeting, sign-in, the user's channel and the four channels.
    _ = try program.lines(7)
    return program
  }

  private func sendEvents() throws {
    let chat = #"{"event":"client-typing","channel":"private-chat-7","data":{"user":"ada"}}"#
    clients[0].write(Array(chat.utf8 + [10]))
    for number in 1...12 {
      let order =
        #"{"id":\#(4200 + number),"total":\#(number * 7).90,"items":[{"sku":"A-\#(number)","count":2}],"paid":true}"#
      try send("orders", number.isMultiple(of: 3) ? "order.shipped" : "order.created", order)
      if number.isMultiple(of: 4) {
        try send("cache-prices", "price", #"{"eur":\#(number).25,"usd":\#(number).61}"#)
        try send(
          "presence-lobby", "message", #"{"from":"ada","text":"Is 42\#(number) on its way?"}"#)
      }
    }
    try view.wait(line: "event", "orders", "order.shipped", "4212")
  }

  private func send(_ channel: String, _ event: String, _ data: String) throws {
    let order: JSONValue = [
      "app": "17", "channel": .string(channel), "event": .string(event), "data": .string(data),
    ]
    guard try site.ask("/trigger", order).status == 200 else {
      throw Unexpected("no event was sent")
    }
  }

  func show(_ name: String) throws {
    try view.choose(name)
    switch name {
    case "live":
      if try view.page.evaluate("document.getElementById('detail').hidden") == true {
        try view.open(line: "4212")
      }
    case "where":
      try view.page.wait(until: "document.querySelectorAll('#channel-rows button').length > 3")
      if try view.page.evaluate("document.getElementById('channel').hidden") == true {
        try view.page.evaluate(
          "[...document.querySelectorAll('#channel-rows button')].find((one) => one.textContent === 'presence-lobby').click()"
        )
        try view.page.wait(until: "document.querySelectorAll('#channel-members > li').length === 3")
      }
    case "do": try view.page.wait(until: "document.querySelectorAll('#fault-list li').length === 1")
    default: break
    }
  }
}
