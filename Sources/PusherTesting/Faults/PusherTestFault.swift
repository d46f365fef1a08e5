internal import PusherCore
internal import PusherServer

/// A deliberate fault on a ``PusherTestServer``.
///
/// ```swift
/// try await server.stage(.drop.after(3).times(1))
/// try await server.stage(.close(code: 4100).onConnections(2))
/// try await server.stage(.duplicate.onChannels("orders-*"))
/// ```
///
/// The names are those of `--fault` of the program's `serve`. A fault affects every connection and
/// every channel, each time, unless ``after(_:)``, ``onChannels(_:)``, ``onConnections(_:)`` or
/// ``times(_:)`` limit it.
public struct PusherTestFault: Sendable, Equatable {
  private let kind: StagedFault.Kind
  /// Explains why the fault cannot be staged.
  private let problem: String?
  private var passed = 0
  private var channels: String?
  private var connections = Int.max
  private var count = Int.max

  private init(_ kind: StagedFault.Kind, problem: String? = nil) {
    (self.kind, self.problem) = (kind, problem)
  }

  // MARK: Connections

  /// Ends the connection without a close frame, as a killed process does.
  public static let drop = PusherTestFault(.drop)

  /// Suppresses all output and ignores all input; the connection stays open, as in a broken
  /// network.
  public static let blackhole = PusherTestFault(.blackhole)

  /// Closes each connection with 4200 right after the greeting, so that clients reconnect at once.
  public static let storm = PusherTestFault(.close(code: 4200))

  /// Closes the connection with a code: 1000 to 1003, 1007 to 1014, 3000 to 4999.
  public static func close(code: Int = 4200) -> PusherTestFault {
    do throws(PusherTestServerError) {
      return PusherTestFault(.close(code: try CloseCode(ofTest: code).rawValue))
    } catch { return PusherTestFault(.close(code: 0), problem: error.description) }
  }

  /// Delays the answers to pings, messages and frames alike.
  public static func latePong(by delay: Duration) -> PusherTestFault {
    PusherTestFault(.latePong(max(delay, .zero)))
  }

  // MARK: Subscriptions

  /// Rejects all signatures; authorisation endpoints answer with this status, 400 to 599.
  public static func authFail(status: Int = 500) -> PusherTestFault {
    let problem = "the status must be from 400 to 599, not \(status)"
    return PusherTestFault(.authFail(status: status), problem: 400...599 ~= status ? nil : problem)
  }

  // MARK: Protocol V2

  /// Drops the kept events of a channel that a client of protocol V2 resumes.
  public static let expireWindow = PusherTestFault(.expireWindow)

  /// Begins a new stream for a channel that a client of protocol V2 resumes.
  public static let resetStream = PusherTestFault(.resetStream)

  // MARK: Events

  /// Sends an event twice.
  public static let duplicate = PusherTestFault(.duplicate)

  /// Sends an event after the next one.
  public static let reorder = PusherTestFault(.reorder)

  /// Removes the last byte of an event's message, which makes it invalid JSON.
  public static let badJSON = PusherTestFault(.badJSON)

  /// Sends an event's message in two fragments, split inside a multi-byte character if possible.
  public static let splitUTF8 = PusherTestFault(.splitUTF8)

  /// Pads an event's message to this size, in bytes; maximum: 64 MiB.
  public static func hugeFrame(size: Int) -> PusherTestFault {
    let problem = "the size must be from 1 to \(StagedFault.largestMessage) bytes, not \(size)"
    let isPossible = 1...StagedFault.largestMessage ~= size
    return PusherTestFault(.hugeFrame(size: size), problem: isPossible ? nil : problem)
  }

  // MARK: Limits

  /// Waits for a number of events on a connection; endings count events that were sent.
  public func after(_ events: Int) -> PusherTestFault { with { $0.passed = events } }

  /// Limits the fault to channels that match a pattern with `*`, `?` and `[...]`.
  public func onChannels(_ pattern: String) -> PusherTestFault { with { $0.channels = pattern } }

  /// Limits the fault to the first connections, at least one.
  public func onConnections(_ number: Int) -> PusherTestFault { with { $0.connections = number } }

  /// Limits the repetitions on all connections together, at least one.
  public func times(_ number: Int) -> PusherTestFault { with { $0.count = number } }

  private func with(_ change: (inout PusherTestFault) -> Void) -> PusherTestFault {
    var fault = self
    change(&fault)
    return fault
  }

  // MARK: For the server

  func staged() throws(PusherTestServerError) -> StagedFault {
    guard passed >= 0, connections >= 1, count >= 1 else {
      throw .invalidFault(
        "after must be 0 or more; onConnections and times must be 1 or more")
    }
    if let problem = problem ?? channels.flatMap(Glob.problem) { throw .invalidFault(problem) }
    return StagedFault(
      kind, after: passed, channel: channels.map { Glob($0) }, connections: connections,
      times: count, description: "\(kind)")
  }
}

extension CloseCode {
  init(ofTest code: Int) throws(PusherTestServerError) {
    self.init(rawValue: UInt16(clamping: code))
    guard code <= 4999, isValidOnWire else {
      throw .invalidFault("code \(code) is not allowed in a close frame")
    }
  }
}

/// Errors of a ``PusherTestServer``.
public enum PusherTestServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server cannot listen, with the reason.
  case notListening(String)
  /// A number of the fault is out of range.
  case invalidFault(String)
  /// The URL of a webhook is invalid.
  case invalidWebhook(String)
  /// The server is stopped.
  case stopped

  /// A message for the user.
  public var description: String {
    switch self {
    case .notListening(let reason): "the test server cannot listen: \(reason)"
    case .invalidFault(let reason), .invalidWebhook(let reason): reason
    case .stopped: "the test server is stopped"
    }
  }
}
