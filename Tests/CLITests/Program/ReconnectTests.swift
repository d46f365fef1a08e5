import Foundation
import PusherCore
import Testing

@Suite("Reconnecting", .runsPrograms) struct ReconnectTests {
  private static let secret = ["PUSHER_APP_SECRET": "the-secret"]

  @Test func `a server that never was up is not a connection that was lost`() throws {
    // The server is gone, so nothing listens on its port.
    let port = try ScriptedServer { _ in }.port
    let program = try PusherCLI.start(
      ["subscribe", "--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http", "--key", "k"]
        + ["news", "-L", "-o", "pretty", "--reconnect", "always", "--retry-max-delay", "10ms"])
    for _ in 0..<2 {
      let words = try program.errorLine()
      #expect(
        words.hasPrefix("pusher-cli: warning: cannot connect (")
          && words.hasSuffix("; retrying in 10 ms"), "\(words)")
      _ = try program.outputLine(containing: "no connection: ")
    }
    program.send(SIGUSR1)
    let status = try program.errorLine(containing: "bytes queued")
    #expect(
      status.hasPrefix("pusher-cli: connecting, up ") && status.contains(", 0 reconnects, "),
      "\(status)")
  }

  @Test func `after a restart channels are subscribed anew, signed afresh, the gap told`() throws {
    let subscriptions = Record<ScriptedConnection.Subscription>()
    let server = try ScriptedServer { connection in
      try connection.join(2).forEach(subscriptions.add)
      let event = connection.number == 1 ? "before" : "after"
      try connection.send(event: event, channel: "private-a", data: "{}")
      if connection.number == 1 { return connection.drop() }
      try connection.stay()
    }
    let program = try PusherCLI.subscribe(
      to: server, "private-a", "news", "-L", "--retry-max-delay", "200ms",
      environment: Self.secret)
    let lines = try program.lines(9).map { try JSONParser.parse($0) }
    #expect(
      lines.map { $0["event"]?.text } == [
        "pusher:connection_established", "pusher:subscription_succeeded",
        "pusher:subscription_succeeded", "before", "pusher-cli:disconnected",
        "pusher:connection_established", "pusher:subscription_succeeded",
        "pusher:subscription_succeeded", "pusher-cli:gap",
      ])
    #expect(try program.line().contains("after"))
    let gap = lines[8]["data"]
    #expect(gap?["seconds"] != nil && gap?["from"]?.text != nil && gap?["to"]?.text != nil)

    try program.errorLine(containing: "warning: connection lost (")
    let warning = try program.errorLine()
    #expect(
      warning.wholeMatch(of: #/.*warning: back after [\d.]+ m?s; events sent meanwhile .*/#) != nil)

    #expect(
      subscriptions.values.map(\.channel).sorted() == ["news", "news", "private-a", "private-a"])
    let signature = SubscriptionSignature(key: "test-key", secret: "the-secret")
    let expected = ["77.1", "77.2"].map {
      signature.authorize(socketID: $0, channel: "private-a", channelData: nil).auth
    }
    #expect(subscriptions.values.compactMap(\.auth) == expected)
  }

  @Test func `nothing is printed twice and nothing lost around a restart`() throws {
    let server = try ScriptedServer.joined { connection in
      let first = (connection.number - 1) * 500
      for number in first..<first + 500 {
        try connection.send(event: "tick", data: "\(number)")
      }
      if connection.number < 3 { try connection.close(code: 4200) }
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-o", "raw", "-n", "1500", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.outputText == (0..<1500).map { "\($0)\n" }.joined())
    #expect(server.connectionCount == 3)
  }

  @Test func `with --reconnect always the first connection is tried again`() throws {
    let server = try ScriptedServer { connection in
      if connection.number < 3 { throw PeerLeft() }
      try connection.join()
      try connection.send(event: "back", data: "{}")
      try connection.stay()
    }
    try server.subscribed(
      "news", "-n", "1", "--retry-max-delay", "100ms", "--reconnect", "always"
    ).expect()
    #expect(server.connectionCount == 3)
  }

  @Test func `after --max-retries the program ends with 4 and says how often it tried`() throws {
    let server = try ScriptedServer { connection in
      if connection.number == 1 { try connection.join() }
      connection.drop()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "--max-retries", "2", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.ending == .exited(4))
    #expect(result.errorLines.last?.contains("gave up after 2 attempts") == true)
    #expect(server.connectionCount == 3)
  }
}
