internal import PusherCore

/// Prints events for people: `-o pretty`.
///
/// Events are arranged by a ``PrettyLayout``; members who come and go, and what happens to the connection, are told as
/// sentences, and time without a connection as a rule across the page. A rule also says when a new day has begun.
final class PrettyText {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private var layout: PrettyLayout
  private var time = ""
  /// The date of the last event.
  private var day = ""

  init(output: ByteBuffer, style: EventLineStyle, page: PageSettings) {
    self.output = output
    self.style = style
    layout = PrettyLayout(palette: style.palette, isUnicode: page.isUnicode)
  }

  /// What comes now came at this time, and goes to a page of this width.
  func begin(at time: WallTime, columns: Int) {
    let text = time.localText
    self.time = String(text.dropFirst(11).prefix(12))
    layout.width = columns
    let today = String(text.prefix(10))
    if !day.isEmpty, day != today {
      layout.write(day: today, into: output)
      output.append(style.terminator)
    }
    day = today
  }

  /// An event of the application.
  ///
  /// - Parameter isRepaired: Whether it stands for one that was missed.
  func write(_ envelope: Envelope, named name: String?, isRepaired: Bool = false) {
    let channel = envelope.channelName
    // What a channel tells of itself has a name that is given here.
    if let name, let sentence = PrettySentence(name, envelope.data, members: nil) {
      return write(PrettyEvent(time: time, channel: channel, body: .sentence(sentence)))
    }
    write(
      PrettyEvent(
        time: time, channel: channel, name: name ?? envelope.eventName,
        sender: envelope.userIDToken.map(JSONString.decode), isRepaired: isRepaired,
        body: .data(envelope.shownData(isRaw: style.rawData))))
  }

  /// An event of a stream.
  func write(event: String, data: JSONValue) {
    write(PrettyEvent(time: time, name: event, body: .data(data)))
  }

  /// An event of a channel itself, of the connection, or of our own.
  func write(own event: String, channel: String?, data: JSONValue, members: Int?) {
    if let sentence = PrettySentence(event, data, members: members) {
      write(PrettyEvent(time: time, channel: channel, body: .sentence(sentence)))
    } else {
      write(PrettyEvent(time: time, channel: channel, name: event, body: .data(data)))
    }
  }

  /// Time without a connection, and what follows from it.
  func write(gap: GapWords) {
    layout.write(gap, into: output)
    output.append(style.terminator)
  }

  private func write(_ event: PrettyEvent) {
    layout.write(event, into: output)
    output.append(style.terminator)
  }
}
