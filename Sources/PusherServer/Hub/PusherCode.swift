internal import PusherCore

/// Why the server closes a connection or refuses something, as the protocol numbers it.
///
/// Source: the protocol page, section "Error codes".
package struct PusherCode: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// No app has the key.
  package static let unknownApplication = PusherCode(rawValue: 4001)
  package static let applicationDisabled = PusherCode(rawValue: 4003)
  package static let overQuota = PusherCode(rawValue: 4004)
  package static let pathNotFound = PusherCode(rawValue: 4005)
  package static let invalidVersion = PusherCode(rawValue: 4006)
  package static let unsupportedProtocol = PusherCode(rawValue: 4007)
  /// A sign-in that is refused, or a user whose connections the app ends.
  package static let unauthorized = PusherCode(rawValue: 4009)
  /// Also for a client that does not read what it is sent.
  package static let overCapacity = PusherCode(rawValue: 4100)
  /// The client shall reconnect at once.
  package static let generic = PusherCode(rawValue: 4200)
  package static let pongNotReceived = PusherCode(rawValue: 4201)
  package static let clientEventRate = PusherCode(rawValue: 4301)

  var closeCode: CloseCode { CloseCode(rawValue: UInt16(clamping: rawValue)) }
}
