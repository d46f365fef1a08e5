internal import PusherCore
internal import PusherServer

/// Something that goes wrong on purpose on a ``PusherTestServer``.
///
/// ```swift
/// try await server.stage(.drop.after(3).times(1))
/// try await server.stage(.close(code: 4100).onConnections(2))
/// try await server.stage(.duplicate.onChannels("orders-*"))
/// ```
///
/// The names are those of `--fault` of the program's `serve`. A fault happens to every connection, on every channel, each
/// time, until ``after(_:)``, ``onChannels(_:)``, ``onConnections(_:)`` or ``times(_:)`` say otherwise.
public struct PusherTestFault: Sendable, Equatable {
  /// What goes wrong; the server's own word.
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

  private init(_ kind: Kind) {
    self.kind = kind
  }

  // MARK: Connections

  /// The connection ends without a close frame, as when a process is killed.
  public static let drop = PusherTestFault(.drop)

  /// Nothing goes out any more and nothing that comes is read; the connection stays, as in a broken network.
  public static let blackhole = PusherTestFault(.blackhole)

  /// Each connection is closed with 4200 as soon as it stands, so that clients come back at once.
  public static let storm = PusherTestFault(.close(code: 4200))

  /// The connection is closed with a code: 1000 to 1003, 1007 to 1014, 3000 to 4999.
  public static func close(code: Int = 4200) -> PusherTestFault {
    PusherTestFault(.close(code: code))
  }

  /// Pings are answered late, be they messages or frames.
  public static func latePong(by delay: Duration) -> PusherTestFault {
    PusherTestFault(.latePong(delay))
  }

  // MARK: Subscriptions

  /// No signature is accepted, and the server's authorisation endpoints answer with this status, 400 to 599.
  public static func authFail(status: Int = 500) -> PusherTestFault {
    PusherTestFault(.authFail(status: status))
  }

  // MARK: Events

  /// An event comes twice.
  public static let duplicate = PusherTestFault(.duplicate)

  /// An event comes after the next one.
  public static let reorder = PusherTestFault(.reorder)

  /// An event's message lacks its last byte, and so is no JSON.
  public static let badJSON = PusherTestFault(.badJSON)

  /// An event's message comes in two fragments, cut inside a character that has several bytes.
  public static let splitUTF8 = PusherTestFault(.splitUTF8)

  /// An event's message is made as long as this many bytes, 64 MiB at most.
  public static func hugeFrame(size: Int) -> PusherTestFault {
    PusherTestFault(.hugeFrame(size: size))
  }

  // MARK: When

  /// It happens after so many events of a connection; endings, once that many were sent.
  public func after(_ events: Int) -> PusherTestFault { with { $0.passed = events } }

  /// It happens on channels whose names match a pattern, in which `*`, `?` and `[...]` have their usual meaning.
  public func onChannels(_ pattern: String) -> PusherTestFault { with { $0.channels = pattern } }

  /// It happens to so many connections, at least one: the first that come.
  public func onConnections(_ number: Int) -> PusherTestFault { with { $0.connections = number } }

  /// It happens so often, at least once, on all connections together.
  public func times(_ number: Int) -> PusherTestFault { with { $0.count = number } }

  private func with(_ change: (inout PusherTestFault) -> Void) -> PusherTestFault {
    var fault = self
    change(&fault)
    return fault
  }

  // MARK: For the server

  private static let largestMessage = 64 << 20

  /// The fault as the server takes it; throws for a number that it does not know.
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

/// Why a ``PusherTestServer`` cannot do something.
public enum PusherTestServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// It cannot listen; with the reason.
  case notListening(String)
  /// The fault has a number that cannot be.
  case invalidFault(String)
  /// A webhook's URL is none.
  case invalidWebhook(String)
  /// It was stopped.
  case stopped

  /// What is wrong, in the words of a message to the user.
  public var description: String {
    switch self {
    case .notListening(let reason): "the test server cannot listen: \(reason)"
    case .invalidFault(let reason), .invalidWebhook(let reason): reason
    case .stopped: "the test server is stopped"
    }
  }
}
