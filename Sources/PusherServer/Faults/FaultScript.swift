internal import PusherCore
internal import Synchronization

/// Staged faults of a server, with the remaining repetitions of each.
///
/// A session asks the script about each message. Any thread may use it.
package final class FaultScript: Sendable {
  fileprivate struct Entry {
    let id: Int
    let fault: StagedFault
    var connectionsLeft: Int
    var timesLeft: Int
  }

  fileprivate struct StagedFaults {
    var entries: [Entry] = []
    var nextID = 0
  }

  private let state = Locked(StagedFaults())
  /// Number of faults; readable without the lock, because sessions ask before each message.
  private let count = Atomic(0)

  package init() {}

  package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }
  package var faults: [StagedFault] { state.withLock { $0.entries.map(\.fault) } }

  /// A staged fault with its remaining repetitions and connections; `nil` for no limit.
  package struct Remainder: Sendable {
    package let fault: StagedFault
    package let times: Int?
    package let connections: Int?
  }

  package var remainders: [Remainder] {
    state.withLock { state in
      state.entries.map { entry in
        Remainder(
          fault: entry.fault, times: entry.fault.times == .max ? nil : entry.timesLeft,
          connections: entry.fault.connections == .max ? nil : entry.connectionsLeft)
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

  /// Returns the fault for a message on a channel; the first due fault wins.
  func change(on channel: String, _ line: inout FaultLine) -> StagedFault.Kind? {
    due(.message, on: channel, &line)
  }

  var holdsPongs: Bool {
    !isEmpty && state.withLock { $0.entries.contains { $0.fault.moment == .pong } }
  }

  func pongDelay(_ line: inout FaultLine) -> Duration? {
    guard case .latePong(let delay) = due(.pong, on: nil, &line) else { return nil }
    return delay
  }

  /// Returns the status of a failing authorisation; `nil` if no fault is due.
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

  /// Returns how a connection ends after a message, or after the greeting, which has no channel.
  func ending(after channel: String?, _ line: inout FaultLine) -> StagedFault.Kind? {
    due(.ending, on: channel, &line)
  }

  private func due(
    _ moment: StagedFault.Moment, on channel: String?, _ line: inout FaultLine
  ) -> StagedFault.Kind? {
    let seen = line.seen
    let (kind, after) = state.withLock { $0.due(moment, on: channel, seen) }
    line.seen = after
    return kind
  }
}

extension FaultScript.StagedFaults {
  /// Returns the due fault, and the new counts of the connection.
  ///
  /// Endings count the current message too.
  fileprivate mutating func due(
    _ moment: StagedFault.Moment, on channel: String?, _ seenBefore: [Int: Int]
  ) -> (StagedFault.Kind?, [Int: Int]) {
    var seen = seenBefore
    let isEnding = moment == .ending
    for index in entries.indices where entries[index].fault.moment == moment {
      let (id, fault) = (entries[index].id, entries[index].fault)
      guard entries[index].timesLeft > 0, !isEnding || channel == nil || fault.after > 0,
        channel.map(fault.concerns) ?? true, claim(index, &seen)
      else { continue }
      let before = seen[id] ?? 0
      let count = isEnding && channel == nil ? before : before + 1
      seen[id] = count
      guard (isEnding ? count : before) >= fault.after else { continue }
      entries[index].timesLeft -= 1
      return (fault.kind, seen)
    }
    return (nil, seen)
  }

  private mutating func claim(_ index: Int, _ seen: inout [Int: Int]) -> Bool {
    let id = entries[index].id
    if seen[id] != nil { return true }
    guard entries[index].connectionsLeft > 0 else { return false }
    entries[index].connectionsLeft -= 1
    seen[id] = 0
    return true
  }
}

struct LatePong {
  let due: Instant
  /// Payload of the ping frame; `nil` for `pusher:ping`.
  let frame: [UInt8]?
}

struct FaultLine {
  /// Number of events that passed each fault, by fault ID.
  var seen: [Int: Int] = [:]
  /// True if all output is suppressed.
  var isBlackhole = false
  var held: SharedFrame?
  var latePongs: [LatePong] = []
  /// Output beyond the limit that a staged message may use, in bytes.
  var allowance = 0

  /// Maximum number of delayed pongs; further pings get no answer.
  static let pongLimit = 100
}

/// `/faults`: programs on this machine change the staged faults while the server runs.
package struct FaultControl {
  let script: FaultScript

  static let path = "/faults"
  package static let limit = 100

  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    // Programs of the developer may change faults; pages in a browser may not.
    guard request.head.headers["Origin"] == nil else {
      return .refusal(403, "only programs on the server's machine can stage faults")
    }
    switch request.head.method {
    case "GET", "HEAD": return state
    case "DELETE":
      script.removeAll()
      return state
    case "POST": return add(request.body)
    default: return .refusal(request.head.method, allow: "GET, POST, DELETE")
    }
  }

  /// Adds one fault per line; adds none if any line is invalid.
  private func add(_ body: [UInt8]) -> HTTPAnswer {
    guard let text = String(validating: body, as: UTF8.self) else {
      return .refusal(400, "the body is not UTF-8")
    }
    let lines = text.lines
    guard !lines.isEmpty, script.faults.count + lines.count <= Self.limit else {
      return .refusal(400, "write one fault a line; a server has at most \(Self.limit) faults")
    }
    do throws(StagedFaultError) {
      var faults: [StagedFault] = []
      for line in lines { faults.append(try StagedFault(parsing: String(line))) }
      script.add(faults)
    } catch { return .refusal(400, error.description) }
    return state
  }

  private var state: HTTPAnswer { .faults(of: script) }
}

extension HTTPAnswer {
  static func faults(of script: FaultScript) -> HTTPAnswer {
    .json(["faults": .array(script.faults.map { .string($0.description) })])
  }
}
