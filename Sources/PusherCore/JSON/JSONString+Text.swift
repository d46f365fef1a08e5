extension JSONString {
  /// What the bytes between the quotes of a valid JSON string stand for, with one allocation.
  ///
  /// The same as ``decode(_:)`` for bytes that stand anywhere, without padding behind them.
  package static func text(of escaped: UnsafeRawBufferPointer) -> String {
    guard unsafe escaped.contains(UInt8(ascii: "\\")) else {
      return unsafe String(decoding: escaped, as: UTF8.self)
    }
    return unsafe String(unsafeUninitializedCapacity: escaped.count) { output in
      var source = 0
      var target = 0
      while source < escaped.count {
        let run = unsafe plainRun(escaped, from: source)
        if run > 0 {
          for index in 0..<run { unsafe output[target + index] = escaped[source + index] }
          source += run
          target += run
        }
        guard source < escaped.count else { break }
        unsafe target += unescape(escaped, &source, to: output, at: target)
      }
      return target
    }
  }

  /// How many bytes from `start` on are no backslash.
  private static func plainRun(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var end = start
    while end < bytes.count, unsafe bytes[end] != UInt8(ascii: "\\") { end += 1 }
    return end - start
  }

  /// Writes what the escape at `source` stands for, and answers how many bytes that are.
  private static func unescape(
    _ bytes: UnsafeRawBufferPointer, _ source: inout Int,
    to output: UnsafeMutableBufferPointer<UInt8>, at target: Int
  ) -> Int {
    let letter = unsafe source + 1 < bytes.count ? bytes[source + 1] : 0
    guard letter == UInt8(ascii: "u") else {
      unsafe output[target] = plain(letter)
      source += 2
      return 1
    }
    let high = unsafe unit(bytes, at: source + 2)
    source += 6
    var scalar = high.flatMap { Unicode.Scalar($0) }
    if let high, 0xD800..<0xDC00 ~= high, source + 6 <= bytes.count,
      unsafe bytes[source] == UInt8(ascii: "\\"), unsafe bytes[source + 1] == UInt8(ascii: "u"),
      let low = unsafe unit(bytes, at: source + 2), 0xDC00...0xDFFF ~= low
    {
      scalar = Unicode.Scalar(0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
      source += 6
    }
    var count = 0
    for byte in UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
      unsafe output[target + count] = byte
      count += 1
    }
    return count
  }

  /// The 16-bit unit of four hexadecimal digits.
  private static func unit(_ bytes: UnsafeRawBufferPointer, at start: Int) -> UInt16? {
    guard start + 4 <= bytes.count else { return nil }
    var unit: UInt16 = 0
    for index in start..<(start + 4) {
      guard let digit = unsafe Hex.value(of: bytes[index]) else { return nil }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }
}
