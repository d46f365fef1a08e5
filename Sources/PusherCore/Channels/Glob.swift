/// A shell pattern for event names: `*` any text, `?` one character, `[a-z]` and `[!a-z]` a set.
///
/// A backslash stands for itself, because names of PHP classes contain it; so does `\\`, as JSON
/// writes it. Inside a set, every other character is literal: `[*]`. So is an unclosed `[`.
package struct Glob: Sendable, Equatable {
  private enum Element: Sendable, Equatable {
    case any
    case one
    case literal(Unicode.Scalar)
    case set([ClosedRange<Unicode.Scalar>], negated: Bool)

    func matches(_ scalar: Unicode.Scalar) -> Bool {
      switch self {
      case .any, .one: true
      case .literal(let literal): literal == scalar
      case .set(let ranges, let negated): ranges.contains { $0.contains(scalar) } != negated
      }
    }
  }

  private let elements: [Element]

  package init(_ text: String) {
    let scalars = Array(text.unicodeScalars)
    var elements: [Element] = []
    var index = 0
    // After one bracket without an end, no later bracket has an end either.
    var mayClose = true
    while index < scalars.count {
      switch scalars[index] {
      case "*": if elements.last != .any { elements.append(.any) }
      case "?": elements.append(.one)
      case "\\":
        if index + 1 < scalars.count, scalars[index + 1] == "\\" { index += 1 }
        elements.append(.literal("\\"))
      case "[":
        guard mayClose, let (set, end) = Self.set(scalars, from: index) else {
          mayClose = false
          fallthrough
        }
        elements.append(set)
        index = end
      default: elements.append(.literal(scalars[index]))
      }
      index += 1
    }
    self.elements = elements
  }

  private static func set(_ scalars: [Unicode.Scalar], from start: Int) -> (Element, Int)? {
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

  /// Reports whether the pattern matches the whole of `name`; case matters.
  package func matches(_ name: String) -> Bool {
    let scalars = name.unicodeScalars
    var position = scalars.startIndex
    var element = 0
    // The point to continue from, after the last `*`, if the rest does not match.
    var retry: (element: Int, position: String.UnicodeScalarView.Index)?
    while position < scalars.endIndex {
      if element < elements.count, elements[element] == .any {
        retry = (element + 1, position)
        element += 1
      } else if element < elements.count, elements[element].matches(scalars[position]) {
        element += 1
        position = scalars.index(after: position)
      } else if let last = retry {
        position = scalars.index(after: last.position)
        retry = (last.element, position)
        element = last.element
      } else {
        return false
      }
    }
    return elements[element...].allSatisfy { $0 == .any }
  }
}
