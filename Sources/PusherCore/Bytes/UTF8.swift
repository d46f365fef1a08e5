internal import CSystemVectors

/// Checks UTF-8 in pieces (RFC 3629 section 4).
///
/// Overlong forms, surrogates and values above U+10FFFF fail at the first byte that makes them
/// certain. The validator cannot be used again after a failure.
package struct UTF8Validator: Sendable {
  /// Continuation bytes that the current character still needs.
  private var wanted = 0
  /// Range of the next continuation byte.
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  package init() {}

  package var isComplete: Bool { wanted == 0 }

  /// Returns `false` if no continuation can make the text valid.
  package mutating func feed(_ bytes: ByteView) -> Bool {
    var index = 0
    while wanted > 0 && index < bytes.count {
      guard accept(bytes[index]) else { return false }
      index += 1
    }
    let cut = max(index, Self.startOfCutSequence(bytes))
    guard Self.isValid(bytes[index..<cut]) else { return false }
    for tail in cut..<bytes.count {
      guard accept(bytes[tail]) else { return false }
    }
    return true
  }

  /// Reports whether `bytes` is valid and ends with a complete character.
  @inline(__always) package static func isValid(_ bytes: ByteView) -> Bool {
    isASCII(bytes) || isValidBeyondASCII(bytes)
  }

  /// Returns `false` for less than 64 bytes, for which the standard library is as quick.
  @inline(__always) static func isASCII(_ bytes: ByteView) -> Bool {
    guard bytes.count >= 128 else {
      return unsafe bytes.count >= 64 && pusher_has_high_64(bytes.base) == 0
        && pusher_has_high_64(bytes.base + bytes.count - 64) == 0
    }
    let last = bytes.count &- 128
    var index = 0
    // Each block lies inside the view; the last one may overlap the one before.
    while index < last {
      guard unsafe pusher_has_high_128(bytes.base + index) == 0 else { return false }
      index &+= 128
    }
    return unsafe pusher_has_high_128(bytes.base + last) == 0
  }

  private static func isValidBeyondASCII(_ bytes: ByteView) -> Bool {
    guard #available(macOS 26, *) else {
      return unsafe String(validating: bytes.raw, as: UTF8.self) != nil
    }
    let span = unsafe Span(_unsafeStart: UnsafePointer(bytes.base), count: bytes.count)
    do {
      _ = try UTF8Span(validating: span)
      return true
    } catch { return false }
  }

  /// Returns the text of valid bytes, `nil` for others.
  package static func text(_ bytes: ByteView) -> String? {
    if bytes.isPrintableASCII { return bytes.text(isASCII: true) }
    return isValid(bytes) ? bytes.text : nil
  }

  /// Returns the text of valid bytes, `nil` for others.
  ///
  /// `String(validating:as:)` looks up types at run time, which costs more than the check.
  package static func text(_ bytes: ArraySlice<UInt8>) -> String? {
    unsafe bytes.withUnsafeBufferPointer {
      guard let base = $0.baseAddress, !$0.isEmpty else { return "" }
      let view = unsafe ByteView(base: UnsafeMutablePointer(mutating: base), count: $0.count)
      return isValid(view) ? view.text : nil
    }
  }

  private mutating func accept(_ byte: UInt8) -> Bool {
    guard wanted == 0 else {
      guard byte >= low && byte <= high else { return false }
      (low, high) = (0x80, 0xBF)
      wanted -= 1
      return true
    }
    guard byte >= 0x80 else { return true }
    guard let rest = Self.continuation(of: byte) else { return false }
    (wanted, low, high) = rest
    return true
  }

  /// Returns the start of a character that `bytes` cuts off; `bytes.count` if there is none.
  private static func startOfCutSequence(_ bytes: ByteView) -> Int {
    var back = 1
    while back <= min(3, bytes.count) {
      let byte = bytes[bytes.count - back]
      guard byte >= 0x80 else { break }
      if byte >= 0xC0 {
        let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
        return length > back ? bytes.count - back : bytes.count
      }
      back += 1
    }
    return bytes.count
  }
}

extension UTF8Validator {
  /// Returns how many bytes follow the first byte of a character (RFC 3629 section 4), and the
  /// range of the first of them; the others are 0x80 to 0xBF.
  @inline(__always)
  fileprivate static func continuation(of lead: UInt8) -> (count: Int, low: UInt8, high: UInt8)? {
    switch lead {
    case 0xC2...0xDF: (1, 0x80, 0xBF)
    case 0xE0: (2, 0xA0, 0xBF)
    case 0xE1...0xEC, 0xEE, 0xEF: (2, 0x80, 0xBF)
    case 0xED: (2, 0x80, 0x9F)
    case 0xF0: (3, 0x90, 0xBF)
    case 0xF1...0xF3: (3, 0x80, 0xBF)
    case 0xF4: (3, 0x80, 0x8F)
    default: nil
    }
  }
}

extension ByteBuffer {
  /// Appends bytes as UTF-8, repaired as the decoder of the Encoding standard does.
  ///
  /// Each longest incomplete character, and each byte that cannot begin a character, becomes
  /// U+FFFD. Returns `false`, with a part appended, if the result, which may be three times as
  /// large, exceeds `limit`.
  package func append(repairing bytes: ByteView, limit: Int) -> Bool {
    var written = 0
    var index = 0
    while index < bytes.count {
      let start = index
      while index < bytes.count, case (true, let end) = Self.character(bytes, at: index) {
        index = end
      }
      written += index > start ? index - start : 3
      guard written <= limit else { return false }
      if index > start {
        append(bytes[start..<index])
      } else {
        append("\u{FFFD}" as StaticString)
        index = Self.character(bytes, at: index).end
      }
    }
    return true
  }

  /// Reads the character at `start`; an incomplete one ends with its last valid byte.
  private static func character(_ bytes: ByteView, at start: Int) -> (isWhole: Bool, end: Int) {
    let lead = bytes[start]
    guard lead >= 0x80 else { return (true, start + 1) }
    guard let (count, low, high) = UTF8Validator.continuation(of: lead) else {
      return (false, start + 1)
    }
    var range = low...high
    var index = start + 1
    let whole = index + count
    while index < whole, index < bytes.count, range.contains(bytes[index]) {
      range = 0x80...0xBF
      index += 1
    }
    return (index == whole, index)
  }
}
