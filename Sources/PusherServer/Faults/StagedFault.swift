package import PusherCore
internal import Synchronization

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
    case hugeFrame(size: Int)
    case badJSON
    case duplicate
    case reorder
    /// Rejects all signatures; authorisation endpoints answer with this status.
    case authFail(status: Int)
    /// Drops the kept events of a channel that a client of protocol V2 resumes.
    case expireWindow
    /// Begins a new stream for such a channel.
    case resetStream
  }

  package let kind: Kind
  /// Number of events on a connection before the fault.
  let after: Int
  /// Affected channels; `nil` for all.
  let channel: Glob?
  let connections: Int
  let times: Int
  package let description: String

  enum Moment {
    case ending
    case message
    case pong
    case signature
    case resume
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
    case .expireWindow, .resetStream: .resume
    }
  }
}

// Syntax: `drop:after=3`, `close:code=4100,connections=2`.
extension StagedFault {
  package static let largestMessage = 64 << 20

  /// Parses `KIND` or `KIND:NAME=VALUE,NAME=VALUE…`; throws if a kind, name or value is unknown.
  package init(parsing text: String) throws(ExplainedError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts.first ?? "")
    guard let known = Self.settings[name] else {
      let kinds = Self.kinds.joined(separator: ", ")
      throw ExplainedError("unknown fault '\(name)'; the faults are \(kinds)")
    }
    var settings = FaultSettings(name: name, values: [:])
    if parts.count == 2 {
      settings.values = try Self.values(String(parts[1]), of: name, known: known)
    }
    let kind = try Self.kind(name, settings)
    let channel = settings.values["channel"]
    if let problem = channel.flatMap(Glob.problem) {
      throw ExplainedError("\(name): \(problem)")
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
      "expire-window": ["channel", "connections", "times"],
      "reset-stream": ["channel", "connections", "times"],
    ]
  }()

  private static func values(
    _ text: String, of kind: String, known: Set<String>
  ) throws(ExplainedError) -> [String: String] {
    var values: [String: String] = [:]
    for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(sides.first ?? "")
      guard known.contains(name) else {
        let names = known.sorted().joined(separator: ", ")
        throw ExplainedError("\(kind) takes no '\(name)', only \(names)")
      }
      guard sides.count == 2, !sides[1].isEmpty else {
        throw ExplainedError("\(kind): \(name) has no value")
      }
      guard values.updateValue(String(sides[1]), forKey: name) == nil else {
        throw ExplainedError("\(kind): \(name) is given twice")
      }
    }
    return values
  }

  private static func kind(
    _ name: String, _ settings: FaultSettings
  ) throws(ExplainedError) -> Kind {
    switch name {
    case "drop": return .drop
    case "blackhole": return .blackhole
    case "storm": return .close(code: 4200)
    case "split-utf8": return .splitUTF8
    case "bad-json": return .badJSON
    case "duplicate": return .duplicate
    case "reorder": return .reorder
    case "expire-window": return .expireWindow
    case "reset-stream": return .resetStream
    case "late-pong": return .latePong(try settings.duration("delay") ?? .seconds(5))
    case "huge-frame":
      return .hugeFrame(size: try settings.integer("size", 1...largestMessage) ?? 16 << 20 + 1)
    case "auth-fail": return .authFail(status: try settings.integer("status", 400...599) ?? 500)
    default:
      let code = UInt16(clamping: try settings.integer("code", 1000...4999) ?? 4200)
      guard CloseCode(rawValue: code).isValidOnWire else {
        throw ExplainedError("close: code \(code) is not allowed in a close frame")
      }
      return .close(code: code)
    }
  }
}

private struct FaultSettings {
  let name: String
  var values: [String: String]

  func integer(_ key: String, _ range: ClosedRange<Int>) throws(ExplainedError) -> Int? {
    guard let text = values[key] else { return nil }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(text), range.contains(number)
    else {
      let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
      throw ExplainedError(
        "\(name): \(key) must be a number from \(range.lowerBound)\(most), "
          + "not '\(text)'")
    }
    return number
  }

  /// Parses a time such as `500ms`, `5s` or `2m`, at most one day; the default unit is seconds.
  func duration(_ key: String) throws(ExplainedError) -> Duration? {
    guard let text = values[key] else { return nil }
    let digits = text.prefix { ("0"..."9").contains($0) }
    let units = ["ms": 1, "": 1000, "s": 1000, "m": 60_000]
    guard let number = Int(digits), number <= 86_400_000,
      let unit = units[String(text.dropFirst(digits.count))], number * unit <= 86_400_000
    else {
      throw ExplainedError(
        "\(name): \(key) must be a time such as 500ms, 5s or 2m, not '\(text)'")
    }
    return .milliseconds(number * unit)
  }
}

