/// The fast path from a Pusher message to its lines for people: ranges of bytes behind a head that is remembered.
///
/// It takes the messages that an ``EventTranscoder`` takes, when time, name and channel stand before their data as they
/// stood before the last event. Who lays pages out makes that head, and does all the rest.
package final class EventPage {
  /// What became of a message.
  package enum Outcome {
    case written
    /// The event is not wanted; nothing was written.
    case filtered
    /// The general path must decide; nothing was written.
    case unusual
    /// Nothing was written: its head is another one, or its data needs more than this.
    case other
  }

  /// Where people's lines go.
  private let output: ByteBuffer
  private let terminator: UInt8
  /// The compact line of JSON of the last message, and a NUL.
  private let line = ByteBuffer(capacity: 16 << 10)
  private let leading = LeadingMembers()
  /// How lines of JSON begin that have the head that is remembered, up to their data.
  private let beginning = ByteBuffer(capacity: 256)
  /// What stands for that beginning.
  private let head = ByteBuffer(capacity: 256)
  /// The column after the head.
  private var headEnd = 0
  /// Where the column of names ends, with the head.
  private var nameEnd = 0
  /// Data that is not plain, as it is shown, and the text of its last string.
  private let shown = ByteBuffer(capacity: 1024)
  private let text = ByteBuffer(capacity: 1024)
  /// The columns of the page; another width needs other heads.
  package var width = 80 {
    didSet { if width != oldValue { forgetHead() } }
  }

  /// Where data begins that stands below its head.
  private static let indent = 2

  /// - Parameter terminator: The byte after each event.
  package init(output: ByteBuffer, terminator: UInt8) {
    (self.output, self.terminator) = (output, terminator)
  }

  /// Appends the lines of an application event of the usual shape.
  package func append(
    _ message: ByteView, _ transcoder: EventTranscoder, filter: FilterMemory?
  ) -> Outcome {
    switch read(message, transcoder, filter: filter) {
    case .written: appendLine() ? .written : .other
    case .filtered: .filtered
    case .unusual: .unusual
    }
  }

  /// Reads a message, and writes nothing: for ``parts``.
  package func read(
    _ message: ByteView, _ transcoder: EventTranscoder, filter: FilterMemory?
  ) -> EventTranscoder.Outcome {
    line.removeAll()
    return transcoder.append(message, to: line, leading: leading, terminator: 0, filter: filter)
  }

  /// The next event needs a new head: the time or a column may be another one.
  package func forgetHead() {
    beginning.removeAll()
  }

  /// Takes what stands before the data of the event that was read, and of those like it.
  ///
  /// - Parameters:
  ///   - text: All from the first of its lines on.
  ///   - column: The column after it.
  ///   - nameEnd: Where the column of names ends.
  package func setHead(_ text: ByteView, of parts: Parts, column: Int, nameEnd: Int) {
    forgetHead()
    beginning.append(line.view[0..<parts.dataStart])
    head.removeAll()
    head.append(text)
    (headEnd, self.nameEnd) = (column, nameEnd)
  }

  // MARK: The event that was read

  /// What an event holds; valid until the next one is read.
  package struct Parts {
    /// The name, which holds no escape.
    package let event: ByteView
    /// The channel's name, which holds no escape.
    package let channel: ByteView
    /// The value, compact.
    package let data: ByteView
    fileprivate let dataStart: Int
  }

  /// What the event holds that was read; `nil` when none was.
  package var parts: Parts? {
    let view = line.view
    func name(from start: Int) -> Range<Int>? {
      guard start < view.count else { return nil }
      return unsafe view[start..<view.count].raw.firstIndex(of: UInt8(ascii: "\""))
        .map { start..<(start + $0) }
    }
    // `{"event":"`, `","channel":"`, `","data":`, and at the end a brace and a NUL.
    guard let event = name(from: 10), let channel = name(from: event.upperBound + 13),
      channel.upperBound + 11 < view.count
    else { return nil }
    let start = channel.upperBound + 9
    return Parts(
      event: view[event], channel: view[channel], data: view[start..<(view.count - 2)],
      dataStart: start)
  }

  /// Appends the lines of the event that was read, and their end, if it has the head that is remembered.
  private func appendLine() -> Bool {
    let view = line.view
    let start = beginning.count
    guard start > 0, view.begins(with: beginning.view) else { return false }
    let before = output.count
    output.append(head.view)
    guard write(view[start..<(view.count - 2)]) else {
      output.truncate(to: before)
      return false
    }
    output.append(terminator)
    return true
  }

  /// Appends the data of an event after the head, which has been written.
  ///
  /// - Returns: `false`, with nothing appended, for what must be laid out by the way that knows all text.
  package func appendData(_ json: ByteView) -> Bool {
    write(json)
  }

  @inline(__always)
  private func write(_ json: ByteView) -> Bool {
    let isText = json[0] == UInt8(ascii: "\"")
    let data = isText ? json[1..<(json.count - 1)] : json
    if data.count <= width - Self.indent {
      if JSONPage.isPlain(data) {
        appendCell(data, columns: data.count)
        return true
      }
    } else if isText {
      guard JSONPage.isPlain(data) else { return false }
      JSONPage.append(plainText: data, to: output, width: width, indent: Self.indent)
      return true
    } else if appendLines(data, columns: data.count, isPlain: true) {
      return true
    }
    return !isText && appendShown(data)
  }

  @inline(__always)
  private func appendLines(_ json: ByteView, columns: Int, isPlain: Bool) -> Bool {
    JSONPage.append(
      json, columns: columns, to: output, width: width, indent: Self.indent, isPlain: isPlain)
  }

  /// Appends data that is not plain: its strings are written anew, as people may see them.
  private func appendShown(_ json: ByteView) -> Bool {
    defer {
      shown.removeAll()
      text.removeAll()
    }
    do {
      try JSONCompactor.copy(json, into: shown, forTerminal: true, text: text)
    } catch {
      return false
    }
    guard let columns = JSONPage.columns(shown.view) else { return false }
    let room = width - Self.indent
    guard columns <= room else {
      return appendLines(shown.view, columns: columns, isPlain: false)
    }
    guard shown.count <= room * JSONPage.mostBytes else { return false }
    appendCell(shown.view, columns: columns)
    return true
  }

  /// Appends data that has room on a line: two columns after the head, in the column of data where it has room there,
  /// else below.
  private func appendCell(_ data: ByteView, columns: Int) {
    guard !data.isEmpty else { return }
    var column = headEnd
    if nameEnd + 2 + columns <= width { column = max(column, nameEnd) }
    if column + 2 + columns <= width {
      output.append(blanks: column + 2 - headEnd)
    } else {
      output.append(UInt8(ascii: "\n"))
      output.append(blanks: Self.indent)
    }
    output.append(data)
  }
}

extension ByteBuffer {
  fileprivate func append(blanks count: Int) {
    reserve(count)
    unsafe tail.update(repeating: UInt8(ascii: " "), count: count)
    commit(count)
  }
}
