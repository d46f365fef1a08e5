internal import PusherCore

extension Flag {
  static let connecting: [Flag] = [
    .key, .appID, .secretFile, .envFile, .profile, .config, .noConfig, .cluster, .host, .port,
    .scheme, .path, .url, .apiHost, .apiPort, .local, .service, .cacert, .tlsCert, .tlsKey,
    .pinSHA256, .insecure, .proxy, .ipv4, .ipv6, .subprotocol, .compression, .sseCompression,
  ]

  static let key = Flag(
    "key", letter: "k", .text("KEY"), is: .app,
    variables: ["PUSHER_APP_KEY", "PUSHER_KEY", "REVERB_APP_KEY", "SOKETI_DEFAULT_APP_KEY"],
    of: .working, in: .connection, isCommon: true, summary: "app key (PUSHER_APP_KEY)",
    manual: "The app key. It is public; the secret is not.")

  static let appID = Flag(
    "app-id", .text("ID"), is: .app,
    variables: ["PUSHER_APP_ID", "REVERB_APP_ID", "SOKETI_DEFAULT_APP_ID"],
    of: .calling.union([.serve]), in: .connection, isCommon: true,
    summary: "app id (PUSHER_APP_ID)",
    manual: "The app id, for `trigger`, `channels`, `users`, `terminate`, `check` and `serve`.")