/// Staged faults of a server, with the remaining repetitions of each.
///
/// A session asks the script about each message. Any thread may use it.
package final class FaultScript: Sendable {
  private struct Entry {
    let id: Int
    let fault: StagedFault
    var connectionsLeft: Int
    var timesLeft: Int

    /// Counts a connection, and returns whether the fault may affect it.
    mutating func claim(_ seen: inout [Int: Int]) -> Bool {
      if seen[id] != nil { return true }
      guard connectionsLeft > 0 else { return false }
      connectionsLeft -= 1
      seen[id] = 0
      return true
    }
  }

  private let state = Locked((entries: [Entry](), nextID: 0))
  /// Number of faults; readable without the lock, because sessions ask before each message.
  private let count = Atomic(0)

  package init() {}

  package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }
  package var faults: [StagedFault] { state.withLock { $0.entries.map(\.fault) } }

  /// The faults with their remaining repetitions and connections; `nil` for no limit.
  package var remainders: [(fault: StagedFault, times: Int?, connections: Int?)] {
    state.withLock { state in
      state.entries.map { entry in
        (
          entry.fault, entry.fault.times == .max ? nil : entry.timesLeft,
          entry.fault.connections == .max ? nil : entry.connectionsLeft
        )
      }
    }
  }

  package func add(_ faults: [StagedFault]) {
    state.withLock { state in
      for fault in faults {
        state.entries.append(
          Entry(
            id: state.nextID, fault: fault, connectionsLeft: fault.connections,
            timesLeft: fault.times))
        state.nextID += 1
      }
      count.store(state.entries.count, ordering: .relaxed)
    }
  }

  package func removeAll() {
    state.withLock { state in
      state.entries.removeAll()
      count.store(0, ordering: .relaxed)
    }
  }

  var holdsPongs: Bool {
    !isEmpty && state.withLock { $0.entries.contains { $0.fault.moment == .pong } }
  }

  func pongDelay(_ line: inout FaultLine) -> Duration? {
    guard case .latePong(let delay) = due(.pong, on: nil, &line) else { return nil }
    return delay
  }

  func refusal(on channel: String, _ line: inout FaultLine) -> Int? {
    guard case .authFail(let status) = due(.signature, on: channel, &line) else { return nil }
    return status
  }

  /// Returns the status of a failing authorisation endpoint; sign-ins have no channel.
  func endpointFailure(on channel: String?) -> Int? {
    guard !isEmpty else { return nil }
    var line = FaultLine()
    return refusal(on: channel ?? "", &line)
  }

  /// Returns the first due fault, and counts the message; endings count the current message too.
  ///
  /// - Parameter channel: Of the message; `nil` for the greeting and for pings.
  func due(
    _ moment: StagedFault.Moment, on channel: String?, _ line: inout FaultLine
  ) -> StagedFault.Kind? {
    let before = line.seen
    let (kind, after) = state.withLock { state -> (StagedFault.Kind?, [Int: Int]) in
      var seen = before
      let isEnding = moment == .ending
      for index in state.entries.indices where state.entries[index].fault.moment == moment {
        let (id, fault) = (state.entries[index].id, state.entries[index].fault)
        guard state.entries[index].timesLeft > 0, !isEnding || channel == nil || fault.after > 0,
          channel.map(fault.concerns) ?? true, state.entries[index].claim(&seen)
        else { continue }
        let passed = seen[id] ?? 0
        let count = isEnding && channel == nil ? passed : passed + 1
        seen[id] = count
        guard (isEnding ? count : passed) >= fault.after else { continue }
        state.entries[index].timesLeft -= 1
        return (fault.kind, seen)
      }
      return (nil, seen)
    }
    line.seen = after
    return kind
  }
}

struct FaultLine {
  /// Number of events that passed each fault, by fault ID.
  var seen: [Int: Int] = [:]
  /// True if all output is suppressed.
  var isBlackhole = false
  var held: SharedFrame?
  /// Each with the payload of the ping frame; `nil` for `pusher:ping`.
  var latePongs: [(due: Instant, frame: [UInt8]?)] = []
  /// Output beyond the limit that a staged message may use, in bytes.
  var allowance = 0

  /// Maximum number of delayed pongs; further pings get no answer.
  static let pongLimit = 100
}

/// `/faults`: programs on this machine change the staged faults while the server runs.
extension FaultScript {
  static let path = "/faults"
  package static let limit = 100

  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    // Programs of the developer may change faults; pages in a browser may not.
    guard request.head.headers["Origin"] == nil else {
      return .refusal(403, "only programs on the server's machine can stage faults")
    }
    switch request.head.method {
    case "GET", "HEAD": break
    case "DELETE": removeAll()
    case "POST":
      do throws(HTTPAnswer) { try add(HTTPAnswer.text(ofBody: request.body)) } catch {
        return error
      }
    default: return .refusal(request.head.method, allow: "GET, POST, DELETE")
    }
    return .json(["faults": .array(faults.map { .string($0.description) })])
  }

  /// Adds one fault per line; adds none if any line is invalid.
  private func add(_ text: String) throws(HTTPAnswer) {
    let lines = text.lines
    guard !lines.isEmpty, faults.count + lines.count <= Self.limit else {
      throw .refusal(400, "write one fault a line; a server has at most \(Self.limit) faults")
    }
    do throws(ExplainedError) {
      var faults: [StagedFault] = []
      for line in lines { faults.append(try StagedFault(parsing: String(line))) }
      add(faults)
    } catch { throw .refusal(400, error.description) }
  }
}
