internal import PusherCore

/// The flag table: one row a flag, from which the lexer, the typed arguments and the help are made.
///
/// A name may have two rows when two commands mean different things by it; both then take the same kind
/// of value, since a flag may stand before the command. Rows stand in the order of the help.
enum Flags {
  static let all =
    receiving + sending + asking + requesting + serving + hooking + connecting + authorizing
    + waiting
    + speaking

  /// The rows a command knows.
  static func of(_ command: Command) -> [Flag] {
    all.filter { $0.commands.contains(command) }
  }

  /// The row of a long name: the command's own if it has one, else the first there is.
  static func named(_ name: FlagName, for command: Command? = nil) -> Flag? {
    let rows = all.filter { $0.name == name }
    return rows.first { row in command.map { row.commands.contains($0) } ?? true } ?? rows.first
  }

  /// The row of a short letter, in the same way.
  static func lettered(_ letter: Character, for command: Command? = nil) -> Flag? {
    let rows = all.filter { $0.letter == letter }
    return rows.first { row in command.map { row.commands.contains($0) } ?? true } ?? rows.first
  }

  private static let every = Set(Command.allCases)
  /// Those that call the HTTP API.
  private static let calling: Set = [Command.trigger, .channels, .users, .terminate]
  /// Those that sign without a server.
  private static let signing: Set = [Command.auth, .sign, .verify]
  private static let client = calling.union([.subscribe])
  private static let printing: Set = [Command.subscribe, .sse]
  private static let dialling = client.union([.sse])
  private static let working = client.union(signing).union([.serve, .webhook])
  private static let talking = working.union([.sse])

  private static let receiving = [
    Flag(
      name: .channel, letter: "c", value: .text, metavariable: "NAME", isRepeatable: true,
      commands: [.subscribe], group: .receive, isCommon: true,
      summary: "subscribe to NAME; bare arguments are channels too"),
    Flag(
      name: .event, letter: "e", value: .text, metavariable: "GLOB", isRepeatable: true,
      commands: printing, group: .receive, isCommon: true,
      summary: "print only events whose name matches"),
    Flag(
      name: .excludeEvent, letter: "x", value: .text, metavariable: "GLOB", isRepeatable: true,
      commands: printing, group: .receive,
      summary: "leave out events whose name matches"),
    Flag(
      name: .count, letter: "n", value: .integer(1...Int.max), metavariable: "N",
      commands: printing.union([.webhook]), group: .receive, isCommon: true,
      summary: "end with status 0 after N printed events"),
    Flag(
      name: .timeout, letter: "W", value: .duration, metavariable: "TIME",
      commands: printing.union([.webhook]), group: .receive, isCommon: true,
      summary: "end after TIME; status 124 if N was not reached"),
    Flag(
      name: .idleTimeout, value: .duration, metavariable: "TIME",
      commands: printing, group: .receive,
      summary: "end with 124 when nothing is printed for TIME"),
    Flag(
      name: .onReady, value: .text, metavariable: "CMD",
      commands: printing.union([.webhook]), group: .receive, isCommon: true,
      summary: "run CMD once events are sure to come"),
    Flag(
      name: .timestamps, letter: "t", commands: printing.union([.webhook, .serve]),
      group: .print, isCommon: true,
      summary: "add received_at, our clock, as the first field"),
    Flag(
      name: .output, letter: "o", value: .choice(OutputFormat.allCases.map(\.rawValue)),
      metavariable: "FORMAT", commands: printing, group: .print,
      summary: "json (default), pretty, or raw: the data only"),
    Flag(
      name: .raw, letter: "r", commands: printing, group: .print, isCommon: true,
      summary: "the same as --output raw",
      standsFor: FlagPair(name: .output, value: OutputFormat.raw.rawValue)),
    Flag(
      name: .format, letter: "F", value: .text, metavariable: "TEXT",
      commands: printing, group: .print,
      summary: "print TEXT; %e is the event, %d the data; see man"),
    Flag(
      name: .null, letter: "0", commands: printing, group: .print,
      summary: "end each event with NUL instead of a newline"),
    Flag(
      name: .rawData, commands: printing, group: .print,
      summary: "leave data the string it was on the wire"),
    Flag(
      name: .lifecycle, letter: "L", commands: printing, group: .print,
      summary: "print connection and subscription lines too"),
    Flag(
      name: .buffer, value: .size(65_536...(1 << 30)), metavariable: "SIZE",
      commands: printing, group: .print,
      summary: "queue for a slow reader (16M)"),
    Flag(
      name: .maxEvent, value: .size(1024...(1 << 30)), metavariable: "SIZE",
      commands: [.sse], group: .receive,
      summary: "largest event that is taken (16M)"),
    Flag(
      name: .maxMembers, value: .integer(1...10_000_000), metavariable: "N",
      commands: [.subscribe], group: .receive,
      summary: "members kept of each presence channel (100000)"),
  ]

