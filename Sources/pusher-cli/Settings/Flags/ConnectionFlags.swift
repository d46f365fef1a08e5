internal import PusherCore

extension Flag {
  static let connecting: [Flag] = [
    .key, .appID, .secretFile, .envFile, .profile, .config, .cluster, .host, .port,
    .scheme, .path, .url, .apiURL, .local, .service, .cacert, .tlsCert, .tlsKey,
    .pinSHA256, .insecure, .proxy, .ipv4, .ipv6, .compression, .sseCompression,
    .benchCompression,
  ]

  static let key = Flag(
    "key", letter: "k", .text("KEY"), is: .app,
    variables: [
      "PUSHER_APP_KEY", "PUSHER_KEY", "REVERB_APP_KEY", "SOKETI_DEFAULT_APP_KEY",
      "SOCKUDO_DEFAULT_APP_KEY",
    ],
    of: .working, in: .connection, isCommon: true, summary: "use this app key (PUSHER_APP_KEY)",
    manual: "Use KEY as the app key. The key is public, but the secret is not.")

  static let appID = Flag(
    "app-id", .text("ID"), is: .app,
    variables: [
      "PUSHER_APP_ID", "REVERB_APP_ID", "SOKETI_DEFAULT_APP_ID", "SOCKUDO_DEFAULT_APP_ID",
    ],
    of: .calling.union([.serve, .subscribe]), in: .connection,
    isCommonOf: .calling.union([.serve]),
    summary: "use this app id (PUSHER_APP_ID)",
    manual: """
      Use ID as the app id, for `trigger`, `channels`, `users`, `terminate`, `check`, `bench`, `webhook send`, `serve`,
      and `subscribe` with a pattern.
      """)

