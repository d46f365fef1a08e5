/// The flags by their long names, so that a misspelt look-up does not compile.
enum FlagName: String, CaseIterable, Sendable {
  // What to receive.
  case channel
  case event
  case excludeEvent = "exclude-event"
  case count
  case timeout
  case idleTimeout = "idle-timeout"
  case onReady = "on-ready"
  // What to print.
  case timestamps
  case output
  case raw
  case format
  case null
  case rawData = "raw-data"
  case lifecycle
  case buffer
  case maxEvent = "max-event"
  case maxMembers = "max-members"
  case maxQueued = "max-queued"
  // What to send.
  case data
  case method
  case header
  case lastEventID = "last-event-id"
  case stateFile = "state-file"
  case netrcFile = "netrc-file"
  case socketID = "socket-id"
  case toUser = "to-user"
  case info
  case batch
  case rate
  case dryRun = "dry-run"
  // What to ask and to sign.
  case prefix
  case signature
  case timestamp
  // What to serve.
  case listen
  case portFile = "port-file"
  case tlsCert = "tls-cert"
  case tlsKey = "tls-key"
  case clientEvents = "client-events"
  case subscriptionCounts = "subscription-counts"
  case apps
  case webhook
  case webhookDelay = "webhook-delay"
  case authEndpoints = "auth-endpoints"
  case allowOrigin = "allow-origin"
  case allowHost = "allow-host"
  case logEvents = "log-events"
  case printEnv = "print-env"
  case fault
  case dialect
  // Whom to talk to.
  case key
  case appID = "app-id"
  case secretFile = "secret-file"
  case cluster
  case host
  case port
  case scheme
  case path
  case local
  case service
  case cacert
  case insecure
  case pinSHA256 = "pin-sha256"
  case subprotocol
  case proxy
  case ipv4
  case ipv6
  case compression
  // Who may subscribe.
  case authEndpoint = "auth-endpoint"
  case authHeader = "auth-header"
  case authParam = "auth-param"
  case authCommand = "auth-command"
  case userID = "user-id"
  case userInfo = "user-info"
  case encryptionKeyFile = "encryption-key-file"
  case signIn = "sign-in"
  case userAuthEndpoint = "user-auth-endpoint"
  case userAuthCommand = "user-auth-command"
  case watch
  // How long to try.
  case connectTimeout = "connect-timeout"
  case reconnect
  case maxRetries = "max-retries"
  case retryMaxDelay = "retry-max-delay"
  case activityTimeout = "activity-timeout"
  case pongTimeout = "pong-timeout"
  // What to say.
  case quiet
  case verbose
  case trace
  case color
  case help
  case helpAll = "help-all"
  case version
}

/// One row of the flag table: everything the lexer, the help and the tests of the man page know of a flag.
struct Flag: Sendable {
  /// What a flag takes, and so what is checked as soon as it is read.
  enum Value: Equatable, Sendable {
    /// No value; `--no-NAME` turns it off.
    case toggle
    /// No value; each mention counts.
    case counter
    case text
    case integer(ClosedRange<Int>)
    /// A positive time, such as `1h30m`; a bare number is seconds.
    case duration
    /// Bytes, with k, M or G as powers of 1024.
    case size(ClosedRange<Int>)
    case choice([String])
  }

  /// The headings of the help.
  enum Group: String, CaseIterable, Sendable {
    case receive = "Events"
    case print = "Output"
    case send = "Event"
    case request = "Request"
    case ask = "Question"
    case serve = "Server"
    case connection = "Connection"
    case authorization = "Authorisation"
    case patience = "Waiting and reconnecting"
    case voice = "Messages"
  }

  let name: FlagName
  var letter: Character?
  var value = Value.toggle
  /// What stands for the value in help; empty for flags without one.
  var metavariable = ""
  /// Values of a text that shells offer, though others may be right too.
  var offers: [String] = []
  var isRepeatable = false
  /// Whether a toggle is on unless turned off; help then shows `--no-NAME`.
  var isOnByDefault = false
  /// Whether an empty value is a value.
  var allowsEmpty = false
  let commands: Set<Command>
  let group: Group
  /// Whether the short help shows it; `--help-all` shows every flag.
  var isCommon = false
  /// What it does, in a few words; no full stop.
  let summary: String
  /// Another flag and value this one is a shorter way to write.
  var standsFor: FlagPair?
  /// A flag this one takes back when it comes later.
  var cancels: FlagName?

  var takesValue: Bool {
    switch value {
    case .toggle, .counter: false
    case .text, .integer, .duration, .size, .choice: true
    }
  }

  /// Whether one set of options that names an app and its server may hold it, whatever the command makes of it.
  var isOfConnection: Bool { group == .connection || name == .connectTimeout }

  /// The values that shells offer.
  var offeredValues: [String] {
    if case .choice(let words) = value { return words }
    return offers
  }

  /// `--name`.
  var spelling: String { "--" + name.rawValue }
}

/// A flag with the value it would have been given.
struct FlagPair: Sendable {
  let name: FlagName
  let value: String
}
