internal import PusherCore

/// Executes the lines of standard input in order, with `--stdin`.
///
/// An event waits for the confirmation of its channel, and each line for room in the send buffer.
/// Following lines stay unread meanwhile. Warnings name the number of a rejected line.
final class InputOrders {
  private let channels: ChannelMembership
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let lines = InputLines()
  private var waiting: ClientEvent?
  private var hasToldEnd = false

  private var feed: ChannelsFeed { channels.feed }

  init(loop: EventLoop, channels: ChannelMembership, diagnostics: Diagnostics) {
    (self.loop, self.channels, self.diagnostics) = (loop, channels, diagnostics)
    lines.onInput = { [unowned self] in carryOut() }
    loop.add(lines)
  }

  /// Executes lines until one must wait; called after every change.
  func carryOut() {
    while feed.hasOutputRoom {
      if let event = waiting, !settle(event) { break }
      waiting = nil
      guard let line = lines.next() else { break }
      begin(line)
    }
    lines.isPaused = waiting != nil || !feed.hasOutputRoom
    tellEnd()
  }

  /// Stops reading, and reports a waiting event.
  func stop() {
    loop.remove(lines)
    guard let event = waiting else { return }
    waiting = nil
    reject("\(event.name) was not sent: the run ended before \(event.channel) was subscribed")
  }

  private func begin(_ line: [UInt8]) {
    do throws(UsageError) {
      switch try InputOrder.read(line) {
      case nil: break
      case .send(let event): waiting = event
      case .subscribe(let channel): channels.join(channel)
      case .unsubscribe(let channel):
        guard channels.state(of: channel) != .unwanted else {
          return reject("'\(channel)' is not subscribed")
        }
        channels.leave(channel)
      }
    } catch { reject(error.message) }
  }

  /// Sends an event or rejects it; returns false if it must wait.
  private func settle(_ event: ClientEvent) -> Bool {
    switch channels.state(of: event.channel) {
    case .unwanted: reject("'\(event.channel)' is not subscribed")
    case .refused: reject("'\(event.channel)' was refused")
    case .expected: return false
    case .subscribed: return feed.trigger(event)
    }
    return true
  }

  private func reject(_ reason: String) {
    diagnostics.warning("line \(lines.number) of standard input: \(reason)")
  }

  private func tellEnd() {
    guard lines.hasEnded, waiting == nil, !hasToldEnd else { return }
    hasToldEnd = true
    if let failure = lines.failure { return diagnostics.warning(failure) }
    diagnostics.info("standard input ended after \(lines.number) lines; the run continues")
  }
}

/// One line of standard input, with `--stdin`.
///
/// The lines are `{"event":"client-x","channel":"private-a","data":…}`, `{"subscribe":"a"}` and
/// `{"unsubscribe":"a"}`. Other members are ignored, so printed lines can be sent again.
enum InputOrder: Equatable {
  case send(ClientEvent)
  case subscribe(String)
  case unsubscribe(String)

  /// Reads a line without its newline; `nil` for a blank line.
  ///
  /// - Throws: ``UsageError`` for a line of another shape, or an event that every server rejects.
  static func read(_ line: [UInt8]) throws(UsageError) -> InputOrder? {
    guard !line.isBlankLine else { return nil }
    guard let text = String(validating: line, as: UTF8.self),
      let value = try? JSONParser.parse(text), value.members != nil
    else { throw UsageError("not a JSON object") }
    let words = ["event", "subscribe", "unsubscribe"].filter { value[$0] != nil }
    guard words.count == 1, let word = words.first else {
      throw UsageError("a line needs exactly one of event, subscribe and unsubscribe")
    }
    guard let name = value[word]?.text else {
      throw UsageError("the value of \(word) is not a string")
    }
    switch word {
    case "event": return .send(try event(name, value))
    case "subscribe": return .subscribe(try channel(name))
    default: return .unsubscribe(name)
    }
  }

  private static func event(_ name: String, _ value: JSONValue) throws(UsageError) -> ClientEvent {
    guard let channel = value["channel"]?.text else { throw UsageError("no channel") }
    // The library would add the prefix; here a line holds the exact name.
    guard name.begins(with: ClientEvent.prefix) else {
      throw UsageError(
        "'\(name)' is not a client event: its name must begin with \(ClientEvent.prefix)")
    }
    do throws(ClientEventError) {
      return try ClientEvent(channel: channel, name: name, data: value["data"] ?? .null)
    } catch { throw UsageError("\(error)") }
  }

  private static func channel(_ name: String) throws(UsageError) -> String {
    if name.begins(with: "#") { throw UsageError("use --sign-in for the events of a user") }
    if let problem = ChannelName.problem(in: name) { throw UsageError(problem) }
    return name
  }
}
