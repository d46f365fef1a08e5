internal import CSystemVectors

/// A window on bytes in a buffer with another owner.
///
/// The bytes are valid until the owner next receives, consumes or clears, so a view is passed down
/// a call and never kept. At least ``ByteBuffer/padding`` bytes after the view belong to the same
/// allocation, so a wide load that begins inside the view never leaves it.
@safe package struct ByteView {
  /// The first byte; meaningless if `count` is 0.
  package let base: UnsafeMutablePointer<UInt8>
  package let count: Int

  @inline(__always) package init(base: UnsafeMutablePointer<UInt8>, count: Int) {
    unsafe self.base = base
    self.count = count
  }

  package var isEmpty: Bool { count == 0 }

  package subscript(index: Int) -> UInt8 {
    precondition(index >= 0 && index < count, "index outside the view")
    return unsafe base[index]
  }

  package subscript(range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside the view")
    return unsafe ByteView(base: base + range.lowerBound, count: range.count)
  }

  package var raw: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: base, count: count)
  }

  package var array: [UInt8] { unsafe [UInt8](raw) }

  /// The bytes as text; invalid UTF-8 becomes U+FFFD.
  package var text: String { unsafe String(decoding: raw, as: UTF8.self) }

  /// With `isASCII`, all bytes are known to be below 0x80.
  @inline(__always) package func text(isASCII: Bool) -> String {
    guard isASCII, #available(macOS 26, *) else { return text }
    let span = unsafe Span(_unsafeStart: UnsafePointer(base), count: count)
    return unsafe String(copying: UTF8Span(unchecked: span, isKnownASCII: true))
  }

  package func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count else { return false }
    return unsafe bytes.withUnsafeBufferPointer { unsafe begins(with: $0) }
  }

  /// FNV-1a, for tables that also compare the bytes: anybody can find two texts of one value.
  package var shortHash: UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<count { hash = unsafe (hash ^ UInt64(base[index])) &* 0x100_0000_01B3 }
    return hash
  }

  package func begins(with beginning: ByteView) -> Bool {
    unsafe begins(with: UnsafeBufferPointer(start: beginning.base, count: beginning.count))
  }

  /// These bytes have no padding after them.
  private func begins(with beginning: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count >= beginning.count else { return false }
    let last = beginning.count &- 8
    guard last >= 0 else {
      for index in 0..<beginning.count where unsafe base[index] != beginning[index] { return false }
      return true
    }
    guard let other = beginning.baseAddress else { return true }
    let (left, right) = unsafe (UnsafeRawPointer(base), UnsafeRawPointer(other))
    var at = 0
    while true {
      let word = unsafe left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      guard unsafe word == right.loadUnaligned(fromByteOffset: at, as: UInt64.self) else {
        return false
      }
      if at == last { return true }
      // The last word may begin inside the one before it.
      at = min(at &+ 8, last)
    }
  }

  package func equals(_ literal: StaticString) -> Bool {
    count == literal.utf8CodeUnitCount && begins(with: literal)
  }

  package func begins(with literal: StaticString) -> Bool {
    unsafe begins(
      with: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  package var isPrintableASCII: Bool {
    let high: UInt64 = 0x8080_8080_8080_8080
    var index = 0
    while index < count {
      // The load may reach into the padding, which does not count.
      let word = unsafe UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
      let others = (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101) | word
      // A byte only changes the verdict on later bytes if it is not printable itself.
      guard others & (high &>> UInt64(max(0, 64 &- 8 &* (count &- index)))) == 0 else {
        return false
      }
      index &+= 8
    }
    return true
  }

  package func holds(_ byte: UInt8) -> Bool { firstIndex(of: byte) != nil }

  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    var index = start
    while index < count {
      // The load may reach into the padding, which does not count.
      let matches = unsafe pusher_matches_32(base + index, byte)
      guard matches == 0 else {
        let found = index &+ matches.trailingZeroBitCount
        return found < count ? found : nil
      }
      index &+= 32
    }
    return nil
  }

  /// Returns `count` if there is no CR or LF at or after `start`.
  @inline(__always) package func lineEnd(from start: Int) -> Int {
    var index = start
    while index < count {
      // The load may reach into the padding, which does not count.
      let ends = unsafe pusher_line_ends_32(base + index)
      if ends != 0 { return min(index &+ ends.trailingZeroBitCount, count) }
      index &+= 32
    }
    return count
  }
}
