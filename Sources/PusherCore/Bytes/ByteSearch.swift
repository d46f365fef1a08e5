/// Searches bytes in text that a peer may have written, in linear time.
///
/// `contains`, `split` and `hasPrefix` of `String` walk grapheme clusters. They take quadratic time
/// for some texts, and treat different bytes as equal if Unicode does. An extension of every
/// `StringProtocol` would look up types at run time, at 100,000 instructions for the first search.
extension String {
  /// The needle must be short.
  package func holds(_ needle: StaticString) -> Bool { range(ofBytes: needle) != nil }

  /// The needle must be short.
  package func holds(_ needle: [UInt8]) -> Bool {
    guard let first = needle.first else { return true }
    var rest = utf8[...]
    while let found = rest.firstIndex(of: first) {
      rest = rest[found...]
      if rest.starts(with: needle) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// Returns the first place of `needle`, which must be short, at or after `start`.
  package func range(
    ofBytes needle: StaticString, from start: String.Index? = nil
  ) -> Range<String.Index>? {
    let length = needle.utf8CodeUnitCount
    let pattern = unsafe UnsafeBufferPointer(start: needle.utf8Start, count: length)
    guard let first = unsafe pattern.first else { return startIndex..<startIndex }
    var place = start ?? startIndex
    while let found = utf8[place...].firstIndex(of: first) {
      let rest = utf8[found...]
      if unsafe rest.starts(with: pattern) { return found..<utf8.index(found, offsetBy: length) }
      place = utf8.index(after: found)
    }
    return nil
  }

  /// Returns one piece more than there are needles.
  package func pieces(separatedBy needle: StaticString) -> [String] {
    var pieces: [String] = []
    var start = startIndex
    while let found = range(ofBytes: needle, from: start) {
      pieces.append(String(self[start..<found.lowerBound]))
      start = found.upperBound
    }
    pieces.append(String(self[start...]))
    return pieces
  }

  /// Lines that are not empty; they end with LF, CR or both, not with Unicode's other newlines.
  package var lines: [Substring] {
    utf8.split { $0 == 0x0A || $0 == 0x0D }.map { self[$0.startIndex..<$0.endIndex] }
  }

  package func ends(with suffix: String) -> Bool {
    let length = suffix.utf8.count
    return utf8.count >= length && utf8.suffix(length).elementsEqual(suffix.utf8)
  }

  /// Compares bytes without a generic sequence, because it runs for each name.
  package func begins(with prefix: String) -> Bool {
    unsafe compare(prefix) {
      unsafe $0.count >= $1.count && $0.hasSameBytes(as: $1, count: $1.count)
    } ?? utf8.starts(with: prefix.utf8)
  }

  package func dropping(prefix: String) -> String? {
    guard begins(with: prefix) else { return nil }
    return String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
  }

  package func isSame(as other: String) -> Bool { isSame(as: other, by: ==) }

  @inline(__always) func isSame(as other: String, by areSame: (UInt8, UInt8) -> Bool) -> Bool {
    unsafe compare(other) {
      unsafe $0.count == $1.count && $0.hasSameBytes(as: $1, count: $1.count, by: areSame)
    } ?? utf8.elementsEqual(other.utf8, by: areSame)
  }

  /// Returns `nil` if one text is not contiguous.
  @inline(__always) private func compare(
    _ other: String, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
  ) -> Bool? {
    unsafe utf8.withContiguousStorageIfAvailable { left in
      unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe body(left, right) }
    } ?? nil
  }
}

extension UnsafeBufferPointer<UInt8> {
  @inline(__always) fileprivate func hasSameBytes(
    as other: UnsafeBufferPointer<UInt8>, count: Int,
    by areSame: (UInt8, UInt8) -> Bool = { $0 == $1 }
  ) -> Bool {
    for index in 0..<count where unsafe !areSame(self[index], other[index]) { return false }
    return true
  }
}
