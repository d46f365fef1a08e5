internal import PusherCore

enum RedisRefusal {
  static func words(_ what: String, error: String) -> String {
    let advice = advice(error)
    return "\(what): \(error)" + (advice.isEmpty ? "" : ": " + advice)
  }

  /// Describes the errors of the probe; each begins with the command's name.
  static func words(_ errors: [String]) -> String {
    let lacking = errors.filter { isPermissionError($0) && isOfCommand($0) }.map(command)
    guard lacking.isEmpty else {
      let rights = lacking.map { "+" + $0.lowercased() }.joined(separator: " ")
      return "\(lacking.joined(separator: ", ")): give its user \(rights)"
    }
    guard let first = errors.first else { return "" }
    let name = command(first)
    return words(
      name, error: String(decoding: first.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self))
  }

  static func isPermissionError(_ error: String) -> Bool {
    error.holds("NOPERM") || error.holds("user executing the script") || error.holds("ACL failure")
  }

  private static func command(_ error: String) -> String {
    String(decoding: error.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  // Redis 6 and later say "run the 'set' command", "run this command", "access a key" and "access
  // one of the channels".
  private static func isOfCommand(_ error: String) -> Bool {
    !isOfChannel(error) && !isOfKey(error)
  }

  private static func isOfChannel(_ error: String) -> Bool { error.holds("channel") }
  private static func isOfKey(_ error: String) -> Bool {
    error.holds("a key") || error.holds("the keys")
  }

  private static func advice(_ error: String) -> String {
    if error.begins(with: "OOM") { return "raise its maxmemory" }
    guard isPermissionError(error) else { return "" }
    if isOfChannel(error) { return "give its user &pusher-cli:*" }
    if isOfKey(error) { return "give its user ~pusher-cli:*" }
    // A script's error may not name the command; the probe of the next registration finds it.
    let parts = error.utf8.split(separator: UInt8(ascii: "'"))
    return error.holds("run the '") && parts.count > 1
      ? "give its user +\(String(decoding: parts[1], as: UTF8.self))" : ""
  }
}
