/// A shell pattern for a whole text: `*` any text, `?` one character, `[a-z]` and `[!a-z]` a set.
///
/// A backslash stands for itself, because names of PHP classes contain it; so does `\\`, as JSON
/// writes it. Inside a set, every other character is literal: `[*]`. So is an unclosed `[`.
///
/// A match follows all possible places in the pattern at once, one bit each. So one character of a
/// text costs one step for each 64 parts of the pattern, whatever the text holds.
package struct Glob: Sendable, Equatable {
  /// Maximum size of a pattern that users give, in bytes.
  package static let longestText = 1024

  /// A part that does not match all characters above ASCII, or none of them.
  private struct WidePart: Equatable {
    let place: Int
    let part: GlobPart
  }

  /// Bits for the parts that match an ASCII character: `words` words for each character.
  private var ascii: [UInt64]
  /// Bits for the parts that match every other character.
  private var others: [UInt64]
  private var wide: [WidePart] = []
  /// Bits for the places with a star: behind as many parts as the number of the bit.
  private var stars: [UInt64]
  private let words: Int
  /// The place behind the last part.
  private let end: Int

  package init(_ text: String) {
    let (parts, places) = GlobPart.parse(text)
    end = parts.count
    words = parts.count / 64 + 1
    ascii = Array(repeating: 0, count: 128 * words)
    others = Array(repeating: 0, count: words)
    stars = others
    for place in places { stars[place / 64] |= Self.bit(place) }
    for (place, part) in parts.enumerated() { add(part, at: place) }
  }

  private static func bit(_ place: Int) -> UInt64 { 1 &<< UInt64(place & 63) }

  private mutating func add(_ part: GlobPart, at place: Int) {
    let (word, bit) = (place / 64, Self.bit(place))
    for code: UInt8 in 0..<128 where part.matches(Unicode.Scalar(code)) {
      ascii[Int(code) * words + word] |= bit
    }
    if !part.isSameAboveASCII {
      wide.append(WidePart(place: place, part: part))
    } else if part.matches("\u{80}") {
      others[word] |= bit
    }
  }

  /// Reports whether the pattern matches the whole of `name`; case matters.
  package func matches(_ name: String) -> Bool { matches(name.unicodeScalars) }

  /// Reports whether the pattern matches the whole of `text`, which is UTF-8.
  package func matches(_ text: ByteView) -> Bool { matches(UTF8Scalars(text)) }

  private func matches(_ text: some Sequence<Unicode.Scalar>) -> Bool {
    var places = [UInt64](repeating: 0, count: words)
    var mask = others
    places[0] = 1
    for scalar in text {
      // A star at the end matches the rest.
      if isAtEnd(places), isAtEnd(stars) { return true }
      let isAlive: Bool
      if scalar.isASCII {
        isAlive = advance(&places, by: ascii, from: Int(scalar.value) * words)
      } else {
        if !wide.isEmpty { find(scalar, &mask) }
        isAlive = advance(&places, by: mask, from: 0)
      }
      guard isAlive else { return false }
    }
    return isAtEnd(places)
  }

  private func isAtEnd(_ places: [UInt64]) -> Bool { places[words - 1] & Self.bit(end) != 0 }

  /// Sets the bits of the parts that match a character above ASCII.
  private func find(_ scalar: Unicode.Scalar, _ mask: inout [UInt64]) {
    for word in 0..<words { mask[word] = others[word] }
    for other in wide where other.part.matches(scalar) {
      mask[other.place / 64] |= Self.bit(other.place)
    }
  }

  /// Moves all places over one character; returns whether one is left.
  @inline(__always)
  private func advance(_ places: inout [UInt64], by mask: [UInt64], from start: Int) -> Bool {
    var (carry, left): (UInt64, UInt64) = (0, 0)
    for word in 0..<words {
      let fitting = places[word] & mask[start + word]
      let next = fitting &<< 1 | carry | places[word] & stars[word]
      carry = fitting &>> 63
      places[word] = next
      left |= next
    }
    return left != 0
  }
}

/// A part of a pattern that matches one character.
private enum GlobPart: Equatable {
  case any
  case literal(Unicode.Scalar)
  case set([ClosedRange<Unicode.Scalar>], negated: Bool)

  func matches(_ scalar: Unicode.Scalar) -> Bool {
    switch self {
    case .any: true
    case .literal(let literal): literal == scalar
    case .set(let ranges, let negated): ranges.contains { $0.contains(scalar) } != negated
    }
  }

  /// True if the part matches all characters above ASCII, or none.
  var isSameAboveASCII: Bool {
    switch self {
    case .any: true
    case .literal(let literal): literal.isASCII
    case .set(let ranges, _): ranges.allSatisfy(\.upperBound.isASCII)
    }
  }

  /// Returns the parts, and the places of the stars among them.
  static func parse(_ text: String) -> (parts: [GlobPart], stars: [Int]) {
    let scalars = Array(text.unicodeScalars)
    var (parts, stars): ([GlobPart], [Int]) = ([], [])
    var index = 0
    // After one bracket without an end, no later bracket has an end either.
    var mayClose = true
    while index < scalars.count {
      switch scalars[index] {
      case "*": stars.append(parts.count)
      case "?": parts.append(.any)
      case "\\":
        if index + 1 < scalars.count, scalars[index + 1] == "\\" { index += 1 }
        parts.append(.literal("\\"))
      case "[":
        guard mayClose, let (set, end) = set(scalars, from: index) else {
          mayClose = false
          fallthrough
        }
        parts.append(set)
        index = end
      default: parts.append(.literal(scalars[index]))
      }
      index += 1
    }
    return (parts, stars)
  }

  private static func set(_ scalars: [Unicode.Scalar], from start: Int) -> (GlobPart, Int)? {
    var index = start + 1
    let negated = index < scalars.count && (scalars[index] == "!" || scalars[index] == "^")
    if negated { index += 1 }
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    let first = index
    while index < scalars.count, scalars[index] != "]" || index == first {
      if index + 2 < scalars.count, scalars[index + 1] == "-", scalars[index + 2] != "]" {
        let low = min(scalars[index], scalars[index + 2])
        ranges.append(low...max(scalars[index], scalars[index + 2]))
        index += 3
      } else {
        ranges.append(scalars[index]...scalars[index])
        index += 1
      }
    }
    guard index < scalars.count else { return nil }
    return (.set(ranges, negated: negated), index)
  }
}

/// The characters of UTF-8; bytes that are not UTF-8 give some character.
private struct UTF8Scalars: Sequence, IteratorProtocol {
  private let text: ByteView
  private var index = 0

  init(_ text: ByteView) { self.text = text }

  mutating func next() -> Unicode.Scalar? {
    guard index < text.count else { return nil }
    let lead = text[index]
    index += 1
    guard lead >= 0x80 else { return Unicode.Scalar(lead) }
    let following = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3
    guard following <= text.count - index else { return "\u{FFFD}" }
    var value = UInt32(lead) & 0x3F &>> UInt32(following)
    for _ in 0..<following {
      value = value &<< 6 | UInt32(text[index] & 0x3F)
      index += 1
    }
    return Unicode.Scalar(value) ?? "\u{FFFD}"
  }
}
