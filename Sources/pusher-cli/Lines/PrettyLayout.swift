internal import PusherCore

struct PrettyEvent {
  enum Body {
    case data(JSONValue)
    case sentence(PrettySentence)
  }

  /// Local time, such as `12:04:05.123`.
  var time: String
  var channel: String?
  /// The event's name; `nil` with a sentence.
  var name: String?
  var sender: String?
  /// True for an event from `--on-gap`.
  var isRepaired = false
  var body: Body
}

struct GapWords {
  var length: String
  var consequence: String
}

/// Arranges events in columns for a terminal of any width: time, channel, event, data.
///
/// A column is as wide as its widest entry so far, up to a quarter of a wide page. A longer channel
/// is cut in the middle, and printed whole above its first line. Events and data are folded.
struct PrettyLayout {
  var width = 80
  let palette: EventLinePalette?
  let isUnicode: Bool
  private var channelColumn = 0
  private var eventColumn = 0
  /// Hashes of the long channels printed last, the latest at the end.
  private var told: [Int] = []

  /// Minimum width; a narrower terminal wraps lines itself.
  static let narrowest = 20
  private static let broadest = 1000
  private static let fewWords = 24
  private static let mostTold = 16
  private static let indent = 2

  init(palette: EventLinePalette?, isUnicode: Bool) {
    (self.palette, self.isUnicode) = (palette, isUnicode)
  }

  var page: Int { min(max(width, Self.narrowest), Self.broadest) }
  private var widest: Int { min(max(page / 4, 14), page - 12, 32) }

  mutating func write(_ event: PrettyEvent, into output: ByteBuffer) {
    var writer = PageWriter(output: output, width: page, palette: palette)
    let end = writeHead(event, &writer)
    switch event.body {
    case .data(let data):
      let nameEnd = writeName(event, after: end, &writer)
      write(data, after: nameEnd, &writer)
    case .sentence(let sentence): write(sentence, after: end, &writer)
    }
  }

  // MARK: The columns

  private mutating func writeHead(_ event: PrettyEvent, _ writer: inout PageWriter) -> Int {
    let channel = event.channel.map(Diagnostics.escaped)
    let columns = channel.map(TextWidth.columns) ?? 0
    let colour = channel.flatMap { palette?.colour(of: $0.utf8) }
    if let channel, columns > widest, isNew(channel) {
      writer.advance(to: Self.indent)
      writer.fold(channel + ":", indent: Self.indent, in: colour)
      writer.newLine(indent: 0)
    }
    writer.fold(String(event.time.prefix(page < 60 ? 8 : 12)), indent: 0, in: palette?.key)
    channelColumn = max(channelColumn, min(columns, widest))
    guard channelColumn > 0 else { return writer.column }
    let end = writer.column + 2 + min(channelColumn, widest)
    if let channel {
      writer.advance(to: writer.column + 2)
      writer.fold(columns > widest ? cut(channel) : channel, indent: 0, in: colour)
    }
    return end
  }

  private func beginCell(_ columns: Int, after end: Int, _ writer: inout PageWriter) {
    if end + 2 + columns <= page { writer.advance(to: end) }
    writer.beginCell(columns, indent: Self.indent)
  }

  private mutating func writeName(
    _ event: PrettyEvent, after end: Int, _ writer: inout PageWriter
  ) -> Int {
    let name = Diagnostics.escaped(event.name ?? "")
    let columns = TextWidth.columns(name)
    beginCell(columns, after: end, &writer)
    eventColumn = max(eventColumn, min(columns, widest))
    let nameEnd = writer.column + max(columns, min(eventColumn, widest))
    writer.fold(name, indent: Self.indent, in: palette?.event)
    let notes = [
      event.sender.map { "from " + Diagnostics.escaped($0) }, event.isRepaired ? "repaired" : nil,
    ]
    for text in notes.compactMap(\.self) {
      writer.beginCell(TextWidth.columns(text), indent: Self.indent)
      writer.fold(text, indent: Self.indent, in: palette?.key)
    }
    return nameEnd
  }

  private func write(_ data: JSONValue, after nameEnd: Int, _ writer: inout PageWriter) {
    guard let line = PageWriter.line(data, columns: page - Self.indent) else {
      writer.newLine(indent: Self.indent)
      return writer.writeFolded(data, indent: Self.indent)
    }
    guard !line.isEmpty else { return }
    beginCell(TextWidth.columns(line), after: nameEnd, &writer)
    writer.fold(line, indent: Self.indent)
  }

  private func write(_ sentence: PrettySentence, after end: Int, _ writer: inout PageWriter) {
    let subject = sentence.subject.map(Diagnostics.escaped) ?? ""
    let rest = Diagnostics.escaped(sentence.rest)
    // The sentence continues below its start if the line has room for a few words.
    beginCell(min(TextWidth.columns(subject + rest), Self.fewWords), after: end, &writer)
    let indent = writer.room < Self.fewWords ? Self.indent : writer.column
    writer.fold(subject, indent: indent, in: palette?.event)
    writer.fold(rest, indent: indent)
  }

  // MARK: Channels that are longer than their column

  private func cut(_ channel: String) -> String {
    let mark = isUnicode ? "…" : ".."
    let room = widest - mark.unicodeScalars.count
    let scalars = channel.unicodeScalars
    func fitting(_ scalars: some Sequence<Unicode.Scalar>, _ room: Int) -> [Unicode.Scalar] {
      var left = room
      return Array(
        scalars.prefix {
          left -= TextWidth.columns($0)
          return left >= 0
        })
    }
    let front = fitting(scalars, room - room / 2)
    let back = fitting(scalars.reversed(), room / 2).reversed()
    var text = String.UnicodeScalarView(front)
    text.append(contentsOf: mark.unicodeScalars)
    text.append(contentsOf: back)
    return String(text)
  }

  /// Returns true for a long channel that was not printed lately, and notes it.
  private mutating func isNew(_ channel: String) -> Bool {
    let mark = EventLinePalette.mark(of: channel.utf8)
    guard !told.contains(mark) else { return false }
    told = told.suffix(Self.mostTold - 1) + [mark]
    return true
  }

  // MARK: Rules across the page

  func write(day: String, into output: ByteBuffer) {
    var writer = PageWriter(output: output, width: page, palette: palette)
    writer.fold(rule(day, TextWidth.columns(day)), indent: 0, in: palette?.key)
  }

  func write(_ gap: GapWords, into output: ByteBuffer) {
    var writer = PageWriter(output: output, width: page, palette: palette)
    let whole = Diagnostics.escaped("\(gap.length): \(gap.consequence)")
    let parts =
      TextWidth.columns(whole) + 10 <= page
      ? [whole] : [gap.length, gap.consequence].map(Diagnostics.escaped)
    for (index, part) in parts.enumerated() {
      if index > 0 { writer.newLine(indent: 0) }
      let columns = TextWidth.columns(part)
      let isRule = columns + 10 <= page
      writer.fold(
        isRule ? rule(part, columns) : part, indent: isRule ? 0 : Self.indent, in: palette?.gap)
    }
  }

  private func rule(_ words: String, _ columns: Int) -> String {
    let dash = isUnicode ? "─" : "-"
    return String(repeating: dash, count: 4) + " \(words) "
      + String(repeating: dash, count: page - columns - 6)
  }
}
