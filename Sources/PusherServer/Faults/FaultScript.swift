internal import PusherCore
internal import Synchronization

/// The faults that a server stages now, and how often each will still happen.
///
/// It has no socket and no clock: a session asks it about each message. Any thread may use it.
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
  /// How many there are, for those who ask before each message.
  private let count = Atomic(0)

  package init() {}

  package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// The faults in the order in which they were added.
  package var faults: [StagedFault] { state.withLock { $0.entries.map(\.fault) } }

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

  /// The fault for a message on a channel; of several the first that is due decides.
  func change(on channel: String, _ line: inout FaultLine) -> StagedFault.Kind? {
    due(.message, on: channel, &line)
  }

  /// Whether answers to pings may be held back.
  var holdsPongs: Bool {
    !isEmpty && state.withLock { $0.entries.contains { $0.fault.moment == .pong } }
  }

  /// How long the answer to a ping is held back.
  func pongDelay(_ line: inout FaultLine) -> Duration? {
    guard case .latePong(let delay) = due(.pong, on: nil, &line) else { return nil }
    return delay
  }

  /// The status of an authorization that fails; `nil` when it does not.
  func refusal(on channel: String, _ line: inout FaultLine) -> Int? {
    guard case .authFail(let status) = due(.signature, on: channel, &line) else { return nil }
    return status
  }

  /// The status of a failing authorization endpoint; users' sign-ins are on no channel.
  func endpointFailure(on channel: String?) -> Int? {
    guard !isEmpty else { return nil }
    var line = FaultLine()
    return refusal(on: channel ?? "", &line)
  }

  /// How a connection ends after a message on a channel, or after the greeting, which has no channel.
  func ending(after channel: String?, _ line: inout FaultLine) -> StagedFault.Kind? {
    due(.ending, on: channel, &line)
  }

  /// The first fault that is due now; an ending counts the message that it comes after.
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
  /// The fault that is due, and what the connection has seen then.
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

  /// Counts a connection among those that a fault happens to, unless they are complete.
  private mutating func claim(_ index: Int, _ seen: inout [Int: Int]) -> Bool {
    let id = entries[index].id
    if seen[id] != nil { return true }
    guard entries[index].connectionsLeft > 0 else { return false }
    entries[index].connectionsLeft -= 1
    seen[id] = 0
    return true
  }
}

/// The answer to a ping that was held back.
struct LatePong {
  let due: Instant
  /// The payload of the ping frame; `nil` for `pusher:ping`.
  let frame: [UInt8]?
}

/// The state of the staged faults on one connection.
struct FaultLine {
  /// How many events have passed each fault, by its number.
  var seen: [Int: Int] = [:]
  /// Whether nothing goes out any more.
  var isBlackhole = false
  /// The message that waits for the next one.
  var held: SharedFrame?
  /// The pongs that were held back, the oldest first.
  var latePongs: [LatePong] = []
  /// The extra output that a staged message may use beyond the limit.
  var allowance = 0

  /// Pongs that are held back at most; a client that pings faster gets fewer answers.
  static let pongLimit = 100
}

/// Changes the staged faults while the server runs: `/faults`, for programs of this machine.
struct FaultControl {
  let script: FaultScript

  static let path = "/faults"
  /// How many faults a server stages at most.
  static let limit = 100

  /// The answer to a request at the path.
  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    // Only the developer may change faults, not a page in a browser.
    guard request.head.headers["Origin"] == nil else {
      return .refusal(403, "faults are staged by programs on the server's own machine")
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

  /// One fault a line; none is taken when one is wrong.
  private func add(_ body: [UInt8]) -> HTTPAnswer {
    guard let text = String(validating: body, as: UTF8.self) else {
      return .refusal(400, "the body is not UTF-8")
    }
    let lines = text.lines
    guard !lines.isEmpty, script.faults.count + lines.count <= Self.limit else {
      return .refusal(400, "the body has one fault a line, and a server a hundred at most")
    }
    do throws(StagedFaultError) {
      var faults: [StagedFault] = []
      for line in lines { faults.append(try StagedFault(parsing: String(line))) }
      script.add(faults)
    } catch {
      return .refusal(400, error.description)
    }
    return state
  }

  private var state: HTTPAnswer { .faults(of: script) }
}

extension HTTPAnswer {
  /// The faults that are staged now.
  static func faults(of script: FaultScript) -> HTTPAnswer {
    .json(["faults": .array(script.faults.map { .string($0.description) })])
  }
}
