package import PusherCore

/// The way to one value inside JSON: `choices.0.delta.content`, `choices[0].delta.content`.
///
/// Names have dots between them. A number is a place in an array, from 0, or a member's name;
/// between brackets it is a place only. A dot at the beginning is allowed, as jq writes it. A name
/// with a dot or a bracket has no spelling. All comparisons are of bytes.
package struct FieldPath: Equatable, Sendable {
  /// Maximum number of steps; the search is as deep.
  package static let stepLimit = 64

  package let text: String
  private let path: JSONPath

  package init(_ text: String) throws(FieldPathError) {
    self.text = text
    var rest = Array(text.utf8)[...]
    var path = JSONPath()
    if rest.first == UInt8(ascii: ".") { rest.removeFirst() }
    repeat {
      guard path.count < Self.stepLimit else { throw .tooLong(limit: Self.stepLimit) }
      if rest.first == UInt8(ascii: "[") {
        path.append(index: try Self.bracketed(&rest))
      } else {
        let name = try Self.named(&rest)
        path.append(name: name, index: Self.place(name))
      }
      if rest.first == UInt8(ascii: ".") {
        rest.removeFirst()
        guard !rest.isEmpty else { throw .emptyName }
      }
    } while !rest.isEmpty
    self.path = path
  }

  /// Returns the value in the data of a line, a string with its quotes; `nil` without one.
  ///
  /// The last of repeated members counts, as in JavaScript.
  package func value(in data: ByteView) -> ByteView? { path.value(in: data) }

  private static func named(
    _ rest: inout ArraySlice<UInt8>
  ) throws(FieldPathError) -> ArraySlice<UInt8> {
    let name = rest.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
    guard !name.isEmpty else { throw .emptyName }
    guard !name.contains(UInt8(ascii: "]")) else { throw .noPlace }
    rest.removeFirst(name.count)
    return name
  }

  private static func bracketed(_ rest: inout ArraySlice<UInt8>) throws(FieldPathError) -> Int {
    let digits = rest.dropFirst().prefix { $0 != UInt8(ascii: "]") }
    guard let place = place(digits), digits.endIndex < rest.endIndex else { throw .noPlace }
    rest.removeFirst(digits.count + 2)
    guard rest.first.map({ $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }) ?? true else {
      throw .noPlace
    }
    return place
  }

  /// Returns the number, without leading zeros and of at most nine digits.
  private static func place(_ digits: ArraySlice<UInt8>) -> Int? {
    guard (1...9).contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }),
      digits.count == 1 || digits.first != UInt8(ascii: "0")
    else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
  }
}

/// Reason why a text is no ``FieldPath``; the words follow the text.
package enum FieldPathError: Error, Equatable, CustomStringConvertible {
  case emptyName
  /// Brackets do not hold a number, or something else follows them.
  case noPlace
  case tooLong(limit: Int)

  package var description: String {
    switch self {
    case .emptyName: "has an empty name"
    case .noPlace: "has brackets that are not a place in an array, such as [0]"
    case .tooLong(let limit): "has more than \(limit) names and places"
    }
  }
}

/// Prints one field of each event's data: `--field`, with `--join` as one running text.
///
/// A field is found before its event counts, and written later, because an event without the field
/// is left out.
package final class FieldText {
  private let path: FieldPath
  private let joins: Bool
  /// The field whose last value is reported, and the beginning of that value.
  private let last: FieldPath?
  private let lastValue = ByteBuffer()
  private let output: ByteBuffer
  private let style: EventLineStyle
  /// The last found value, as printed.
  private let found = ByteBuffer()
  /// True after joined text, until its line end.
  private var isLineOpen = false
  /// Number of events without the field.
  private var missing = 0
  /// The beginning of an event without the field: the first that reports an error, else the last.
  private let sample = ByteBuffer()
  /// True if an event without the field is an object with a member `error`.
  package private(set) var holdsError = false
  private static let longestSample = 4096
  private let errorPath = try? FieldPath("error")

  package init(
    _ path: FieldPath, joins: Bool, last: FieldPath? = nil, output: ByteBuffer,
    style: EventLineStyle
  ) {
    (self.path, self.joins, self.last) = (path, joins, last)
    (self.output, self.style) = (output, style)
  }

  /// Keeps the field for ``write()``; returns false without one.
  ///
  /// - Parameter source: The data as it came.
  package func find(in data: ByteView, source: () -> String?) -> Bool {
    found.removeAll()
    if let value = last?.value(in: data), !value.equals("null") {
      lastValue.removeAll()
      lastValue.append(value[0..<min(value.count, Self.longestSample)])
    }
    if let value = path.value(in: data), keep(value) { return true }
    missing &+= 1
    guard !holdsError else { return false }
    let error = errorPath?.value(in: data)
    holdsError = error.map { !$0.equals("null") && !$0.equals("false") } ?? false
    sample.removeAll()
    sample.append(Array((source() ?? "").utf8.prefix(Self.longestSample)))
    return false
  }

  private func keep(_ value: ByteView) -> Bool {
    guard let text = value.unquoted else {
      // Servers of language models send null where a piece of the answer has no text.
      if joins, value.equals("null") { return false }
      // Only a container holds white space or strings.
      guard value[0] | 0x20 == UInt8(ascii: "{") else {
        found.append(value)
        return true
      }
      // A found value is valid, so this cannot fail.
      return (try? JSONCompactor.copy(value, into: found, forTerminal: style.forTerminal)) != nil
    }
    if style.forTerminal {
      found.append(TerminalText.escaped(JSONString.decode(text), keepsLayout: joins))
    } else {
      JSONString.decode(text, into: found)
    }
    return true
  }

  package func write() {
    output.append(found.view)
    if joins {
      if !found.isEmpty { isLineOpen = true }
    } else {
      output.append(style.terminator)
    }
  }

  /// Ends the line of joined text, if there is any.
  package func end() {
    guard isLineOpen else { return }
    isLineOpen = false
    output.append(style.terminator)
  }

  /// The last value of the other field, in words; `nil` if none is asked for.
  package var lastWords: String? {
    guard let last else { return nil }
    let value = lastValue.view
    if value.isEmpty { return "no event had the field '\(last.text)'" }
    return "\(last.text): \(value.unquoted.map(JSONString.decode) ?? value.text)"
  }

  /// Returns the events without the field, in words; `nil` if all had it.
  ///
  /// - Parameter isQuoted: Quotes one of them. An event that reports an error is always quoted.
  package func absence(isQuoted: Bool) -> String? {
    guard missing > 0 else { return nil }
    let text = "\(TerminalText.words(missing, of: "event")) came without the field '\(path.text)'"
    guard isQuoted || holdsError else { return text }
    return text + (missing == 1 ? ": " : ", one of them: ") + sample.view.text
  }
}