  private static let sending = [
    Flag(
      name: .channel, letter: "c", value: .text, metavariable: "NAME", isRepeatable: true,
      commands: [.trigger], group: .send, isCommon: true,
      summary: "send to channel NAME"),
    Flag(
      name: .event, letter: "e", value: .text, metavariable: "NAME",
      commands: [.trigger], group: .send, isCommon: true,
      summary: "name of the event"),
    Flag(
      name: .data, letter: "d", value: .text, metavariable: "DATA", allowsEmpty: true,
      commands: [.trigger], group: .send, isCommon: true,
      summary: "the data: text, @FILE, or @- for standard input"),
    Flag(
      name: .toUser, value: .text, metavariable: "ID",
      commands: [.trigger], group: .send, isCommon: true,
      summary: "send to this user, who has signed in, alone"),
    Flag(
      name: .socketID, value: .text, metavariable: "ID",
      commands: [.trigger], group: .send, isCommon: true,
      summary: "do not send to this connection"),
    Flag(
      name: .info, value: .text, metavariable: "WORDS",
      offers: ["user_count", "subscription_count"], isRepeatable: true,
      commands: [.trigger], group: .send,
      summary: "print user_count, subscription_count too"),
    Flag(
      name: .batch, value: .integer(1...1000), metavariable: "N",
      commands: [.trigger], group: .send,
      summary: "with -: at most N events in a call (10)"),
    Flag(
      name: .rate, value: .text, metavariable: "N",
      commands: [.trigger], group: .send,
      summary: "with -: at most N events a second"),
    Flag(
      name: .dryRun, commands: [.trigger], group: .send,
      summary: "show the signed request and send nothing"),
  ]

  private static let asking = [
    Flag(
      name: .prefix, value: .text, metavariable: "TEXT",
      commands: [.channels], group: .ask, isCommon: true,
      summary: "only channels whose names begin so"),
    Flag(
      name: .info, value: .text, metavariable: "WORDS",
      offers: ["user_count", "subscription_count", "cache"], isRepeatable: true,
      commands: [.channels], group: .ask, isCommon: true,
      summary: "tell user_count, subscription_count, cache too"),
    Flag(
      name: .socketID, value: .text, metavariable: "ID",
      commands: signing, group: .ask, isCommon: true,
      summary: "the connection that asks"),
    Flag(
      name: .userID, value: .text, metavariable: "ID",
      commands: signing, group: .ask, isCommon: true,
      summary: "member of a presence channel, or who signs in"),
    Flag(
      name: .userInfo, value: .text, metavariable: "JSON",
      commands: signing, group: .ask,
      summary: "what others see of it; @FILE reads a file"),
    Flag(
      name: .data, letter: "d", value: .text, metavariable: "BODY", allowsEmpty: true,
      commands: [.sign, .verify], group: .ask, isCommon: true,
      summary: "the body: text, @FILE, or @- for standard input"),
    Flag(
      name: .signature, value: .text, metavariable: "HEX",
      commands: [.verify], group: .ask, isCommon: true,
      summary: "the signature to compare with"),
    Flag(
      name: .timestamp, value: .integer(0...Int.max), metavariable: "SECONDS",
      commands: [.sign], group: .ask,
      summary: "sign a request for this time since 1970"),
  ]

