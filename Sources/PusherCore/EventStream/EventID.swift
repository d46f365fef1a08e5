/// Decides which event IDs a request can name in `Last-Event-ID`.
///
/// A stream may send any ID without NUL and line ends (HTML section 9.2.6). No field of HTTP can
/// hold all of them (RFC 9110 section 5.5).
package enum EventID {
  /// Maximum size of an ID, in bytes; no server accepts a larger field.
  package static let sizeLimit = 16 << 10

  /// Returns what is wrong with an ID that no request can name, such as `has a control character`.
  package static func objection(to id: some Collection<UInt8>) -> String? {
    let isNameable = id.count <= sizeLimit && id.allSatisfy(ASCII.isFieldValue)
    return isNameable ? nil : objection(size: id.count)
  }

  package static func objection(to id: ByteView) -> String? {
    isNameable(id) ? nil : objection(size: id.count)
  }

  private static func objection(size: Int) -> String {
    size > sizeLimit
      ? "has \(size) bytes, more than the limit of \(sizeLimit)" : "has a control character"
  }

  @inline(__always) static func isNameable(_ id: ByteView) -> Bool {
    guard id.count <= sizeLimit else { return false }
    for index in 0..<id.count where !ASCII.isFieldValue(id[index]) { return false }
    return true
  }
}
