/// Options that a command does not have, and what to use in their place.
extension Flags {
  /// Returns the reason why `command` refuses a flag, typed as `written`; `nil` if it has the flag.
  static func refusal(of flag: Flag, written: String, by command: Command) -> String? {
    guard !of(command).contains(flag) else { return nil }
    let start = "\(command.rawValue) has no option \(written)"
    if let hint = hint(for: flag, written: written, by: command) { return "\(start): \(hint)" }
    let owners = Command.allCases.filter { of($0).contains(flag) }.map(\.rawValue)
    let list =
      owners.count > 1
      ? owners.dropLast().joined(separator: ", ") + " and " + owners[owners.count - 1]
      : owners.joined()
    let name = written == flag.spelling ? "it" : flag.spelling
    return "\(start) (\(name) belongs to \(list))"
  }

  /// Returns the right option where the list of owners would not help; `nil` for most flags.
  private static func hint(for flag: Flag, written: String, by command: Command) -> String? {
    switch (command, flag) {
    case (.sse, .key) where written == "-k":
      "-k is --key; to skip the check of the certificate, give --insecure"
    case (.sse, _) where flag.group == .connection:
      "its URL names the server; for channels, use 'pusher-cli subscribe'"
    case (.serve, .host), (.serve, .url): "give its address with --listen HOST:PORT"
    case (.serve, .scheme): "--tls-cert and --tls-key make it speak https and wss"
    case (.serve, .path): "it answers at /; a proxy can take a prefix away"
    case (.serve, .local): "it is the server of --local"
    case (.serve, .output), (.serve, .raw), (.serve, .format):
      "--log-events prints events as JSON lines"
    case (.serve, .authEndpoint): "--auth-endpoints answers authorisation requests"
    case (.auth, _) where flag.group == .connection, (.sign, _) where flag.group == .connection,
      (.verify, _) where flag.group == .connection:
      "it signs without a server; leave the option out"
    case (.auth, .channel), (.sign, .channel), (.verify, .channel), (.channels, .channel),
      (.users, .channel), (.check, .channel):
      "give the channel as an argument"
    case (.terminate, .userID): "give the user as an argument"
    case (.trigger, .timeout), (.channels, .timeout), (.users, .timeout), (.terminate, .timeout),
      (.check, .timeout):
      "--connect-timeout limits the wait"
    case (.bench, .timeout): "--time sets how long it sends"
    case (.bench, .count): "--rate and --time set the number of events"
    case (.subscribe, .prefix): "give a pattern as a channel, such as 'private-*'"
    case (.subscribe, .until): "--until-event ends the run at the name of an event"
    default: nil
    }
  }
}
