/// Why some bytes are not one JSON value.
public enum JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The grammar does not allow the byte at `offset`.
  case unexpected(offset: Int)
  /// The text ends in the middle of a value.
  case endsEarly
  /// Arrays and objects are nested deeper than `limit`.
  case tooDeep(limit: Int)
  /// The object has no member of this name and kind.
  case missing(member: String)

  /// What is wrong, in the words of a message to the user.
  public var description: String {
    switch self {
    case .unexpected(let offset): "not JSON at byte \(offset)"
    case .endsEarly: "JSON that ends early"
    case .tooDeep(let limit): "JSON nested deeper than \(limit)"
    case .missing(let member): "JSON without a proper \"\(member)\""
    }
  }
}

/// The depth to which the program embeds foreign JSON: jq refuses more than 256 levels, and the line adds its own.
package let jsonDepthLimit = 250
