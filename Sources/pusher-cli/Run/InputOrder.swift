internal import PusherCore

/// One line of standard input, with `--stdin`.
///
/// The lines are `{"event":"client-x","channel":"private-a","data":…}`, `{"subscribe":"a"}` and
/// `{"unsubscribe":"a"}`. Other members are ignored, so printed lines can be sent again.
enum InputOrder: Equatable {
  case send(ClientEvent)
  case subscribe(String)
  case unsubscribe(String)

  struct Fault: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// Reads a line without its newline; `nil` for a blank line.
  ///
  /// - Throws: ``Fault`` for a line of another shape, or an event that every server rejects.
  static func read(_ line: [UInt8]) throws(Fault) -> InputOrder? {
    guard !line.isBlankLine else { return nil }
    guard let text = String(validating: line, as: UTF8.self),
      let value = try? JSONParser.parse(text), value.members != nil
    else { throw Fault("not a JSON object") }
    let words = ["event", "subscribe", "unsubscribe"].filter { value[$0] != nil }
    guard words.count == 1, let word = words.first else {
      throw Fault("a line needs exactly one of event, subscribe and unsubscribe")
    }
    guard let name = value[word]?.text else { throw Fault("the value of \(word) is not a string") }
    switch word {
    case "event": return .send(try event(name, value))
    case "subscribe": return .subscribe(try channel(name))
    default: return .unsubscribe(name)
    }
  }

  private static func event(_ name: String, _ value: JSONValue) throws(Fault) -> ClientEvent {
    guard let channel = value["channel"]?.text else { throw Fault("no channel") }
    // The library would add the prefix; here a line holds the exact name.
    guard name.begins(with: ClientEvent.prefix) else {
      throw Fault("'\(name)' is not a client event: its name must begin with \(ClientEvent.prefix)")
    }
    do throws(ClientEventError) {
      return try ClientEvent(channel: channel, name: name, data: value["data"] ?? .null)
    } catch { throw Fault("\(error)") }
  }

  private static func channel(_ name: String) throws(Fault) -> String {
    if name.begins(with: "#") { throw Fault("use --sign-in for the events of a user") }
    if let problem = ChannelName.problem(in: name) { throw Fault(problem) }
    return name
  }
}
