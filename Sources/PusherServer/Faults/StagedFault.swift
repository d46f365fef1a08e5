package import PusherCore

package struct StagedFault: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// Ends the connection without a close frame.
    case drop
    case close(code: UInt16)
    /// Suppresses all output and ignores all input; the connection stays open.
    case blackhole
    /// Delays the answer to a ping, message or frame.
    case latePong(Duration)
    /// Splits a message into two fragments, inside a multi-byte character if there is one.
    case splitUTF8
    /// Pads a message to this size, in bytes.
    case hugeFrame(size: Int)
    /// Removes the last byte of a message.
    case badJSON
    /// Sends a message twice.
    case duplicate
    /// Sends a message after the next one.
    case reorder
    /// Rejects all signatures; authorisation endpoints answer with this status.
    case authFail(status: Int)
  }

  package let kind: Kind
  /// Number of events on a connection before the fault.
  let after: Int
  /// Affected channels; `nil` for all.
  let channel: Glob?
  /// Maximum number of affected connections.
  let connections: Int
  /// Maximum number of repetitions on all connections together.
  let times: Int
  package let description: String

  /// Kind of event that triggers the fault.
  enum Moment {
    case ending
    case message
    case pong
    case signature
  }

  /// - Parameter description: The spelling; see ``init(parsing:)``.
  package init(
    _ kind: Kind, after: Int = 0, channel: Glob? = nil, connections: Int = .max,
    times: Int = .max, description: String
  ) {
    self.kind = kind
    // An ending without events comes at the greeting, which has no channel.
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

package struct StagedFaultError: Error, Equatable, CustomStringConvertible {
  package let description: String
}

// Syntax: `drop:after=3`, `close:code=4100,connections=2`.
extension StagedFault {
  package static let largestMessage = 64 << 20

  /// Parses `KIND` or `KIND:NAME=VALUE,NAME=VALUE…`; throws if a kind, name or value is unknown.
  package init(parsing text: String) throws(StagedFaultError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts.first ?? "")
    guard let known = Self.settings[name] else {
      let kinds = Self.kinds.joined(separator: ", ")
      throw StagedFaultError(description: "unknown fault '\(name)'; the faults are \(kinds)")
    }
    var settings = FaultSettings(name: name, values: [:])
    if parts.count == 2 {
      settings.values = try Self.values(String(parts[1]), of: name, known: known)
    }
    let kind = try Self.kind(name, settings)
    let channel = settings.values["channel"]
    if let problem = channel.flatMap(Glob.problem) {
      throw StagedFaultError(description: "\(name): \(problem)")
    }
    self.init(
      kind, after: try settings.integer("after", 0...1_000_000_000) ?? 0,
      channel: channel.map { Glob($0) },
      connections: try settings.integer("connections", 1...Int.max) ?? .max,
      times: try settings.integer("times", 1...Int.max) ?? .max, description: text)
  }

  package static let kinds = settings.keys.sorted()

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
    case "late-pong": return .latePong(try settings.duration("delay") ?? .seconds(5))
    case "huge-frame":
      return .hugeFrame(size: try settings.integer("size", 1...largestMessage) ?? 16 << 20 + 1)
    case "auth-fail": return .authFail(status: try settings.integer("status", 400...599) ?? 500)
    default:
      let code = UInt16(clamping: try settings.integer("code", 1000...4999) ?? 4200)
      guard CloseCode(rawValue: code).isValidOnWire else {
        throw StagedFaultError(description: "close: code \(code) is not allowed in a close frame")
      }
      return .close(code: code)
    }
  }
}

private struct FaultSettings {
  let name: String
  var values: [String: String]

  func integer(_ key: String, _ range: ClosedRange<Int>) throws(StagedFaultError) -> Int? {
    guard let text = values[key] else { return nil }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(text), range.contains(number)
    else {
      let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
      throw StagedFaultError(
        description: "\(name): \(key) must be a number from \(range.lowerBound)\(most), "
          + "not '\(text)'")
    }
    return number
  }

  /// Parses a time such as `500ms`, `5s` or `2m`, at most one day; the default unit is seconds.
  func duration(_ key: String) throws(StagedFaultError) -> Duration? {
    guard let text = values[key] else { return nil }
    let digits = text.prefix { ("0"..."9").contains($0) }
    let units = ["ms": 1, "": 1000, "s": 1000, "m": 60_000]
    guard let number = Int(digits), number <= 86_400_000,
      let unit = units[String(text.dropFirst(digits.count))], number * unit <= 86_400_000
    else {
      throw StagedFaultError(
        description: "\(name): \(key) must be a time such as 500ms, 5s or 2m, not '\(text)'")
    }
    return .milliseconds(number * unit)
  }
}
