internal import PusherCore

enum Command: String, CaseIterable, Sendable {
  case subscribe, sse, serve, trigger, channels, users, terminate, auth, sign, verify, webhook
  case check, bench, config, completion, help, version

  init?(word: String) {
    if word == "sub" {
      self = .subscribe
    } else {
      self.init(rawValue: word)
    }
  }

  static let words = allCases.map(\.rawValue) + ["sub"]

  static let habits: [String: Command] = [
    "pub": .trigger, "publish": .trigger, "send": .trigger, "emit": .trigger,
    "listen": .subscribe, "tail": .subscribe,
  ]
  private static let takers = [
    ("https://", "sse "), ("http://", "sse "), ("wss://", "subscribe --url "),
    ("ws://", "subscribe --url "),
  ]

  /// Shortens a URL, which may hold a secret, to its scheme; returns other words unchanged.
  static func shown(_ word: String) -> String {
    takers.first { word.begins(with: $0.0) }.map { "\($0.0)…" } ?? word
  }

  /// Returns "; did you mean 'X'?" for a word that is none of `words`, or an empty text.
  static func clause(for word: String, in words: [String]) -> String {
    if let (scheme, start) = takers.first(where: { word.begins(with: $0.0) }) {
      return "; did you mean 'pusher-cli \(start)\(scheme)…'?"
    }
    if word == "whisper" {
      return "; 'pusher-cli subscribe --stdin' sends client events, which Laravel calls whispers"
    }
    guard let command = habits[word], words.contains(command.rawValue) else {
      return Suggestion.clause(for: word, in: words)
    }
    return "; did you mean '\(command.rawValue)'?"
  }

  var summary: String {
    switch self {
    case .subscribe: "print events as they arrive"
    case .sse: "print the events of an event stream"
    case .serve: "run a local server for development and tests"
    case .trigger: "send an event, or JSON lines, through the HTTP API"
    case .channels: "list the occupied channels, or show one"
    case .users: "list the members of a presence channel"
    case .terminate: "close all connections of a user"
    case .auth: "print the answer of an authorisation endpoint"
    case .sign: "sign by hand"
    case .verify: "find out why a signature is refused"
    case .webhook: "print webhooks, or send them for a server without"
    case .check: "test a connection stage by stage"
    case .bench: "load a server, and tell lost events and delays"
    case .config: "show the settings and their sources"
    case .completion: "print a script for completion in a shell"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
