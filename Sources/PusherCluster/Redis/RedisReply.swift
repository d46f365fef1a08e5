internal import PusherCore

/// The answer to a command, or the reason for the lack of one.
package typealias RedisResult = Result<RedisReply, RedisFailure>

/// One answer or push message of Redis, in version 2 of its protocol.
///
/// Source: Redis's page "RESP protocol specification".
package enum RedisReply: Sendable, Equatable {
  /// A simple string, such as `OK`.
  case status(String)
  /// An error, such as `WRONGTYPE Operation against a key …`; its first word is the ``errorCode``.
  case error(String)
  case integer(Int64)
  case bytes([UInt8])
  /// A null bulk string or a null array.
  case null
  case array([RedisReply])

  /// The bytes of a bulk string or a simple string.
  package var content: [UInt8]? {
    switch self {
    case .bytes(let bytes): bytes
    case .status(let text): Array(text.utf8)
    case .error, .integer, .null, .array: nil
    }
  }

  /// The first word of an error, such as `NOAUTH`, cut to 40 bytes; `nil` for any other reply.
  package var errorCode: String? {
    guard case .error(let text) = self else { return nil }
    let word = text.utf8.prefix { $0 != UInt8(ascii: " ") }
    return String(decoding: word.prefix(40), as: UTF8.self)
  }

  /// True if the server is a read-only replica; older servers say so inside the error of a script.
  var saysReadOnly: Bool {
    guard case .error(let text) = self else { return false }
    return isError("READONLY") || isError("ERR") && text.holds("-READONLY ")
  }

  func isError(_ code: String) -> Bool { errorCode?.isSame(as: code) ?? false }
}
