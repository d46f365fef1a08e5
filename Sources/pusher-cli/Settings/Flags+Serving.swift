internal import PusherServer

// The flags of `serve`, those of what it offers beside sockets and the HTTP API apart.
extension Flags {
  static let serving = [
    Flag(
      name: .listen, value: .text, metavariable: "ADDRESS",
      commands: [.serve], group: .serve, isCommon: true,
      summary: "HOST:PORT (127.0.0.1:6001); port 0: a free one"),
    Flag(
      name: .listen, value: .text, metavariable: "ADDRESS",
      commands: [.webhook], group: .serve, isCommon: true,
      summary: "HOST:PORT (127.0.0.1:6002); port 0: a free one"),
    Flag(
      name: .portFile, value: .text, metavariable: "FILE",
      commands: [.serve, .webhook], group: .serve, isCommon: true,
      summary: "write the port to FILE once connections are taken"),
    Flag(
      name: .onReady, value: .text, metavariable: "CMD",
      commands: [.serve], group: .serve,
      summary: "run CMD once connections are taken"),
    Flag(
      name: .tlsCert, value: .text, metavariable: "FILE",
      commands: [.serve], group: .serve, isCommon: true,
      summary: "serve wss and https with this certificate (PEM)"),
    Flag(
      name: .tlsKey, value: .text, metavariable: "FILE",
      commands: [.serve], group: .serve, isCommon: true,
      summary: "the certificate's private key (PEM)"),
    Flag(
      name: .clientEvents, isOnByDefault: true,
      commands: [.serve], group: .serve, isCommon: true,
      summary: "refuse client events (members may send them)"),
    Flag(
      name: .subscriptionCounts, commands: [.serve], group: .serve, isCommon: true,
      summary: "send subscription_count events"),
    Flag(
      name: .compression, isOnByDefault: true, commands: [.serve], group: .serve,
      summary: "do not agree to permessage-deflate"),
    Flag(
      name: .fault, value: .text, metavariable: "FAULT", offers: StagedFault.kinds,
      isRepeatable: true,
      commands: [.serve], group: .serve,
      summary: "stage a fault, such as 'drop:after=3' (manual)"),
    Flag(
      name: .dialect, value: .choice(Dialect.allCases.map(\.rawValue)), metavariable: "NAME",
      commands: [.serve], group: .serve,
      summary: "answer as pusher (default), reverb or soketi do"),
  ]

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
      name: .allowOrigin, value: .text, metavariable: "ORIGIN", isRepeatable: true,
      commands: [.serve], group: .serve,
      summary: "let in web pages of ORIGIN too"),
    Flag(
      name: .allowHost, value: .text, metavariable: "HOST", isRepeatable: true,
      commands: [.serve], group: .serve,
      summary: "let in who asks for HOST too"),
    Flag(
      name: .maxQueued, value: .size((1 << 20)...(1 << 40)), metavariable: "SIZE",
      commands: [.serve], group: .serve,
      summary: "hold SIZE for all slow clients together (256M)"),
    Flag(
      name: .logEvents, commands: [.serve], group: .serve, isCommon: true,
      summary: "print each event that is sent as one JSON line"),
    Flag(
      name: .printEnv, commands: [.serve], group: .serve, isCommon: true,
      summary: "print variables for a .env file"),
  ]
}
