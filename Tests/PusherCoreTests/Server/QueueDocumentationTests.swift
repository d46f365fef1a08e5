import Foundation
import PusherCluster
import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/security.md lists every buffer and collection that grows while the program runs.
///
/// It gives limits for those that a peer can fill, and names the others. The tests compare the page
/// with the sources.
@Suite("Queues that a peer can fill")
struct QueueDocumentationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Rooms whose state lives at least as long as a connection.
  private static let rooms = [
    "PusherServer", "PusherConsole", "PusherCluster", "PusherCore/WebSocket",
    "PusherCore/EventStream",
    "PusherCore/Channels",
    "PusherCore/Transport", "PusherCore/Feed", "PusherCore/Signing", "PusherCore/Face",
    "PusherCore/TLS", "PusherCore/HTTP",
    "PusherCore/Compression", "PusherCore/API", "PusherCore/JSON", "pusher-cli/Lines",
    "pusher-cli/Metrics",
    "pusher-cli/Run", "pusher-cli/Bench", "pusher-cli/Commands",
  ]

  private static func page() throws -> String {
    try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
  }

  private static func section(_ title: String) throws -> [Substring] {
    let lines = try page().split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == title }, "no section '\(title)'")
    let level = title.prefix { $0 == "#" } + " "
    return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(level) })
  }

  private static func quoted(_ text: some StringProtocol) -> [String] {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  private static func rows() throws -> [[Substring]] {
    let lines = try section("## Queues that a peer can fill").filter {
      $0.hasPrefix("| ") && !$0.hasPrefix("| queue |")
    }
    return lines.map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
        $0.trimmingPrefix { $0 == " " }
      }
    }
  }

  private static func others() throws -> [String] {
    quoted(try section("### Collections that no peer can fill").joined(separator: "\n"))
  }

  /// Returns `Type.property` for every growing property in the sources of the rooms.
  private static func growing() throws -> [String] {
    try rooms.flatMap { room in
      let folder = root.appending(path: "Sources/\(room)")
      let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
      return try files.filter { $0.hasSuffix(".swift") }.flatMap { file in
        GrowingProperties.of(
          try String(contentsOf: folder.appending(path: file), encoding: .utf8))
      }
    }
  }

  @Test func `everything that grows is on the page`() throws {
    let known = Set(try Self.rows().flatMap { Self.quoted($0[1]) } + Self.others())
    let growing = try Self.growing()
    #expect(growing.count > 100)
    for name in growing {
      #expect(
        known.contains(name),
        "\(name) is not in docs/security.md: list it with its limit, or among those that no peer can fill"
      )
    }
  }

  @Test func `the page names nothing that the sources have not, and nothing twice`() throws {
    let growing = Set(try Self.growing())
    let named = try Self.rows().flatMap { Self.quoted($0[1]) } + Self.others()
    for name in named { #expect(growing.contains(name), "\(name) is not in the sources") }
    #expect(named.count == Set(named).count)
  }

  @Test func `every row says its limit and what happens there`() throws {
    for row in try Self.rows() {
      #expect(row.count == 4, "\(row)")
      #expect(row.allSatisfy { $0.contains { $0 != " " } }, "\(row)")
    }
  }

  private static let limits: [String: Int] = {
    let server = ServerLimits()
    let heads = HTTPHeadLimits()
    let sockets = WebSocketLimits()
    let webhooks = WebhookPolicy()
    var limits = [
      "ServerLimits.connections": server.connections, "ServerLimits.callers": server.callers,
      "ServerLimits.sizes.apiBody": server.sizes.apiBody,
      "ServerLimits.sizes.clientMessage": server.sizes.clientMessage,
      "ServerLimits.sizes.outputQueue": server.sizes.outputQueue,
      "ServerLimits.sizes.allOutput": server.sizes.allOutput,
      "ServerLimits.subscriptions": server.subscriptions,
      "ServerLimits.channels": server.channels,
      "ServerLimits.channelsPerAddress": server.channelsPerAddress,
      "ServerLimits.joinsPerSecond": server.joinsPerSecond,
      "ServerLimits.presenceMembers": server.presenceMembers,
      "ServerLimits.watchlist": server.watchlist, "ServerLimits.cachedEvents": server.cachedEvents,
      "ServerLimits.clientEventsPerSecond": server.clientEventsPerSecond ?? 0,
      "WebhookPolicy.queue": webhooks.queue, "WebhookPolicy.queuedBytes": webhooks.queuedBytes,
      "DelayedNotices.limit": DelayedNotices.limit, "RefusalReport.limit": RefusalReport.limit,
      "WebhookReceiver.connectionLimit": WebhookReceiver.connectionLimit,
      "MonitoringEndpoint.connectionLimit": MonitoringEndpoint.connectionLimit,
      "ServerFeed.queueLimit": ServerFeed.queueLimit,
      "ServerFeed.readerLimit": ServerFeed.readerLimit,
      "EntryHistory.byteLimit": EntryHistory.byteLimit,
      "RecordingReader.lineLimit": RecordingReader.lineLimit,
      "RecordingReader.linesSize": RecordingReader.linesSize,
      "WebhookReceiver.bodyLimit": WebhookReceiver.bodyLimit,
      "HTTPHeadLimits.bytes": heads.bytes, "HTTPHeadLimits.headers": heads.headers,
      "WebSocketLimits.message": sockets.message,
      "SigningQueue.width": SigningQueue.width,
      "PusherChannel.clientEventLimit": PusherChannel.clientEventLimit,
      "RedirectTrail.limit": RedirectTrail.limit,
    ]
    do {
      let redis = RedisPolicy()
      limits["RedisPolicy.queuedBytes"] = redis.queuedBytes
      limits["RedisPolicy.outstanding"] = redis.outstanding
      limits["RedisReader.Limits.bytes"] = redis.replies.bytes
      limits["RedisReader.Limits.elements"] = redis.replies.elements
    }
    return limits
  }()

  @Test func `a limit that the page names by its place in the code has that value`() throws {
    var checked: Set<String> = []
    for row in try Self.rows() {
      let parts = row[2].split(separator: "`", omittingEmptySubsequences: false)
      for (index, name) in parts.enumerated() where index % 2 == 1 && name.contains(".") {
        guard let value = Self.limits[String(name)] else {
          Issue.record("\(name) is not known here")
          continue
        }
        #expect(
          parts[index - 1].hasSuffix("\(Self.shown(value)) ("), "\(name) is \(Self.shown(value))")
        checked.insert(String(name))
      }
    }
    #expect(checked == Set(Self.limits.keys))
  }

  private static func shown(_ value: Int) -> String {
    for (unit, size) in [("MiB", 1 << 20), ("KiB", 1024)] where value >= size && value % size == 0 {
      return "\(value / size) \(unit)"
    }
    return value.formatted(.number.locale(Locale(identifier: "en_US")))
  }
}

