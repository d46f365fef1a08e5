internal import PusherCore

/// The part of a flag's value that `config`, messages and traces may show.
///
/// A value of the form `@FILE` names a file and is shown whole.
enum Disclosure: Sendable {
  case whole
  /// The name of a field such as `Authorization: …`.
  case field
  /// The name of a parameter such as `token=…`.
  case parameter
  /// Scheme, host and port of a URL: user, password, path and query may be secret.
  case place
  /// The first word of a command line: the others may be tokens.
  case program
  case nothing
  private static let hidden = "…"

  /// Returns the part of `text` that may be shown; `text` may be malformed.
  func shown(_ text: String) -> String {
    switch self {
    case .whole: return text
    case _ where text.begins(with: "@") && self != .program: return text
    case .field: return Self.name(in: text, before: ":")
    case .parameter: return Self.name(in: text, before: "=")
    case .place: return Self.place(in: text)
    case .program: return Self.program(in: text)
    case .nothing: return Self.hidden
    }
  }

  private static func name(in text: String, before mark: Unicode.Scalar) -> String {
    guard let end = text.utf8.firstIndex(of: UInt8(ascii: mark)), ASCII.isToken(text[..<end]) else {
      return hidden
    }
    return "\(text[...end])\(hidden)"
  }

  /// Returns scheme, if any, and authority of a URL; the authority may be a list of hosts.
  private static func place(in text: String) -> String {
    if text.isEmpty { return text }
    let mark = text.range(ofBytes: "://")
    let scheme = mark.map { text[..<$0.upperBound] } ?? ""
    let rest = mark.map { text[$0.upperBound...] } ?? text[...]
    let authority = rest.utf8.prefix { !"/?#".utf8.contains($0) }
    let behind = rest.utf8[authority.endIndex...]
    let isScheme = scheme.utf8.dropLast(3).allSatisfy {
      ($0 | 0x20) &- 0x61 < 26 || "+".utf8.contains($0)
    }
    // A later @ may end a password that contains a slash.
    guard isScheme, !behind.contains(UInt8(ascii: "@")) else { return hidden }
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    let hosts = Substring(at.map { authority[$0...].dropFirst() } ?? authority)
    let isPlain = hosts.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .allSatisfy { HTTPURL.isAuthority(String(Substring($0))) }
    return isPlain ? "\(scheme)\(hosts)" : hidden
  }

  private static func program(in text: String) -> String {
    let isWordByte = { (byte: UInt8) in
      (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-_./".utf8.contains(byte)
    }
    let word = text.utf8.prefix { $0 != 0x20 }
    guard !word.isEmpty, word.allSatisfy(isWordByte) else { return hidden }
    return word.count == text.utf8.count ? text : "\(Substring(word)) \(hidden)"
  }
}
