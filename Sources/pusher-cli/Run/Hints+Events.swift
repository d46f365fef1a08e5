internal import PusherCore

/// What to look at when no wanted event came.
extension Hints {
  /// Most names in one message.
  private static let mostNames = 3

  /// In parentheses, that events came which the patterns kept out, and their names.
  static func rejection(_ printer: Printer, _ settings: PrintSettings) -> String {
    let events = printer.rejected == 1 ? "1 other event" : "\(printer.rejected) other events"
    let verdict =
      switch (settings.includedEvents.isEmpty, settings.excludedEvents.isEmpty) {
      case (_, true): "none matches -e"
      case (true, _): "all match -x"
      case (false, false): "-e and -x let none pass"
      }
    let names = nearestFirst(printer.filter?.refusedNames ?? [], to: settings.includedEvents)
    let more = names.count > mostNames ? " and others" : ""
    let shown = names.prefix(mostNames).map { "'\($0)'" }.joined(separator: ", ")
    return " (\(events) came, \(verdict)\(shown.isEmpty ? "" : ": ")\(shown)\(more))"
  }

  /// The names, those first that hold the letters of a pattern: `App\Events\OrderShipped` holds `OrderShipped`.
  private static func nearestFirst(_ names: [String], to patterns: [String]) -> [String] {
    let wanted = patterns.map { letters(of: $0) }.filter { !$0.isEmpty }
    func isNear(_ name: String) -> Bool {
      let plain = String(decoding: letters(of: name), as: UTF8.self)
      return wanted.contains { plain.holds($0) }
    }
    return names.filter(isNear) + names.filter { !isNear($0) }
  }

  /// ASCII letters in lower case and digits: what a name keeps from framework to framework.
  private static func letters(of text: String) -> [UInt8] {
    text.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
      .filter { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }
  }

  /// In parentheses, what to check when nothing came on `channels`; empty without a public one, which has no other name.
  static func silence(_ channels: [String]) -> String {
    guard let channel = channels.first(where: { ChannelKind(channelName: $0) == .public }) else {
      return ""
    }
    return " (nothing came; to check: does the app send on private-\(channel) or "
      + "presence-\(channel), which are other channels than \(channel)?)"
  }
}
