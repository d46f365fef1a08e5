internal import PusherCore

struct ClientWait: Comparable {
  /// True if the client still needs the connection: it is new, or a request has begun.
  let isOwed: Bool
  let since: Instant

  /// The lesser wait is closed first: idle connections before needed ones, then the longest wait.
  static func < (left: ClientWait, right: ClientWait) -> Bool {
    (left.isOwed ? 1 : 0, left.since) < (right.isOwed ? 1 : 0, right.since)
  }
}

/// Connections of an acceptor, with their shared places.
///
/// Callers are connections with HTTP requests. They have their own places, so that they cannot keep
/// sockets out. A new connection, which may become either, takes any place. A full table closes the
/// connection that has waited longest for its client.
final class ConnectionTable {
  private let limit: Int
  private let callerLimit: Int
  private var all: [ObjectIdentifier: ServerConnection] = [:]
  private var callers: [ObjectIdentifier: ServerConnection] = [:]
  /// Next connections to close, the first one last; one expensive search serves many closings.
  private var waiting: [(connection: ServerConnection, wait: ClientWait)] = []
  private static let searchLimit = 256

  init(sockets: Int, callers: Int) {
    limit = sockets + callers
    callerLimit = callers
  }

  var isEmpty: Bool { all.isEmpty }
  var connections: [ServerConnection] { Array(all.values) }

  /// Gives a new connection a place; returns false if all places are in use.
  func take(_ connection: ServerConnection, at now: Instant) -> Bool {
    guard all.count < limit || makePlace(at: now) else { return false }
    all[ObjectIdentifier(connection)] = connection
    return true
  }

  /// Makes a connection a caller; returns false if all callers are in use.
  func admit(caller connection: ServerConnection, at now: Instant) -> Bool {
    guard callers[ObjectIdentifier(connection)] == nil else { return true }
    if callers.count >= callerLimit {
      guard let first = Self.waiting(of: callers).min(by: { $0.wait < $1.wait }) else {
        return false
      }
      first.connection.closeForNewer(at: now)
    }
    callers[ObjectIdentifier(connection)] = connection
    return true
  }

  /// The connection became a socket.
  func release(caller connection: ServerConnection) { callers[ObjectIdentifier(connection)] = nil }

  func remove(_ connection: ServerConnection) {
    all[ObjectIdentifier(connection)] = nil
    callers[ObjectIdentifier(connection)] = nil
  }

  // MARK: Making room

  /// Closes the connection that has waited longest; returns false if all are in use.
  private func makePlace(at now: Instant) -> Bool {
    if closeNext(at: now) { return true }
    waiting = Self.waiting(of: all).sorted { $0.wait > $1.wait }.suffix(Self.searchLimit)
    return closeNext(at: now)
  }

  private func closeNext(at now: Instant) -> Bool {
    while let (connection, wait) = waiting.popLast() {
      guard connection.clientWait == wait else { continue }
      connection.closeForNewer(at: now)
      return true
    }
    return false
  }

  private static func waiting(of connections: [ObjectIdentifier: ServerConnection]) -> [(
    connection: ServerConnection, wait: ClientWait
  )] {
    connections.values.compactMap { connection in connection.clientWait.map { (connection, $0) } }
  }

  /// Frees the result of the last search.
  func forgetWaiting() { waiting = [] }
}
