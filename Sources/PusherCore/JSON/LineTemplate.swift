/// What is printed of an event in place of its JSON line: literals, and fields of that line as they stand there.
///
/// A field that would have to be shown otherwise, such as text with escapes, is not written here: the caller has a general
/// way for every event, which gives the same bytes. It belongs to one thread.
package final class LineTemplate {
  /// A piece of what is printed.
  package enum Piece: Sendable {
    case literal(String)
    case event
    case channel
    case id
    /// The data as JSON.
    case data
    /// The whole line, without its terminator.
    case line
    /// The number that the caller gives.
    case number
    /// The text that was given to ``set(_:variable:)`` last.
    case variable(Int)
  }

  /// The fields of a line; the terminator is none.
  struct Fields {
    /// Names between their quotes, without escapes.
    let event: ByteView
    var channel: ByteView?
    var id: ByteView?
    let data: ByteView
    let line: ByteView
  }

  /// A piece without anything that is counted; a literal's text is a part of ``literals``.
  private enum Part {
    case literal(Range<Int>)
    case event, channel, id, data, line, number
    case variable(Int)
  }

  /// For the line that fields are taken from.
  let line = ByteBuffer(capacity: 16_384)
  private let literals = ByteBuffer(capacity: 64)
  private let parts: [Part]
  private var variables: [[UInt8]]
  private let usesData: Bool
  /// More digits than a number has.
  private static let longestNumber = 24

  package init(_ pieces: [Piece]) {
    var variableCount = 0
    parts = pieces.map { [literals] piece in
      switch piece {
      case .literal(let text):
        let start = literals.count
        literals.append(text)
        return .literal(start..<literals.count)
      case .event: return .event
      case .channel: return .channel
      case .id: return .id
      case .data: return .data
      case .line: return .line
      case .number: return .number
      case .variable(let index):
        variableCount = max(variableCount, index + 1)
        return .variable(index)
      }
    }
    variables = Array(repeating: [], count: variableCount)
    usesData = pieces.contains { if case .data = $0 { true } else { false } }
  }

  /// What a variable stands for from here on; one that no piece names is left out.
  package func set(_ text: String, variable index: Int) {
    if variables.indices.contains(index) { variables[index] = Array(text.utf8) }
  }

  /// Appends what is printed; `false`, with nothing appended, when a field must be shown otherwise.
  func append(_ fields: Fields, number: Int, to output: ByteBuffer, terminator: UInt8) -> Bool {
    guard fields.event.isPrintableASCII, fields.channel?.isPrintableASCII != false,
      fields.id?.isPrintableASCII != false, !usesData || Self.isPlain(fields.data)
    else { return false }
    output.reserve(size(fields) &+ 1)
    let start = unsafe output.tail
    var end = unsafe start
    for part in parts { unsafe put(part, of: fields, number, to: &end) }
    unsafe end.pointee = terminator
    output.commit(unsafe end + 1 - start)
    return true
  }

  /// Whether JSON reads the same as text: no string of its own, and no escape in any.
  private static func isPlain(_ data: ByteView) -> Bool {
    data[0] != UInt8(ascii: "\"") && !data.holds(UInt8(ascii: "\\"))
  }

  /// At least as many bytes as the pieces take.
  private func size(_ fields: Fields) -> Int {
    var size = literals.count
    for part in parts {
      switch part {
      case .literal: break
      case .event: size &+= fields.event.count
      case .channel: size &+= fields.channel?.count ?? 0
      case .id: size &+= fields.id?.count ?? 0
      case .data: size &+= fields.data.count
      case .line: size &+= fields.line.count
      case .variable(let index): size &+= variables[index].count
      case .number: size &+= Self.longestNumber
      }
    }
    return size
  }

  @inline(__always)
  private func put(
    _ part: Part, of fields: Fields, _ number: Int, to end: inout UnsafeMutablePointer<UInt8>
  ) {
    switch part {
    case .literal(let range): unsafe Self.put(literals.view[range], to: &end)
    case .event: unsafe Self.put(fields.event, to: &end)
    case .channel: if let channel = fields.channel { unsafe Self.put(channel, to: &end) }
    case .id: if let id = fields.id { unsafe Self.put(id, to: &end) }
    case .data: unsafe Self.put(fields.data, to: &end)
    case .line: unsafe Self.put(fields.line, to: &end)
    case .number: for byte in String(number).utf8 { unsafe Self.put(byte, to: &end) }
    case .variable(let index): for byte in variables[index] { unsafe Self.put(byte, to: &end) }
    }
  }

  @inline(__always)
  private static func put(_ byte: UInt8, to end: inout UnsafeMutablePointer<UInt8>) {
    unsafe end.pointee = byte
    unsafe end += 1
  }

  @inline(__always)
  private static func put(_ bytes: ByteView, to end: inout UnsafeMutablePointer<UInt8>) {
    unsafe end.update(from: bytes.base, count: bytes.count)
    unsafe end += bytes.count
  }
}
