package import PusherCore

/// Prints events for people: `-o pretty`, in columns for a terminal of any width.
///
/// The columns are time, channel, event and data. A column is as wide as its widest entry so far,
/// up to a quarter of a wide page. A longer channel is cut in the middle, and printed whole above
/// its first line. Events and data are folded. Changes of members and of the connection are
/// sentences; a gap and a new day are rules across the page.
package final class PrettyText {
  private let output: ByteBuffer
  private let terminator: UInt8
  private let palette: EventLinePalette?
  private let isUnicode: Bool
  private var width = 80
  private var time = ""
  private var day = ""
  private var channelColumn = 0
  private var eventColumn = 0
  /// Hashes of the long channels printed last, the latest at the end.
  private var told: [Int] = []

  /// Minimum width; a narrower terminal wraps lines itself.
  private static let narrowest = 20
  private static let broadest = 1000
  private static let fewWords = 24
  private static let mostTold = 16
  private static let indent = 2

  package init(output: ByteBuffer, style: EventLineStyle, isUnicode: Bool) {
    (self.output, self.isUnicode) = (output, isUnicode)
    (terminator, palette) = (style.terminator, style.palette)
  }

  private var page: Int { min(max(width, Self.narrowest), Self.broadest) }
  private var widest: Int { min(max(page / 4, 14), page - 12, 32) }

  /// - Parameter text: Local time in RFC 3339.
  package func begin(at text: String, columns: Int) {
    time = String(text.dropFirst(11).prefix(12))
    width = columns
    let today = String(text.prefix(10))
    if !day.isEmpty, day != today {
      write { $0.fold(rule(today, TextWidth.columns(today)), indent: 0, in: palette?.key) }
    }
    day = today
  }

  private func write(_ body: (inout PageWriter) -> Void) {
    var writer = PageWriter(output: output, width: page, palette: palette)
    body(&writer)
    output.append(terminator)
  }

  /// - Parameters:
  ///   - isNews: True for a lifecycle event, which is a sentence if there are words for it.
  ///   - members: Current number of members of the channel, if known.
  package func write(_ line: borrowing EventLine, isNews: Bool, members: Int?) {
    let (name, data) = (line.name, line.shownData)
    let sentence = isNews ? PrettySentence(name, data, members: members) : nil
    write(
      PrettyEvent(
        channel: line.channel.map(JSONString.decode), name: name,
        sender: line.userID.map(JSONString.decode), isRepaired: line.isRepaired,
        body: sentence.map { .sentence($0) } ?? .data(data)))
  }

  func write(_ event: PrettyEvent) {
    write { writer in
      let end = writeHead(event, &writer)
      switch event.body {
      case .data(let data):
        let nameEnd = writeName(event, after: end, &writer)
        write(data, after: nameEnd, &writer)
      case .sentence(let sentence): write(sentence, after: end, &writer)
      }
    }
  }

  package func write(gap length: String, consequence: String) {
    let whole = TerminalText.escaped("\(length): \(consequence)")
    let parts =
      TextWidth.columns(whole) + 10 <= page
      ? [whole] : [length, consequence].map(TerminalText.escaped)
    write { writer in
      for (index, part) in parts.enumerated() {
        if index > 0 { writer.newLine(indent: 0) }
        let columns = TextWidth.columns(part)
        let isRule = columns + 10 <= page
        writer.fold(
          isRule ? rule(part, columns) : part, indent: isRule ? 0 : Self.indent, in: palette?.gap)
      }
    }
  }

  private func rule(_ words: String, _ columns: Int) -> String {
    let dash = isUnicode ? "─" : "-"
    return String(repeating: dash, count: 4) + " \(words) "
      + String(repeating: dash, count: page - columns - 6)
  }

  // MARK: The columns

  private func writeHead(_ event: PrettyEvent, _ writer: inout PageWriter) -> Int {
    let channel = event.channel.map(TerminalText.escaped)
    let columns = channel.map(TextWidth.columns) ?? 0
    let colour = channel.flatMap { palette?.colour(of: $0.utf8) }
    if let channel, columns > widest, isNew(channel) {
      writer.advance(to: Self.indent)
      writer.fold(channel + ":", indent: Self.indent, in: colour)
      writer.newLine(indent: 0)
    }
    writer.fold(String(time.prefix(page < 60 ? 8 : 12)), indent: 0, in: palette?.key)
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

  private func writeName(
    _ event: PrettyEvent, after end: Int, _ writer: inout PageWriter
  ) -> Int {
    let name = TerminalText.escaped(event.name ?? "")
    let columns = TextWidth.columns(name)
    beginCell(columns, after: end, &writer)
    eventColumn = max(eventColumn, min(columns, widest))
    let nameEnd = writer.column + max(columns, min(eventColumn, widest))
    writer.fold(name, indent: Self.indent, in: palette?.event)
    let notes = [
      event.sender.map { "from " + TerminalText.escaped($0) }, event.isRepaired ? "repaired" : nil,
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
    let subject = sentence.subject.map(TerminalText.escaped) ?? ""
    let rest = TerminalText.escaped(sentence.rest)
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
  private func isNew(_ channel: String) -> Bool {
    let mark = EventLinePalette.mark(of: channel.utf8)
    guard !told.contains(mark) else { return false }
    told = told.suffix(Self.mostTold - 1) + [mark]
    return true
  }
}

struct PrettyEvent {
  enum Body {
    case data(JSONValue)
    case sentence(PrettySentence)
  }

  var channel: String?
  /// The event's name; `nil` with a sentence.
  var name: String?
  var sender: String?
  /// True for an event from `--on-gap`.
  var isRepaired = false
  var body: Body
}

struct PrettySentence: Equatable {
  var subject: String?
  /// The rest of the sentence, with a leading blank after a subject.
  var rest: String
}

extension PrettySentence {
  /// Describes a lifecycle event; `members` is the current number of members, if known.
  init?(_ event: String, _ data: JSONValue, members: Int?) {
    guard let colon = event.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let word = String(event[event.index(after: colon)...])
    guard let found = Self.ofChannel(word, data, members) ?? Self.ofConnection(word, data) else {
      return nil
    }
    self = found
  }

  private static func ofChannel(
    _ word: String, _ data: JSONValue, _ members: Int?
  ) -> PrettySentence? {
    let there = members.map { " (\(TerminalText.words($0, of: "member")))" } ?? ""
    switch word {
    case "member_added": return Self(subject: name(of: data), rest: " joined" + there)
    case "member_removed": return Self(subject: name(of: data), rest: " left" + there)
    case "subscription_succeeded":
      let count = data["presence"]?["count"]?.integer.map {
        " (\(TerminalText.words($0, of: "member")))"
      }
      return Self(rest: "subscribed" + (count ?? there))
    case "subscription_error": return Self(rest: "subscription refused: " + failure(data))
    case "subscription_count":
      return data["subscription_count"]?.integer.map {
        Self(rest: $0 == 1 ? "1 subscription" : "\($0) subscriptions")
      }
    case "left": return Self(rest: "left: no other subscribers")
    case "cache_miss": return Self(rest: "no event is cached")
    case "online": return Self(subject: users(data), rest: " came online")
    case "offline": return Self(subject: users(data), rest: " went offline")
    default: return nil
    }
  }

  private static func ofConnection(_ word: String, _ data: JSONValue) -> PrettySentence? {
    func text(_ member: String) -> String { data[member]?.identifier ?? "" }
    switch word {
    case "connection_established":
      return Self(rest: "connected to \(text("host")), socket \(text("socket_id"))")
    case "connected":
      let id = text("last_event_id")
      return Self(
        rest: "connected to \(text("url"))" + (id.isEmpty ? "" : ", continuing after event \(id)"))
    case "disconnected":
      let retry = text("retry_in")
      return Self(
        rest: "no connection: \(text("reason"))"
          + (retry.isEmpty ? "" : "; retrying in \(retry) s"))
    case "signin_error": return Self(rest: "sign-in refused: " + failure(data))
    case "error":
      let code = text("code")
      return Self(
        rest: "the server reports error" + (code.isEmpty ? "" : " " + code) + ": " + text("message")
      )
    case "rate_limited":
      let end =
        data["all_in"] == nil
        ? "; retrying in \(text("retry_in")) s" : ", which takes about \(text("all_in")) s"
      let message = text("message").isEmpty ? "" : ": " + text("message")
      return Self(
        rest: "the server's rate limit\(message); \(text("waiting")) requests wait\(end)")
    case "exit":
      return Self(
        rest: "ended after \(text("events")) events: \(text("reason")), status \(text("status"))")
    default: return nil
    }
  }

  /// Name of a member as the app gave it, followed by the ID; else the ID.
  private static func name(of member: JSONValue) -> String {
    let id = member["user_id"]?.identifier ?? "somebody"
    guard let name = member["user_info"]?["name"]?.text, !name.isEmpty, name != id else {
      return id
    }
    return "\(name) (\(id))"
  }

  private static func users(_ data: JSONValue) -> String {
    (data["user_ids"]?.elements ?? []).compactMap(\.identifier).joined(separator: ", ")
  }

  private static func failure(_ data: JSONValue) -> String {
    let status = data["status"]?.identifier.map { " (status \($0))" } ?? ""
    return (data["error"]?.identifier ?? "") + status
  }
}