  private static let connecting = [
    Flag(
      name: .key, letter: "k", value: .text, metavariable: "KEY",
      commands: working, group: .connection, isCommon: true,
      summary: "app key (PUSHER_APP_KEY)"),
    Flag(
      name: .appID, value: .text, metavariable: "ID",
      commands: calling.union([.serve]), group: .connection, isCommon: true,
      summary: "app id (PUSHER_APP_ID)"),
    Flag(
      name: .secretFile, value: .text, metavariable: "FILE",
      commands: working, group: .connection, isCommon: true,
      summary: "read the app secret from FILE, - is standard input"),
    Flag(
      name: .cluster, value: .text, metavariable: "NAME",
      commands: client, group: .connection, isCommon: true,
      summary: "cluster of pusher.com (mt1)"),
    Flag(
      name: .host, value: .text, metavariable: "HOST",
      commands: client, group: .connection, isCommon: true,
      summary: "your own server instead of pusher.com"),
    Flag(
      name: .port, letter: "p", value: .integer(1...65_535), metavariable: "N",
      commands: client, group: .connection,
      summary: "its port (443, or 80 for http)"),
    Flag(
      name: .scheme, value: .choice(["https", "http", "wss", "ws"]), metavariable: "SCHEME",
      commands: client, group: .connection,
      summary: "https (default) or http; wss and ws mean the same"),
    Flag(
      name: .path, value: .text, metavariable: "PREFIX",
      commands: client, group: .connection,
      summary: "path in front of /app and /apps"),
    Flag(
      name: .local, commands: client.union(signing).union([.webhook]), group: .connection,
      isCommon: true,
      summary: "the server that 'pusher-cli serve' starts"),
    Flag(
      name: .service, value: .choice(Array(Service.named.map(\.name))), metavariable: "NAME",
      commands: client.union([.serve]), group: .connection,
      summary: "pusher (default) or eventflit: names and hosts"),
    Flag(
      name: .cacert, value: .text, metavariable: "FILE",
      commands: dialling, group: .connection,
      summary: "trust the certificates in FILE (PEM)"),
    Flag(
      name: .tlsCert, value: .text, metavariable: "FILE",
      commands: dialling, group: .connection,
      summary: "show this certificate when the server asks (PEM)"),
    Flag(
      name: .tlsKey, value: .text, metavariable: "FILE",
      commands: dialling, group: .connection,
      summary: "its private key, if not in the same file (PEM)"),
    Flag(
      name: .pinSHA256, value: .text, metavariable: "HASH", isRepeatable: true,
      commands: dialling, group: .connection,
      summary: "accept only a server with this public key"),
    Flag(
      name: .insecure, commands: dialling, group: .connection,
      summary: "do not check the server's certificate"),
    Flag(
      name: .proxy, value: .text, metavariable: "URL", allowsEmpty: true,
      commands: dialling, group: .connection,
      summary: "http:// or socks5h:// proxy; '' is none"),
    Flag(
      name: .ipv4, letter: "4", commands: dialling, group: .connection,
      summary: "connect over IPv4 only", cancels: .ipv6),
    Flag(
      name: .ipv6, letter: "6", commands: dialling, group: .connection,
      summary: "connect over IPv6 only", cancels: .ipv4),
    Flag(
      name: .subprotocol, value: .text, metavariable: "NAME", isRepeatable: true,
      commands: [.subscribe], group: .connection,
      summary: "offer this WebSocket sub-protocol (none)"),
    Flag(
      name: .compression, isOnByDefault: true, commands: [.subscribe], group: .connection,
      summary: "do not offer permessage-deflate"),
    Flag(
      name: .compression, commands: [.sse], group: .connection,
      summary: "ask for gzip or deflate"),
  ]