  static let secretFile = Flag(
    "secret-file", .text("FILE"), is: .app, variables: ["PUSHER_APP_SECRET_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app secret from FILE (-: standard input)",
    manual: """
      Read the app secret from FILE, without its last newline. `-` means standard input. It is read again before
      each connection. No option takes the secret itself, because ps(1) would show it.
      """)

  static let envFile = Flag(
    "env-file", .text("FILE"), is: .source, variables: ["PUSHER_CLI_ENV_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app and its server from a .env file",
    manual: """
      Read the app and its server from FILE, a `.env` file as of Laravel, Symfony and docker compose. The
      variables under ENVIRONMENT count, and replace those of the environment. The program executes nothing in
      the file, but understands quotes, `export`, comments, `${NAME}` and values of several lines. `-` means
      standard input.
      """)

  static let profile = Flag(
    "profile", letter: "P", .text("NAME"), is: .source, variables: ["PUSHER_CLI_PROFILE"],
    of: .talking, in: .connection, summary: "use app, server and options of a profile",
    manual: """
      Use the app, its server and the other options of the profile NAME. See FILES. Other options override the
      profile. An app in the environment is then ignored.
      """)

  static let config = Flag(
    "config", .text("FILE"), is: .source, variables: ["PUSHER_CLI_CONFIG"], of: .talking,
    in: .connection, summary: "read only this configuration file",
    manual: "Read FILE as the only configuration file; see FILES.")

  static let cluster = Flag(
    "cluster", .text("NAME"), offers: PusherService.clusters, is: .app,
    variables: ["PUSHER_APP_CLUSTER", "PUSHER_CLUSTER"], of: .client, in: .connection,
    isCommon: true, default: PusherService.pusher.defaultCluster,
    summary: "use this cluster of pusher.com",
    manual: "Use the cluster NAME of pusher.com. The default is {default}.")

  static let host = Flag(
    "host", .text("HOST"), is: .app, variables: ["PUSHER_HOST", "REVERB_HOST"],
    excludes: ["cluster"], of: .client, in: .connection, isCommon: true,
    summary: "use your own server instead of pusher.com")

  static let port = Flag(
    "port", letter: "p", .integer(1...65_535), is: .app,
    variables: ["PUSHER_PORT", "REVERB_PORT", "SOKETI_PORT"], of: .client, in: .connection,
    summary: "use this port (443, or 80 for http)",
    manual: "Connect to port N of the server. The default is 443, or 80 with `--scheme http`.")

  static let scheme = Flag(
    "scheme", .choice(["https", "http", "wss", "ws"], "SCHEME"), is: .app,
    variables: ["PUSHER_SCHEME", "REVERB_SCHEME"], of: .client, in: .connection, default: "https",
    summary: "use https or http (same as wss or ws)",
    manual: """
      Use `https` or `http`. `wss` means `https`, and `ws` means `http`. The default is `{default}`.
      """)

  static let path = Flag(
    "path", .text("PREFIX"), is: .app, variables: ["REVERB_PATH", "REVERB_SERVER_PATH"],
    of: .client, in: .connection, summary: "put PREFIX before /app and /apps",
    manual: "Put PREFIX before `/app` and `/apps` in the path. Its first slash is optional.")

  static let url = Flag(
    "url", .text("URL"), shows: .place, is: .source,
    excludes: ["host", "port", "scheme", "path", "cluster", "local"], of: .client, in: .connection,
    summary: "take server, app key or app id from one URL",
    manual: """
      Take the server and the app from URL. Its form is `wss://HOST:PORT/app/KEY` or
      `https://HOST:PORT/apps/ID`. A prefix may stand before `/app` or `/apps`. The URL replaces --scheme,
      --host, --port, --path, and --key or --app-id. With `?protocol=2` it means `--service sockudo`. A URL with
      a secret belongs into PUSHER_URL.
      """)

  static let apiURL = Flag(
    "api-url", .text("URL"), shows: .place, of: .client, in: .connection,
    summary: "call the HTTP API below this URL",
    manual: """
      Call the HTTP API below URL, `https://HOST:PORT/PREFIX`, instead of --scheme, --host, --port and --path.
      PREFIX is for a proxy that strips it: it is requested, but not signed. Without PREFIX, --path applies,
      requested and signed. If nothing else names the server, the WebSocket is at URL too.
      """)

  static let local = Flag(
    "local", is: .source, excludes: ["env-file", "profile", "cluster"],
    of: .working.subtracting([.serve]), in: .connection, isCommon: true,
    summary: "use the server that 'pusher-cli serve' starts",
    manual: """
      Use the server that `pusher-cli serve` starts. It listens at 127.0.0.1 port 6001, without TLS; its app id
      is 1, its key and secret are `local`. The environment is ignored, proxies included. The program waits for
      the server for --connect-timeout at most.
      """)

  static let service = Flag(
    "service", .choice(Array(PusherService.named.map(\.name)), "NAME"), of: .client.union([.serve]),
    in: .connection, default: "pusher", summary: "choose pusher, eventflit or sockudo",
    manual: """
      Choose the service, with its event names and hosts. `pusher` is also for Reverb, soketi and other servers of its
      protocol. With `eventflit`, event names begin with `eventflit:`, and the hosts are those of Eventflit. `sockudo`
      is Protocol V2 of sockudo, whose server replays the events of a lost connection. The default is `{default}`.
      """)

  static let cacert = Flag(
    "cacert", .text("FILE"), of: .dialling, in: .connection,
    summary: "trust the certificates in FILE (PEM)",
    manual: """
      Trust the certificates in FILE, in PEM form, instead of the system's. Each connection reads FILE again,
      but a pipe only once; so with --tls-cert and --tls-key.
      """)

  static let tlsCert = Flag(
    "tls-cert", .text("FILE"), of: .dialling, in: .connection,
    summary: "send this certificate if the server asks (PEM)",
    manual: """
      Send the certificate in FILE if the server asks for one. FILE is in PEM form; its chain follows the
      certificate. Authorisation endpoints and receivers of webhooks do not get the certificate.
      """)

  static let tlsKey = Flag(
    "tls-key", .text("FILE"), needs: ["tls-cert"], of: .dialling, in: .connection,
    summary: "read the certificate's private key from FILE (PEM)",
    manual: """
      Read the certificate's private key from FILE, in PEM form. By default, the file of --tls-cert holds the key.
      """)

  static let pinSHA256 = Flag(
    "pin-sha256", .text("HASH"), isRepeatable: true, of: .dialling, in: .connection,
    summary: "accept only a server with this public key",
    manual: """
      Accept only a server whose public key has this HASH. HASH is the SHA-256 of its SubjectPublicKeyInfo in Base64.
      It may begin with `sha256//` or `sha256/`. May be repeated; one hash must match. With --insecure, only the key is
      checked. The option does not apply to authorisation endpoints.
      """)

  static let insecure = Flag(
    "insecure", excludes: ["cacert"], of: .dialling, in: .connection,
    summary: "do not check the server's certificate",
    manual: """
      Do not check the server's certificate. Every run prints a warning about it, even with --quiet.
      """)

  static let proxy = Flag(
    "proxy", .text("URL"), allowsEmpty: true, shows: .place, of: .dialling, in: .connection,
    summary: "use this http:// or socks5h:// proxy; '' for none",
    manual: """
      Connect through the proxy URL, to the server, to --auth-endpoint and to the HTTP API. `http://host:port`
      means CONNECT. With `socks5h://host:port` the proxy looks up names, with `socks5://host:port` the program;
      the default port is 1080. A URL with a password is refused, because ps(1) would show it: put it into
      ALL_PROXY. NO_PROXY applies. An empty URL means no proxy, whatever the environment says.
      """)

  static let ipv4 = Flag(
    "ipv4", letter: "4", of: .dialling, in: .connection, cancels: "ipv6",
    summary: "connect over IPv4 only",
    manual: """
      Connect over IPv4 only. By default, the program tries all addresses, IPv6 a little earlier, and uses the
      first that answers.
      """)

  static let ipv6 = Flag(
    "ipv6", letter: "6", of: .dialling, in: .connection, cancels: "ipv4",
    summary: "connect over IPv6 only")

  static let compression = Flag(
    "compression", isOnByDefault: true, of: .joining, in: .connection,
    summary: "do not offer permessage-deflate",
    manual: """
      Turn compression on or off. `subscribe` offers the server permessage-deflate by default. `serve` accepts
      it by default, and compresses events of 1 KiB or more, once for all clients. `bench` offers it only with
      this option, because each of its sockets then needs more memory. `sse` asks for gzip or deflate only with
      this option, because servers may hold events back to compress them. It reads both in any case.
      """)

  static let sseCompression = Flag(
    "compression", of: [.sse], in: .connection, summary: "ask for gzip or deflate", manual: "")

  static let authorizing: [Flag] = [
    .authEndpoint, .authHeader, .authParam, .authCommand, .userID, .userInfo, .encryptionKeyFile,
    .signIn, .userAuthEndpoint, .userAuthCommand, .watch,
  ]

  /// Exclusions of the endpoint and the command, for a flag of signing with the secret.
  private static func answered(
    _ name: String, by ways: String = "auth-", _ answer: String
  ) -> [Exclusion] {
    [ways + "endpoint", ways + "command"].map {
      Exclusion($0, "--\(name) is for signing with the secret; --\($0) \(answer)")
    }
  }

  static let authEndpoint = Flag(
    "auth-endpoint", .text("URL"), shows: .place, excludes: ["auth-command", "secret-file"],
    of: .authorizing, in: .authorization, summary: "ask URL for authorisation, as pusher-js does",
    manual: """
      Ask the application at URL for the authorisation of each channel. Like pusher-js, the program sends a form with
      `socket_id` and `channel_name`.
      """)

  static let authHeader = Flag(
    "auth-header", .text("HEADER"), isRepeatable: true, shows: .field,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .authorizing, in: .authorization,
    summary: "send the endpoint 'NAME: VALUE', or @FILE's lines",
    manual: """
      Send the header field HEADER to the endpoint, as `name: value`. `@FILE` sends the lines of a file, which keeps a
      token out of the process list. May be repeated.
      """)

  static let authParam = Flag(
    "auth-param", .text("K=V"), isRepeatable: true, shows: .parameter,
    needs: ["auth-endpoint", "user-auth-endpoint"], of: .authorizing, in: .authorization,
    summary: "send one more form field to the endpoint",
    manual: "Send one more form field to the endpoint. May be repeated.")

  static let authCommand = Flag(
    "auth-command", .text("CMD"), shows: .program, excludes: ["secret-file"], of: .authorizing,
    in: .authorization, summary: "run CMD, which prints the authorisation",
    manual: """
      Run CMD with sh(1), and use the authorisation that it prints. This is the JSON that an endpoint would answer. CMD
      finds the question in the variables PUSHER_CLI_CHANNEL and PUSHER_CLI_SOCKET_ID. A status other than 0 is a
      refusal.
      """)

  static let userID = Flag(
    "user-id", .text("ID"), excludes: answered("user-id", "names the member itself"), of: .joining,
    in: .authorization, summary: "use ID on presence channels and for --sign-in",
    manual: """
      Appear as member ID on presence channels that are signed with the secret. Without this option, each connection is
      a separate member, named by its socket id.
      """)

  static let userInfo = Flag(
    "user-info", .text("JSON"), shows: .nothing,
    excludes: answered("user-info", "names the member itself"), needs: ["user-id"], of: .joining,
    in: .authorization, summary: "show JSON to other members; @FILE reads a file",
    manual: "Show JSON to other members as information about this member. `@FILE` reads a file.")

  static let encryptionKeyFile = Flag(
    "encryption-key-file", .text("FILE"),
    excludes: answered("encryption-key-file", "returns the keys itself"),
    of: [.subscribe, .trigger, .auth, .serve, .check, .bench], in: .authorization,
    summary: "read the base64 master key of encrypted channels",
    manual: """
      Read the app's master key, the base64 of 32 bytes, from FILE. The key decrypts and encrypts the events of
      `private-encrypted-` channels that are signed with the secret; `auth` adds the channel's key to its
      answer, as an endpoint or command does. If an event cannot be decrypted, the program asks for
      authorisation once more, or else reports the event and does not print it.
      """)

  static let signIn = Flag(
    "sign-in", of: [.subscribe], in: .authorization,
    summary: "sign the user in and print the user's own events",
    manual: """
      Sign the user in on every connection, before the subscriptions. The program prints the user's own events, on
      channel `#server-to-user-ID`. You need not name another channel. By default, the secret signs the sign-in of
      --user-id and --user-info. --user-auth-endpoint or --user-auth-command replaces it.
      """)

  static let userAuthEndpoint = Flag(
    "user-auth-endpoint", .text("URL"), shows: .place, excludes: ["user-auth-command"],
    of: [.subscribe], in: .authorization, summary: "ask URL who the user is",
    manual: """
      Ask the application at URL who the user is. The endpoint gets a form with `socket_id` and answers with `auth` and
      `user_data`. --auth-header and --auth-param apply here too. Implies --sign-in.
      """)

  static let userAuthCommand = Flag(
    "user-auth-command", .text("CMD"), shows: .program, of: [.subscribe], in: .authorization,
    summary: "run CMD, which prints who the user is",
    manual: """
      Run CMD, which prints what the endpoint would answer. PUSHER_CLI_SOCKET_ID holds the socket id. Implies
      --sign-in.
      """)

  static let watch = Flag(
    "watch", .text("ID"), isRepeatable: true,
    excludes: answered("watch", by: "user-auth-", "names the users itself"), needs: ["sign-in"],
    of: [.subscribe], in: .authorization, summary: "report when user ID goes online or offline",
    manual: "Report when user ID goes online or offline, with --sign-in. May be repeated.")

  static let waiting: [Flag] = [
    .connectTimeout, .reconnect, .retryPost, .keepGoing, .maxRetries, .retryDelay,
    .sseRetryDelay, .retryMaxDelay, .activityTimeout, .sseActivityTimeout, .pongTimeout,
  ]

  static let connectTimeout = Flag(
    "connect-timeout", .duration, of: .dialling, in: .patience, default: "10s",
    summary: "limit each attempt, from look-up to welcome",
    manual: """
      Limit each attempt to TIME, from the name look-up to the server's welcome or answer. The default is {default}. For
      `sse` the attempt ends with the head of the answer, redirects included; the events have no limit. Some servers
      send the head only with the first event, and need a longer TIME.
      """)

  static let reconnect = Flag(
    "reconnect", .choice(["auto", "always", "never"], "WHEN"),
    of: .printing.union([.webhook]), in: .patience, isCommonOf: [.subscribe],
    default: "auto",
    summary: "auto (first must work), always or never",
    manual: """
      Choose when to reconnect. The default is `{default}`. With `auto`, the first connection must succeed, and
      later losses are retried. With `always`, the first connection is retried too. With `never`, a lost
      connection ends the program with status 4. An event stream that the server ends, by its last chunk, its
      last counted byte or the closing alert of TLS, then ends the program with status 0. `sse` repeats a
      request with --data, or with another method than GET, only if you give this option. Only --keep-going
      retries refusals. HTTP 408, 425, 429 and 500 to 599, except 501 and 505, are losses and no refusals.
      """)

  static let retryPost = Flag(
    "retry-post", of: [.sse], in: .patience,
    summary: "repeat a POST after 429 or 503 with Retry-After",
    manual: """
      Send a request again if the server asks for that before its first event. The server asks by HTTP 429 or
      503 with Retry-After. The option is for a request with --data, or with another method than GET.
      --max-retries limits the number of retries. --retry-delay and --retry-max-delay limit the waits. A stream
      that has begun is not requested again, unless --reconnect says so.
      """)

  static let keepGoing = Flag(
    "keep-going", of: .printing, in: .patience, summary: "continue after a refusal",
    manual: """
      Continue after a refusal. The program warns about a refused channel and goes on without it, until no
      channel is left. A refused connection or event stream is retried like a lost one.
      """)

  static let maxRetries = Flag(
    "max-retries", .integer(0...Int.max), of: .printing, in: .patience,
    summary: "end with 4 after N retries in a row (no limit)",
    manual: "End with status 4 after N retries in a row. Without this option there is no limit.")

  static let retryDelay = Flag(
    "retry-delay", .duration, of: [.subscribe, .bench], in: .patience, default: "1s",
    summary: "wait at least TIME between retries",
    manual: """
      Set the shortest wait of `subscribe` and `bench` between retries. The default is {default}, and the minimum 10 ms. Longer
      waits grow from TIME. `RECONNECTING SUBSCRIBE` has the times of all attempts.
      """)

  static let sseRetryDelay = Flag(
    "retry-delay", .duration, of: [.sse], in: .patience, default: "3s",
    summary: "wait TIME first, unless the stream sets retry",
    manual: """
      Wait TIME before `sse` requests a lost stream again. The default is {default}. The stream can set another wait by
      `retry:`. Further attempts without an event wait longer.
      """)

  static let retryMaxDelay = Flag(
    "retry-max-delay", .duration, of: .printing, in: .patience, default: "120s",
    summary: "wait at most TIME between retries",
    manual: """
      Wait at most TIME between two retries. The default is {default}. The waits are random. They grow from
      --retry-delay, or from TIME if that is less. If a server asks for a longer wait by Retry-After, the wait
      is that long, but never more than TIME. The first wait of `sse` is as --retry-delay says.
      """)

  static let activityTimeout = Flag(
    "activity-timeout", .duration, of: [.subscribe], in: .patience,
    summary: "ping after TIME of silence; server may set less",
    manual: """
      Send a ping of `subscribe` after TIME of silence, if the server allows a longer silence.
      """)

  static let sseActivityTimeout = Flag(
    "activity-timeout", .duration, of: [.sse], in: .patience, default: "5m",
    summary: "reconnect after TIME of silence; not with -d",
    manual: """
      Let `sse` close a stream that is silent for TIME, and request it again. The default is {default}, and no limit for
      a request with --data. Every byte counts, also a comment. Give a longer TIME for a server that sends no comments
      while it has no events. With `--reconnect never`, the silence ends the program with status 4.
      """)

  static let pongTimeout = Flag(
    "pong-timeout", .duration, of: [.subscribe], in: .patience, default: "30s",
    summary: "wait TIME for the answer to a ping",
    manual: """
      Wait TIME for the answer to a ping. Then the connection counts as lost. The default is {default}.
      """)

  static let speaking: [Flag] = [
    .quiet, .verbose, .buildFacts, .trace, .color, .help, .helpAll, .version,
  ]

  static let quiet = Flag(
    "quiet", letter: "q", of: .talking, in: .voice, cancels: "verbose", summary: "show only errors")

  static let verbose = Flag(
    "verbose", letter: "v", .counter, of: .talking, in: .voice, isCommonOf: [.subscribe],
    cancels: "quiet",
    summary: "show what happens; twice: also protocol frames",
    manual: """
      Show what happens to the connection and its channels. This is the default only on a terminal. Given twice, the
      option shows protocol frames too, without secrets and signatures.
      """)

  static let buildFacts = Flag(
    "verbose", letter: "v", .counter, of: [.version], in: .voice,
    summary: "show commit, compiler, OpenSSL and system too")

  static let trace = Flag(
    "trace", .text("FILE"), of: .dialling, in: .voice, summary: "write protocol messages to FILE",
    manual: """
      Write every protocol message to FILE with its time, without secrets and signatures. The option works with
      `subscribe`, `sse`, `trigger`, `channels`, `users`, `terminate`, `check`, `bench` and `webhook send`. Of `sse`,
      FILE gets only the heads of requests and answers.
      """)

  static let color = Flag(
    "color", .choice(ColorChoice.allCases.map(\.rawValue), "WHEN"), variables: ["PUSHER_CLI_COLOR"],
    of: .talking, in: .voice, default: ColorChoice.auto.rawValue,
    summary: "colour the output: auto, always or never",
    manual: """
      Choose when to use colour: `auto`, `always` or `never`. The default is `{default}`. Colour marks the events of
      `subscribe` and `sse`, and the words `error:` and `warning:` in the messages of every command. `auto` uses it
      where each of these goes to a terminal. Messages to the journal have no colour.
      """)

  static let help = Flag(
    "help", letter: "h", is: .action, of: .every, in: .voice, isCommon: true,
    summary: "show help and exit",
    manual: "Show the help of the command and exit with status 0, whatever else is given.")

  static let helpAll = Flag(
    "help-all", is: .action, of: .every, in: .voice,
    summary: "show every option and exit")

  static let version = Flag(
    "version", letter: "V", is: .action, of: .every, in: .voice,
    summary: "show the version and exit")
}