  static let secretFile = Flag(
    "secret-file", .text("FILE"), is: .app, variables: ["PUSHER_APP_SECRET_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app secret from FILE, - is standard input",
    manual: """
      Read the app secret from FILE, without the last newline; `-` is standard input. There is no option that takes
      the secret itself, since it would show in ps(1).
      """)

  static let envFile = Flag(
    "env-file", .text("FILE"), is: .source, variables: ["PUSHER_CLI_ENV_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app and its server from a .env file",
    manual: """
      Read the app and its server from FILE, a `.env` file as Laravel, Symfony and docker compose write it: the
      variables that ENVIRONMENT names count as they stand there, and those of the environment do not. Nothing of the
      file is run. Quotes, `export`, comments, `${NAME}` and values of many lines are understood; `-` is standard
      input. A file that is only there is never read by itself; PUSHER_CLI_ENV_FILE names one to fall back on.
      """)

  static let profile = Flag(
    "profile", letter: "P", .text("NAME"), is: .source, variables: ["PUSHER_CLI_PROFILE"],
    of: .talking, in: .connection, summary: "take app, server and options of a profile",
    manual: """
      Take the app, its server and further options of the profile NAME in the configuration file; see FILES. Options
      that are typed come before, and the environment names no app then.
      """)

  static let config = Flag(
    "config", .text("FILE"), is: .source, variables: ["PUSHER_CLI_CONFIG"], of: .talking,
    in: .connection, summary: "read this configuration file only",
    manual: "Read FILE as the only configuration file; see FILES.")

  static let noConfig = Flag(
    "no-config", is: .source, excludes: ["config"], of: .talking, in: .connection,
    summary: "read no configuration file")

  static let cluster = Flag(
    "cluster", .text("NAME"), offers: PusherService.clusters, is: .app,
    variables: ["PUSHER_APP_CLUSTER", "PUSHER_CLUSTER"], of: .client, in: .connection,
    isCommon: true, default: PusherService.pusher.defaultCluster, summary: "cluster of pusher.com",
    manual: "A cluster of pusher.com, {default} unless given.")

  static let host = Flag(
    "host", .text("HOST"), is: .app, variables: ["PUSHER_HOST", "REVERB_HOST"],
    excludes: ["cluster"], of: .client, in: .connection, isCommon: true,
    summary: "your own server instead of pusher.com")

  static let port = Flag(
    "port", letter: "p", .integer(1...65_535), is: .app,
    variables: ["PUSHER_PORT", "REVERB_PORT", "SOKETI_PORT"], of: .client, in: .connection,
    summary: "its port (443, or 80 for http)",
    manual: "The server's port, 443 unless given, or 80 with `--scheme http`.")

  static let scheme = Flag(
    "scheme", .choice(["https", "http", "wss", "ws"], "SCHEME"), is: .app,
    variables: ["PUSHER_SCHEME", "REVERB_SCHEME"], of: .client, in: .connection, default: "https",
    summary: "https or http; wss and ws mean the same",
    manual: "`https` or `http`; `wss` and `ws` mean the same. The default is `{default}`.")

  static let path = Flag(
    "path", .text("PREFIX"), is: .app, of: .client, in: .connection,
    summary: "path in front of /app and /apps",
    manual: "The path in front of `/app` and `/apps`, with its first slash or without.")

  static let url = Flag(
    "url", .text("URL"), shows: .place, is: .source,
    excludes: ["host", "port", "scheme", "path", "cluster", "local"], of: .client, in: .connection,
    summary: "server, app key or app id in one",
    manual: """
      The server and the app in one: `wss://HOST:PORT/app/KEY` or `https://HOST:PORT/apps/ID`; a prefix may stand before
      `/app`. It stands for --scheme, --host, --port, --path and --key or --app-id. A URL with the secret would show in
      ps(1); put that into PUSHER_URL.
      """)

  static let apiHost = Flag(
    "api-host", .text("HOST"), of: .calling, in: .connection,
    summary: "where the HTTP API is, if elsewhere",
    manual: "The host of the HTTP API, where that is not --host.")

  static let apiPort = Flag(
    "api-port", .integer(1...65_535), of: .calling, in: .connection,
    summary: "its port, if it is another",
    manual: "The port of the HTTP API, where that is not --port.")

  static let local = Flag(
    "local", is: .source, excludes: ["env-file", "profile", "cluster"],
    of: .working.subtracting([.serve]), in: .connection, isCommon: true,
    summary: "the server that 'pusher-cli serve' starts",
    manual: """
      The server that `pusher-cli serve` starts: 127.0.0.1 port 6001 without TLS, with app id 1, and `local` as key
      and secret. The environment is then left out, proxies included. While nothing listens there yet, the server is
      waited for, as long as --connect-timeout says at most.
      """)

  static let service = Flag(
    "service", .choice(Array(PusherService.named.map(\.name)), "NAME"), of: .client.union([.serve]),
    in: .connection, default: "pusher", summary: "pusher or eventflit: names and hosts",
    manual: """
      `pusher`, also for Reverb, soketi and other servers of that protocol, or `eventflit`, whose events begin with
      `eventflit:` and whose hosts are its own. The default is `{default}`.
      """)

  static let cacert = Flag(
    "cacert", .text("FILE"), of: .dialling, in: .connection,
    summary: "trust the certificates in FILE (PEM)",
    manual: "Trust the certificates in FILE, in PEM form, instead of the system's.")

  static let tlsCert = Flag(
    "tls-cert", .text("FILE"), of: .dialling, in: .connection,
    summary: "show this certificate when the server asks (PEM)",
    manual: """
      Show the certificate in FILE, in PEM form and followed by its chain, when the server asks for one; for
      `subscribe`, `sse`, `trigger`, `channels`, `users`, `terminate` and `check`. An authorisation endpoint is not shown it.
      """)

  static let tlsKey = Flag(
    "tls-key", .text("FILE"), needs: ["tls-cert"], of: .dialling, in: .connection,
    summary: "its private key, if not in the same file (PEM)",
    manual: """
      The certificate's private key, in PEM form; without this option it is read from the certificate's file.
      """)

  static let pinSHA256 = Flag(
    "pin-sha256", .text("HASH"), isRepeatable: true, of: .dialling, in: .connection,
    summary: "accept only a server with this public key",
    manual: """
      Accept only a server whose public key has this HASH: the SHA-256 of its SubjectPublicKeyInfo in Base64, with
      `sha256//` or `sha256/` before it or not. May be given more than once; one of them has to fit. With --insecure
      the key is all that is checked. The key of an authorisation endpoint is not compared.
      """)

  static let insecure = Flag(
    "insecure", excludes: ["cacert"], of: .dialling, in: .connection,
    summary: "do not check the server's certificate",
    manual: """
      Do not check the server's certificate. A warning says so on every run, with --quiet too.
      """)

  static let proxy = Flag(
    "proxy", .text("URL"), allowsEmpty: true, shows: .place, of: .dialling, in: .connection,
    summary: "http:// or socks5h:// proxy; '' is none",
    manual: """
      Connect through this proxy, be it to the server, to --auth-endpoint or to the HTTP API: `http://host:port` is
      asked by CONNECT whatever the server's scheme is, `socks5h://host:port` looks the names up itself, and with
      `socks5://host:port` they are looked up here. The port is 1080 unless given. A password is not taken from here,
      since it would show in ps(1); the environment has ALL_PROXY for it. NO_PROXY is heeded; an empty URL means no
      proxy, whatever the environment says.
      """)

  static let ipv4 = Flag(
    "ipv4", letter: "4", of: .dialling, in: .connection, cancels: "ipv6",
    summary: "connect over IPv4 only",
    manual: """
      Connect over IPv4 only. Of several addresses the first that answers is taken, IPv6 a little ahead; this and
      --ipv6 leave one kind out, for the server or for the proxy that leads there.
      """)

  static let ipv6 = Flag(
    "ipv6", letter: "6", of: .dialling, in: .connection, cancels: "ipv4",
    summary: "connect over IPv6 only")

  static let subprotocol = Flag(
    "subprotocol", .text("NAME"), isRepeatable: true, of: .joining, in: .connection,
    summary: "offer this WebSocket sub-protocol (none)",
    manual: """
      Offer the server this WebSocket sub-protocol, for `subscribe`. May be given more than once. The default is none,
      which suits every server that is known; some clients send `pusher-channels-protocol-7`.
      """)

  static let compression = Flag(
    "compression", isOnByDefault: true, of: .joining, in: .connection,
    summary: "do not offer permessage-deflate",
    manual: """
      Offer the server permessage-deflate, which is the default of `subscribe`, or do not; `serve` agrees to it unless
      told not to, reads what clients compress, and compresses events of 1 KiB or more, once for all who read that; `sse`
      asks for gzip or deflate only when told to, since servers may hold events back to compress them, and understands
      both in any case.
      """)

  static let sseCompression = Flag(
    "compression", of: [.sse], in: .connection, summary: "ask for gzip or deflate", manual: "")
}
