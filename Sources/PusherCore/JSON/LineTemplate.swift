/// Output for an event in place of its JSON line: literals and fields of that line.
///
/// It does not write fields that need another form, such as text with escapes: the caller's general
/// path can write every event, in the same bytes.
package final class LineTemplate {
  package enum Piece: Sendable {
    case literal(String)
    case event
    case channel
    case id
    case data
    case line
    case number
    /// The last text passed to ``set(_:variable:)``.
    case variable(Int)
  }

  struct Fields {
    /// Names between their quotes, without escapes.
    let event: ByteView
    var channel: ByteView?
    var id: ByteView?
    let data: ByteView
    let line: ByteView
  }

  /// A piece without counted references; a literal's text is a range of ``literals``.
  private enum Part {
    case literal(Range<Int>)
    case event, channel, id, data, line, number
    case variable(Int)
  }

  let line = ByteBuffer(capacity: 16_384)
  private let literals = ByteBuffer(capacity: 64)
  private let parts: [Part]
  private var variables: [[UInt8]]
  private let usesData: Bool
  /// More digits than any number has.
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

  /// Sets a variable; ignored if no piece names it.
  package func set(_ text: String, variable index: Int) {
    if variables.indices.contains(index) { variables[index] = Array(text.utf8) }
  }

  /// Returns `false`, with nothing appended, if a field needs another form.
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

  /// JSON reads the same as text if it is not a string and no string in it has an escape.
  private static func isPlain(_ data: ByteView) -> Bool {
    data[0] != UInt8(ascii: "\"") && !data.holds(UInt8(ascii: "\\"))
  }

  /// Returns an upper limit.
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

  @inline(__always) private func put(
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
