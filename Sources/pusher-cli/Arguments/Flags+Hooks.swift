// The flags of what `serve` offers beside sockets and the HTTP API.
extension Flags {
  static let hooking = [
    Flag(
      name: .apps, value: .text, metavariable: "FILE",
      commands: [.serve], group: .serve, isCommon: true,
      summary: "serve all apps of FILE (JSON); see man"),
    Flag(
      name: .webhook, value: .text, metavariable: "URL", isRepeatable: true,
      commands: [.serve], group: .serve, isCommon: true,
      summary: "send webhooks to URL"),
    Flag(
      name: .webhookDelay, value: .duration, metavariable: "TIME",
      commands: [.serve], group: .serve,
      summary: "tell of who has left after TIME (3s)"),
    Flag(
      name: .authEndpoints, commands: [.serve], group: .serve,
      summary: "answer /pusher/auth also beyond this machine"),
    Flag(
      name: .logEvents, commands: [.serve], group: .serve, isCommon: true,
      summary: "print each event that is sent as one JSON line"),
    Flag(
      name: .printEnv, commands: [.serve], group: .serve, isCommon: true,
      summary: "print variables for a .env file"),
  ]
}