/// Finds stored properties that can grow: a type's buffers, and mutable arrays, sets and
/// dictionaries.
enum GrowingProperties {
  private static let typeWords: Set<Substring> = [
    "class", "struct", "enum", "extension", "actor", "protocol",
  ]
  private static let modifiers: Set<Substring> = [
    "public", "package", "private", "fileprivate", "internal", "unowned", "weak", "lazy", "final",
    "unsafe", "indirect", "nonisolated", "private(set)", "package(set)", "fileprivate(set)",
    "nonisolated(unsafe)",
  ]

  /// Returns `Type.property` in source order, without static properties.
  static func of(_ source: String) -> [String] {
    var scopes: [String?] = []
    var names: [String] = []
    for line in source.split(separator: "\n") {
      let code = withoutTexts(line)
      let words = code.split(separator: " ").drop { modifiers.contains($0) || $0.hasPrefix("@") }
      let opened = code.count { $0 == "{" } - code.count { $0 == "}" }
      if let type = scopes.last ?? nil, let property = property(in: words, code) {
        names.append("\(type).\(property)")
      }
      if opened > 0 {
        let isType = words.first.map(typeWords.contains) ?? false
        let name = isType ? words.dropFirst().first.map(typeName) : nil
        scopes += [name] + Array(repeating: nil, count: opened - 1)
      } else {
        scopes.removeLast(min(-opened, scopes.count))
      }
    }
    return names
  }

  private static func typeName(_ word: Substring) -> String {
    let name = word.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
    return String(name.split(separator: ".").last ?? name)
  }

  private static func property(in words: ArraySlice<Substring>, _ code: String) -> String? {
    guard let kind = words.first, kind == "var" || kind == "let", !code.contains("static "),
      let word = words.dropFirst().first
    else { return nil }
    let rest = code[(code.range(of: "\(kind) \(word)")?.upperBound ?? code.startIndex)...]
    let declared = (word.hasSuffix(":") ? ":" : "") + rest.prefix { $0 != "{" }
    // A property with an initial value is stored, even if an observer follows.
    guard declared.contains(" = ") || !rest.contains("{") else { return nil }
    let makesBuffer = declared.contains("ByteBuffer(")
    let isTable =
      [
        "[", "Set<", "OrderedTable", "NameTable", "NameSet", "ByteBuffer", "Fifo<", "LaneQueue<",
        "Deliveries<",
      ].contains { declared.contains($0) }
    guard makesBuffer || kind == "var" && isTable else { return nil }
    return String(word.prefix { $0 != ":" })
  }

  /// Returns a line of code without string contents and comments.
  private static func withoutTexts(_ line: Substring) -> String {
    var code = ""
    var isInside = false
    var previous: Character = " "
    for character in line {
      if character == "\"", previous != "\\" { isInside.toggle() }
      if !isInside, character == "/", previous == "/" { return String(code.dropLast()) }
      if !isInside { code.append(character) }
      previous = character
    }
    return code
  }
}

@Suite("The finder of what grows")
struct GrowingPropertiesTests {
  @Test func `buffers, arrays, sets and tables are found in their types`() {
    let source = """
      /// A [comment] { with a brace
      final class Link {
        private let input = ByteBuffer(capacity: 4)
        var waiting: [Int] = []
        private(set) var table = OrderedTable<Int>()
        var names: Set<String>
        var queue = Fifo<Int>()
        var early: ByteBuffer?
        var channels: [String: Int] = [:] {
          didSet { act() }
        }
        struct Entry {
          var parts: [Part] = []
        }
        static var shared: [Int] = []
        let fixed: [Int] = []
        let given: ByteBuffer
        var computed: [Int] { waiting }
        var text = "a { [b] \\" c"
        func act() {
          var local: [Int] = []
        }
        var last: [Int]
      }
      extension Outer.Inner {
        var more: [Int] { [] }
      }
      """
    #expect(
      GrowingProperties.of(source) == [
        "Link.input", "Link.waiting", "Link.table", "Link.names", "Link.queue", "Link.early",
        "Link.channels",
        "Entry.parts", "Link.last",
      ])
  }
}