  private static let authorizing = [
    Flag(
      name: .authEndpoint, value: .text, metavariable: "URL",
      commands: [.subscribe], group: .authorization,
      summary: "ask the application, as pusher-js does"),
    Flag(
      name: .authHeader, value: .text, metavariable: "HEADER", isRepeatable: true,
      commands: [.subscribe], group: .authorization,
      summary: "'NAME: VALUE' for the endpoint, or @FILE of such"),
    Flag(
      name: .authParam, value: .text, metavariable: "K=V", isRepeatable: true,
      commands: [.subscribe], group: .authorization,
      summary: "form field for the endpoint"),
    Flag(
      name: .authCommand, value: .text, metavariable: "CMD",
      commands: [.subscribe], group: .authorization,
      summary: "shell command that prints the authorisation"),
    Flag(
      name: .userID, value: .text, metavariable: "ID",
      commands: [.subscribe], group: .authorization,
      summary: "member on presence channels, and user of --sign-in"),
    Flag(
      name: .userInfo, value: .text, metavariable: "JSON",
      commands: [.subscribe], group: .authorization,
      summary: "what other members see of it; @FILE reads a file"),
    Flag(
      name: .encryptionKeyFile, value: .text, metavariable: "FILE",
      commands: [.subscribe, .trigger, .auth, .serve], group: .authorization,
      summary: "base64 master key of encrypted channels"),
    Flag(
      name: .signIn, commands: [.subscribe], group: .authorization,
      summary: "sign the user in; prints the user's own events"),
    Flag(
      name: .userAuthEndpoint, value: .text, metavariable: "URL",
      commands: [.subscribe], group: .authorization,
      summary: "ask the application who the user is"),
    Flag(
      name: .userAuthCommand, value: .text, metavariable: "CMD",
      commands: [.subscribe], group: .authorization,
      summary: "shell command that prints who the user is"),
    Flag(
      name: .watch, value: .text, metavariable: "ID", isRepeatable: true,
      commands: [.subscribe], group: .authorization,
      summary: "tell when user ID comes online or goes offline"),
  ]

  private static let waiting = [
    Flag(
      name: .connectTimeout, value: .duration, metavariable: "TIME",
      commands: dialling, group: .patience,
      summary: "from look-up to the server's welcome (10s)"),
    Flag(
      name: .reconnect, value: .choice(ReconnectMode.allCases.map(\.rawValue)),
      metavariable: "WHEN", commands: printing, group: .patience,
      summary: "auto (first must work), always or never"),
    Flag(
      name: .maxRetries, value: .integer(0...Int.max), metavariable: "N",
      commands: printing, group: .patience,
      summary: "end with 4 after N retries in a row (no limit)"),
    Flag(
      name: .retryMaxDelay, value: .duration, metavariable: "TIME",
      commands: printing, group: .patience,
      summary: "longest wait between retries (120s)"),
    Flag(
      name: .activityTimeout, value: .duration, metavariable: "TIME",
      commands: [.subscribe], group: .patience,
      summary: "ping after this silence, if the server's is longer"),
    Flag(
      name: .activityTimeout, value: .duration, metavariable: "TIME",
      commands: [.sse], group: .patience,
      summary: "reconnect after this silence (never)"),
    Flag(
      name: .pongTimeout, value: .duration, metavariable: "TIME",
      commands: [.subscribe], group: .patience,
      summary: "how long a ping may stay unanswered (30s)"),
  ]

  private static let speaking = [
    Flag(
      name: .quiet, letter: "q", commands: talking, group: .voice,
      summary: "errors only", cancels: .verbose),
    Flag(
      name: .verbose, letter: "v", value: .counter, commands: talking, group: .voice,
      summary: "say what happens; twice: protocol frames too", cancels: .quiet),
    Flag(
      name: .trace, value: .text, metavariable: "FILE", commands: dialling,
      group: .voice, summary: "write protocol messages to FILE"),
    Flag(
      name: .color, value: .choice(ColorChoice.allCases.map(\.rawValue)), metavariable: "WHEN",
      commands: printing, group: .voice,
      summary: "auto (default), always or never"),
    Flag(
      name: .help, letter: "h", commands: every, group: .voice, isCommon: true,
      summary: "show help and end"),
    Flag(
      name: .helpAll, commands: every, group: .voice, isCommon: true,
      summary: "show every option and end"),
    Flag(
      name: .version, letter: "V", commands: every, group: .voice,
      summary: "show the version and end"),
  ]
}
