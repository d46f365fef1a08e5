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
  private enum Kind: Sendable, Equatable {
    case drop, blackhole, splitUTF8, badJSON, duplicate, reorder
    case close(code: Int)
    case latePong(Duration)
    case hugeFrame(size: Int)
    case authFail(status: Int)
  }

  private let kind: Kind
  private var passed = 0
  private var channels: String?
  private var connections = Int.max
  private var count = Int.max

  private init(_ kind: Kind) { self.kind = kind }

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
    PusherTestFault(.close(code: code))
  }

  /// Delays the answers to pings, messages and frames alike.
  public static func latePong(by delay: Duration) -> PusherTestFault {
    PusherTestFault(.latePong(delay))
  }

  // MARK: Subscriptions

  /// Rejects all signatures; authorisation endpoints answer with this status, 400 to 599.
  public static func authFail(status: Int = 500) -> PusherTestFault {
    PusherTestFault(.authFail(status: status))
  }

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
    PusherTestFault(.hugeFrame(size: size))
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

  private static let largestMessage = 64 << 20

  func staged() throws(PusherTestServerError) -> StagedFault {
    guard passed >= 0, connections >= 1, count >= 1 else {
      throw .invalidFault(
        "a fault happens after 0 or more events, to 1 or more connections, once or more")
    }
    return StagedFault(
      try stagedKind(), after: passed, channel: channels.map { Glob($0) },
      connections: connections, times: count, description: "\(kind)")
  }

  private func stagedKind() throws(PusherTestServerError) -> StagedFault.Kind {
    switch kind {
    case .drop: return .drop
    case .blackhole: return .blackhole
    case .splitUTF8: return .splitUTF8
    case .badJSON: return .badJSON
    case .duplicate: return .duplicate
    case .reorder: return .reorder
    case .latePong(let delay): return .latePong(delay: max(delay, .zero))
    case .close(let code):
      let wire = CloseCode(rawValue: UInt16(clamping: code))
      guard code <= 4999, wire.isValidOnWire else {
        throw .invalidFault("code \(code) may not stand in a close frame")
      }
      return .close(code: wire.rawValue)
    case .hugeFrame(let size):
      guard (1...Self.largestMessage).contains(size) else {
        throw .invalidFault("a message has 1 to \(Self.largestMessage) bytes, not \(size)")
      }
      return .hugeFrame(size: size)
    case .authFail(let status):
      guard (400...599).contains(status) else {
        throw .invalidFault("an endpoint fails with a status from 400 to 599, not \(status)")
      }
      return .authFail(status: status)
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
