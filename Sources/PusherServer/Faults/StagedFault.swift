package import PusherCore

/// A fault that the server stages, to test apps.
package struct StagedFault: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// The connection ends without a close frame.
    case drop
    /// The connection is closed with this code.
    case close(code: UInt16)
    /// Nothing goes out any more and nothing that comes is read; the connection stays.
    case blackhole
    /// A ping is answered late, be it a message or a frame.
    case latePong(delay: Duration)
    /// A message comes in two fragments, cut inside a character if it has one of several bytes.
    case splitUTF8
    /// A message is made as long as this many bytes.
    case hugeFrame(size: Int)
    /// A message lacks its last byte.
    case badJSON
    /// A message comes twice.
    case duplicate
    /// A message comes after the next one.
    case reorder
    /// No signature is accepted, and authorization endpoints answer with this status.
    case authFail(status: Int)
  }

  package let kind: Kind
  /// How many events of a connection pass before it happens.
  let after: Int
  /// The channels it happens on; `nil` for all.
  let channel: Glob?
  /// How many connections it happens to.
  let connections: Int
  /// How often it happens, on all connections together.
  let times: Int
  /// The fault as it was spelled.
  package let description: String

  /// What it happens to.
  enum Moment {
    /// The connection ends.
    case ending
    /// A message of a channel changes.
    case message
    case pong
    case signature
  }

  /// - Parameter description: How it is spelled; see ``init(parsing:)``.
  package init(
    _ kind: Kind, after: Int = 0, channel: Glob? = nil, connections: Int = .max,
    times: Int = .max, description: String
  ) {
    self.kind = kind
    // The greeting, at which an ending without events happens, is on no channel.
    self.after = kind.moment == .ending && channel != nil ? max(after, 1) : after
    self.channel = channel
    self.connections = connections
    self.times = times
    self.description = description
  }

  var moment: Moment { kind.moment }

  func concerns(_ name: String) -> Bool { channel?.matches(name) ?? true }
}

extension StagedFault.Kind {
  fileprivate var moment: StagedFault.Moment {
    switch self {
    case .drop, .close, .blackhole: .ending
    case .splitUTF8, .hugeFrame, .badJSON, .duplicate, .reorder: .message
    case .latePong: .pong
    case .authFail: .signature
    }
  }
}

/// Why a text is not a fault.
package struct StagedFaultError: Error, Equatable, CustomStringConvertible {
  package let description: String
}

// The syntax: `drop:after=3`, `close:code=4100,connections=2`.
extension StagedFault {
  /// The longest message that can be staged.
  private static let largestMessage = 64 << 20

  /// Reads `KIND` or `KIND:NAME=VALUE,NAME=VALUE…`; throws for a kind, a name or a value that is not known.
  package init(parsing text: String) throws(StagedFaultError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts.first ?? "")
    guard let known = Self.settings[name] else {
      let kinds = Self.kinds.joined(separator: ", ")
      throw StagedFaultError(description: "'\(name)' is not a fault; there are \(kinds)")
    }
    var settings = FaultSettings(name: name, values: [:])
    if parts.count == 2 {
      settings.values = try Self.values(String(parts[1]), of: name, known: known)
    }
    let kind = try Self.kind(name, settings)
    let channel = settings.values["channel"].map { Glob($0) }
    self.init(
      kind, after: try settings.integer("after", 0...1_000_000_000) ?? 0, channel: channel,
      connections: try settings.integer("connections", 1...Int.max) ?? .max,
      times: try settings.integer("times", 1...Int.max) ?? .max, description: text)
  }

  /// The kinds, as they are written.
  package static let kinds = settings.keys.sorted()

  /// The names that each kind takes.
  private static let settings: [String: Set<String>] = {
    let message: Set = ["after", "channel", "connections", "times"]
    return [
      "drop": message, "close": message.union(["code"]), "blackhole": message,
      "storm": ["connections", "times"], "late-pong": ["delay", "after", "connections", "times"],
      "split-utf8": message, "huge-frame": message.union(["size"]), "bad-json": message,
      "duplicate": message, "reorder": message,
      "auth-fail": ["status", "channel", "connections", "times"],
    ]
  }()

  private static func values(
    _ text: String, of kind: String, known: Set<String>
  ) throws(StagedFaultError) -> [String: String] {
    var values: [String: String] = [:]
    for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(sides.first ?? "")
      guard known.contains(name) else {
        let names = known.sorted().joined(separator: ", ")
        throw StagedFaultError(description: "\(kind) takes no '\(name)', only \(names)")
      }
      guard sides.count == 2, !sides[1].isEmpty else {
        throw StagedFaultError(description: "\(kind): \(name) has no value")
      }
      guard values.updateValue(String(sides[1]), forKey: name) == nil else {
        throw StagedFaultError(description: "\(kind): \(name) is given twice")
      }
    }
    return values
  }

  private static func kind(
    _ name: String, _ settings: FaultSettings
  ) throws(StagedFaultError) -> Kind {
    switch name {
    case "drop": return .drop
    case "blackhole": return .blackhole
    case "storm": return .close(code: 4200)
    case "split-utf8": return .splitUTF8
    case "bad-json": return .badJSON
    case "duplicate": return .duplicate
    case "reorder": return .reorder
    case "late-pong": return .latePong(delay: try settings.duration("delay") ?? .seconds(5))
    case "huge-frame":
      return .hugeFrame(size: try settings.integer("size", 1...largestMessage) ?? 16 << 20 + 1)
    case "auth-fail": return .authFail(status: try settings.integer("status", 400...599) ?? 500)
    default:
      let code = UInt16(clamping: try settings.integer("code", 1000...4999) ?? 4200)
      guard CloseCode(rawValue: code).isValidOnWire else {
        throw StagedFaultError(description: "close: code \(code) may not stand in a close frame")
      }
      return .close(code: code)
    }
  }
}

/// The values of one fault, by name.
private struct FaultSettings {
  let name: String
  var values: [String: String]

  func integer(_ key: String, _ range: ClosedRange<Int>) throws(StagedFaultError) -> Int? {
    guard let text = values[key] else { return nil }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(text), range.contains(number)
    else {
      let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
      throw StagedFaultError(
        description: "\(name): \(key) is a number from \(range.lowerBound)\(most), not '\(text)'")
    }
    return number
  }

  /// A time such as `500ms`, `5s` or `2m`, at most a day; a bare number is seconds.
  func duration(_ key: String) throws(StagedFaultError) -> Duration? {
    guard let text = values[key] else { return nil }
    let digits = text.prefix { ("0"..."9").contains($0) }
    let units = ["ms": 1, "": 1000, "s": 1000, "m": 60_000]
    guard let number = Int(digits), number <= 86_400_000,
      let unit = units[String(text.dropFirst(digits.count))], number * unit <= 86_400_000
    else {
      throw StagedFaultError(
        description: "\(name): \(key) is a time such as 500ms, 5s or 2m, not '\(text)'")
    }
    return .milliseconds(number * unit)
  }
}
