/// The commands of the program.
enum Command: String, CaseIterable, Sendable {
  case subscribe
  case sse
  case serve
  case trigger
  case channels
  case users
  case terminate
  case auth
  case sign
  case verify
  case webhook
  case check
  case config
  case completion
  case help
  case version

  /// The command of this name or alias; nil for any other word.
  init?(word: String) {
    if word == "sub" {
      self = .subscribe
    } else {
      self.init(rawValue: word)
    }
  }

  /// Every word that names a command.
  static let words = allCases.map(\.rawValue) + ["sub"]
}

extension Command {
  /// What the command does, in a few words; no full stop.
  var summary: String {
    switch self {
    case .subscribe: "print events as they come"
    case .sse: "print the events of an event stream"
    case .serve: "run a local server to develop and test with"
    case .trigger: "send an event through the HTTP API, or JSON lines"
    case .channels: "list the occupied channels, or show one"
    case .users: "list the members of a presence channel"
    case .terminate: "end the connections of a user"
    case .auth: "print what an authorisation endpoint would answer"
    case .sign: "sign by hand"
    case .verify: "find out why a signature is refused"
    case .webhook: "receive webhooks, verify and print them"
    case .check: "find out what works between here and a server"
    case .config: "show the settings and where they come from"
    case .completion: "print a script that completes commands in a shell"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}

/// The program's version.
enum Version {
  static let current = "0.1.0"
  /// What `--version` prints.
  static let line = "pusher-cli \(current)\n"
}
