internal import PusherCore

/// A disturbance that the server stages, so that apps can be tested with it.
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
    /// A message comes behind the next one.
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

  init(
    _ kind: Kind, after: Int, channel: Glob?, connections: Int, times: Int, description: String
  ) {
    self.kind = kind
    self.after = after
    self.channel = channel
    self.connections = connections
    self.times = times
    self.description = description
  }

  /// Whether it ends what a connection brings, and does not change one message.
  var isEnding: Bool {
    switch kind {
    case .drop, .close, .blackhole: true
    default: false
    }
  }

  /// Whether it changes a message of a channel.
  var isChange: Bool {
    switch kind {
    case .splitUTF8, .hugeFrame, .badJSON, .duplicate, .reorder: true
    default: false
    }
  }

  func concerns(_ name: String) -> Bool { channel?.matches(name) ?? true }
}

/// Why a text is no fault.
package struct StagedFaultError: Error, Equatable, CustomStringConvertible {
  package let description: String
}
