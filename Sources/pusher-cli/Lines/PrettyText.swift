internal import PusherCore

/// Prints events for people: `-o pretty`.
///
/// ``PrettyLayout`` arranges events. Changes of members and of the connection are sentences; a gap
/// and a new day are rules across the page.
final class PrettyText {
  private let output: ByteBuffer
  private let style: EventLineStyle
  private var layout: PrettyLayout
  private var time = ""
  private var day = ""

  init(output: ByteBuffer, style: EventLineStyle, page: PageSettings) {
    self.output = output
    self.style = style
    layout = PrettyLayout(palette: style.palette, isUnicode: page.isUnicode)
  }

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

  func write(_ envelope: Envelope, named name: String?, isRepaired: Bool = false) {
    let channel = envelope.channelName
    // Lifecycle events of a channel have a `name` here.
    if let name, let sentence = PrettySentence(name, envelope.data, members: nil) {
      return write(PrettyEvent(time: time, channel: channel, body: .sentence(sentence)))
    }
    write(
      PrettyEvent(
        time: time, channel: channel, name: name ?? envelope.eventName,
        sender: envelope.userIDToken.map(JSONString.decode), isRepaired: isRepaired,
        body: .data(envelope.shownData)))
  }

  func write(event: String, data: JSONValue) {
    write(PrettyEvent(time: time, name: event, body: .data(data)))
  }

  /// Writes a lifecycle event, or one that the program itself made.
  func write(own event: String, channel: String?, data: JSONValue, members: Int?) {
    if let sentence = PrettySentence(event, data, members: members) {
      write(PrettyEvent(time: time, channel: channel, body: .sentence(sentence)))
    } else {
      write(PrettyEvent(time: time, channel: channel, name: event, body: .data(data)))
    }
  }

  func write(gap: GapWords) {
    layout.write(gap, into: output)
    output.append(style.terminator)
  }

  private func write(_ event: PrettyEvent) {
    layout.write(event, into: output)
    output.append(style.terminator)
  }
}
