/// The flag table, from which parser, help, manual and completions are made; one row per flag.
///
/// A name may have several rows with the same kind of value, since a flag may precede the command.
/// Rows are in the order of the help.
enum Flags {
  static let all =
    Flag.receiving + Flag.forwarding + Flag.steering + Flag.sending + Flag.asking + Flag.loading
    + Flag.requesting + Flag.serving + Flag.hooking + Flag.watching + Flag.consoles
    + Flag.connecting + Flag.authorizing + Flag.waiting + Flag.speaking

  static func of(_ command: Command) -> [Flag] { all.filter { $0.commands.contains(command) } }

  /// Returns the row of a long name: the command's own, else the first one.
  static func named(_ name: String, for command: Command? = nil) -> Flag? {
    first(for: command) { $0.name == name }
  }

  static func withLetter(_ letter: Character, for command: Command? = nil) -> Flag? {
    first(for: command) { $0.letter == letter }
  }

  /// Returns the flags that a flag excludes or cancels, whichever row says so.
  static func rivals(of name: String, for command: Command) -> [String] {
    of(command).flatMap { row in
      let others = row.excludes.map(\.name) + [row.cancels].compactMap { $0 }
      return row.name == name ? others : others.contains(name) ? [row.name] : []
    }
  }

  private static func first(for command: Command?, where fits: (Flag) -> Bool) -> Flag? {
    let rows = all.filter(fits)
    return rows.first { row in command.map(row.commands.contains) ?? true } ?? rows.first
  }
}

extension Set<Command> {
  static let every = Set(Command.allCases)
  /// Call the HTTP API.
  static let calling: Set = [
    Command.trigger, .channels, .users, .terminate, .check, .bench, .webhook,
  ]
  /// Sign without a server.
  static let signing: Set = [Command.auth, .sign, .verify]
  static let joining: Set = [Command.subscribe, .check]
  /// Subscribe as `subscribe` does.
  static let authorizing = joining.union([.bench])
  static let client = calling.union(joining)
  static let printing: Set = [Command.subscribe, .sse]
  static let dialling = client.union([.sse])
  static let working = client.union(signing).union([.serve, .webhook])
  static let talking = working.union([.sse])
}
