import InMemoryLogging
import Logging
import PusherCore
import PusherIntegrations
import PusherTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Messages of a client in swift-log` {
  private static func logger(
    _ level: Logger.Level, to handler: InMemoryLogHandler
  ) -> Logger {
    var logger = Logger(label: "test") { _ in handler }
    logger.logLevel = level
    return logger
  }

  @Test(arguments: PusherLogLevel.allCases)
  func `every level is written as the level of the same name`(level: PusherLogLevel) {
    let handler = InMemoryLogHandler()
    SwiftLog(logger: Self.logger(.trace, to: handler)).log(level) { "a message" }
    #expect(handler.entries.map(\.level.rawValue) == [level.rawValue])
    #expect(handler.entries.map(\.message) == ["a message"])
  }

  @Test func `the text of a disabled level is not made`() {
    let handler = InMemoryLogHandler()
    var count = 0
    let log = SwiftLog(logger: Self.logger(.warning, to: handler))
    for level in PusherLogLevel.allCases {
      log.log(level) {
        count += 1
        return level.rawValue
      }
    }
    #expect(count == 2)
    #expect(handler.entries.map(\.message) == ["warning", "error"])
  }

  @Test func `a subscription is logged with its levels, and without secret and signature`()
    async throws
  {
    let handler = InMemoryLogHandler()
    let server = try await PusherTestServer(secret: "the-secret-of-the-app")
    var options = server.clientOptions()
    options.logger = SwiftLog(logger: Self.logger(.trace, to: handler))
    let pusher = Pusher(key: server.key, options: options)
    let orders = pusher.subscribe("private-orders")
    pusher.connect()
    try await orders.subscribed(within: patience)
    await server.dropConnections()
    try await eventually("no warning") { handler.entries.contains { $0.level == .warning } }

    let entries = handler.entries
    #expect(
      entries.contains { $0.level == .info && "\($0.message)".hasPrefix("connected as socket") })
    let sent = entries.filter { "\($0.message)".hasPrefix("sent: ") }
    #expect(sent.contains { "\($0.message)".contains("private-orders") })
    #expect(sent.allSatisfy { $0.level == .trace })
    let greeting = try #require(
      entries.map { "\($0.message)" }.first { $0.hasPrefix("connected as socket ") })
    let socketID = greeting.split(separator: " ")[3]
    let auth = try server.api.authorizeChannel("private-orders", socketID: String(socketID)).auth
    let signature = try #require(auth.split(separator: ":").last)
    for entry in entries {
      #expect(!"\(entry.message)".contains(server.secret))
      #expect(!"\(entry.message)".contains(signature))
    }
  }
}
