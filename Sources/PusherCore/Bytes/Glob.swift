/// A shell pattern: `*` any text, `?` one character, `[a-z]` and `[!a-z]` a set.
///
/// A backslash stands for itself, because names of PHP classes contain it; so does `\\`, as JSON
/// writes it. Inside a set, every other character is literal: `[*]`. So is an unclosed `[`.
///
/// A match reads each character once, and needs one step for each 64 elements of the pattern. No
/// text can make it slower: the pattern never goes back.
package struct Glob: Sendable, Equatable {
  /// Maximum size of a pattern from a user, in bytes; it limits the memory of ``steps``.
  package static let longestText = 4096

  /// Number of elements, without the stars.
  ///
  /// State N means that the first N elements match.
  private let length: Int
  /// Number of words with one bit for each state.
  private let wordCount: Int
  /// States before a `*`, which any character keeps.
  private let stars: [UInt64]
  /// First character of each class, in order; the pattern treats the characters of a class alike.
  private let starts: [UInt32]
  /// Class of each ASCII character.
  private let classes: [Int]
  /// States whose next element matches, for each class: ``wordCount`` words.
  private let steps: [UInt64]

  package init(_ text: String) {
    let pattern = GlobPattern(text)
    length = pattern.elements.count
    wordCount = length / 64 + 1
    var stars = [UInt64](repeating: 0, count: wordCount)
    for state in pattern.stars { stars[state / 64] |= 1 << UInt64(state % 64) }
    self.stars = stars
    let starts = Set([0] + pattern.elements.flatMap(\.borders)).sorted()
    var steps = [UInt64](repeating: 0, count: starts.count * wordCount)
    for (state, element) in pattern.elements.enumerated() {
      for (place, start) in starts.enumerated() where element.matches(start) {
        steps[place * wordCount + state / 64] |= 1 << UInt64(state % 64)
      }
    }
    (self.starts, self.steps) = (starts, steps)
    classes = (0..<128).map { Self.place(of: $0, in: starts) }
  }

  /// Returns the place of the last start that is not above `character`.
  private static func place(of character: UInt32, in starts: [UInt32]) -> Int {
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= character { low = middle } else { high = middle }
    }
    return low
  }

  /// Returns the problem with a pattern of a user; `nil` if it may be used.
  package static func problem(in text: String) -> String? {
    guard text.utf8.count > longestText else { return nil }
    return "a pattern has at most \(longestText) bytes; this one has \(text.utf8.count)"
  }

  /// Reports whether the pattern matches the whole of `name`; case matters.
  package func matches(_ name: String) -> Bool { matches(name.utf8.makeIterator()) }

  /// Reports whether the pattern matches the whole of `text`; each invalid byte is U+FFFD.
  package func matches(_ text: ByteView) -> Bool {
    unsafe matches(text.raw.makeIterator())
  }

  private func matches(_ bytes: some IteratorProtocol<UInt8>) -> Bool {
    var bytes = bytes
    var decoder = UTF8()
    var states = [UInt64](repeating: 0, count: wordCount)
    states[0] = 1
    while true {
      let character: UInt32
      switch decoder.decode(&bytes) {
      case .scalarValue(let scalar): character = scalar.value
      case .error: character = 0xFFFD
      case .emptyInput: return states[length / 64] >> UInt64(length % 64) & 1 == 1
      }
      guard step(&states, on: character) else { return false }
    }
  }

  /// Returns false if no state is left.
  private func step(_ states: inout [UInt64], on character: UInt32) -> Bool {
    let place = character < 128 ? classes[Int(character)] : Self.place(of: character, in: starts)
    var carry: UInt64 = 0
    var left: UInt64 = 0
    for word in 0..<wordCount {
      let onward = states[word] & steps[place * wordCount + word]
      let next = onward << 1 | carry | states[word] & stars[word]
      carry = onward >> 63
      states[word] = next
      left |= next
    }
    return left != 0
  }
}

/// The parts of a pattern's text.
private struct GlobPattern {
  enum Element {
    case one
    case literal(UInt32)
    case set([ClosedRange<UInt32>], negated: Bool)

    func matches(_ character: UInt32) -> Bool {
      switch self {
      case .one: true
      case .literal(let literal): literal == character
      case .set(let ranges, let negated): ranges.contains { $0.contains(character) } != negated
      }
    }

    /// The characters at which the answer of ``matches(_:)`` may change.
    var borders: [UInt32] {
      switch self {
      case .one: []
      case .literal(let literal): [literal, literal + 1]
      case .set(let ranges, _): ranges.flatMap { [$0.lowerBound, $0.upperBound + 1] }
      }
    }
  }

  private(set) var elements: [Element] = []
  /// Numbers of the elements that have a `*` before them; the last may be at the end.
  private(set) var stars: Set<Int> = []

  init(_ text: String) {
    let scalars = Array(text.unicodeScalars)
    var index = 0
    // After one bracket without an end, no later bracket has an end either.
    var mayClose = true
    while index < scalars.count {
      switch scalars[index] {
      case "*": stars.insert(elements.count)
      case "?": elements.append(.one)
      case "\\":
        if index + 1 < scalars.count, scalars[index + 1] == "\\" { index += 1 }
        elements.append(.literal(scalars[index].value))
      case "[":
        guard mayClose, let (set, end) = Self.set(scalars, from: index) else {
          mayClose = false
          fallthrough
        }
        elements.append(set)
        index = end
      default: elements.append(.literal(scalars[index].value))
      }
      index += 1
    }
  }

  private static func set(_ scalars: [Unicode.Scalar], from start: Int) -> (Element, Int)? {
    var index = start + 1
    let negated = index < scalars.count && (scalars[index] == "!" || scalars[index] == "^")
    if negated { index += 1 }
    var ranges: [ClosedRange<UInt32>] = []
    let first = index
    while index < scalars.count, scalars[index] != "]" || index == first {
      let isRange =
        index + 2 < scalars.count && scalars[index + 1] == "-" && scalars[index + 2] != "]"
      let ends = [scalars[index].value, scalars[isRange ? index + 2 : index].value].sorted()
      ranges.append(ends[0]...ends[1])
      index += isRange ? 3 : 1
    }
    guard index < scalars.count else { return nil }
    return (.set(ranges, negated: negated), index)
  }
}
