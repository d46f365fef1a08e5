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
    variables: ["PUSHER_APP_KEY", "PUSHER_KEY", "REVERB_APP_KEY", "SOKETI_DEFAULT_APP_KEY"],
    of: .working, in: .connection, isCommon: true, summary: "use this app key (PUSHER_APP_KEY)",
    manual: "Use KEY as the app key. The key is public, but the secret is not.")

  static let appID = Flag(
    "app-id", .text("ID"), is: .app,
    variables: ["PUSHER_APP_ID", "REVERB_APP_ID", "SOKETI_DEFAULT_APP_ID"],
    of: .calling.union([.serve, .subscribe]), in: .connection, isCommon: true,
    summary: "use this app id (PUSHER_APP_ID)",
    manual: """
      Use ID as the app id, for `trigger`, `channels`, `users`, `terminate`, `check`, `bench`, `webhook send`, `serve`,
      and `subscribe` with a pattern.
      """)

  static let secretFile = Flag(
    "secret-file", .text("FILE"), is: .app, variables: ["PUSHER_APP_SECRET_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app secret from FILE (-: standard input)",
    manual: """
      Read the app secret from FILE, without its last newline. `-` means standard input. `subscribe` and `webhook send`
      read FILE again before each connection. No option takes the secret itself, because ps(1) would show it.
      """)

  static let envFile = Flag(
    "env-file", .text("FILE"), is: .source, variables: ["PUSHER_CLI_ENV_FILE"], of: .working,
    in: .connection, isCommon: true, summary: "read the app and its server from a .env file",
    manual: """
      Read the app and its server from FILE, a `.env` file. Laravel, Symfony and docker compose write such files.
      ENVIRONMENT lists the variables that count. They replace the variables of the environment. The program executes
      nothing in the file. It understands quotes, `export`, comments, `${NAME}` and values of several lines. `-` means
      standard input. The program reads a `.env` file only if this option or PUSHER_CLI_ENV_FILE names it. The file of
      PUSHER_CLI_ENV_FILE counts only if the environment has no key.
      """)

  static let profile = Flag(
    "profile", letter: "P", .text("NAME"), is: .source, variables: ["PUSHER_CLI_PROFILE"],
    of: .talking, in: .connection, summary: "use app, server and options of a profile",
    manual: """
      Use the app, its server and the other options of the profile NAME. The configuration file holds the profiles; see
      FILES. Options on the command line override the profile. The program then ignores an app in the environment.
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
      Take the server and the app from URL. Its form is `wss://HOST:PORT/app/KEY` or `https://HOST:PORT/apps/ID`. A
      prefix may stand before `/app` or `/apps`. The URL replaces --scheme, --host, --port, --path, and --key or
      --app-id. The program refuses a URL with a secret, because ps(1) would show it. Put that URL into PUSHER_URL.
      """)

  static let apiURL = Flag(
    "api-url", .text("URL"), shows: .place, of: .client, in: .connection,
    summary: "call the HTTP API below this URL",
    manual: """
      Call the HTTP API below URL, `https://HOST:PORT/PREFIX`, instead of --scheme, --host, --port and --path. PREFIX is
      for a proxy that strips it: the program requests it, but does not sign it. Without PREFIX, --path applies to calls
      too; its prefix is requested and signed. If nothing else names the server, the WebSocket is at URL too, below
      PREFIX.
      """)

  static let local = Flag(
    "local", is: .source, excludes: ["env-file", "profile", "cluster"],
    of: .working.subtracting([.serve]), in: .connection, isCommon: true,
    summary: "use the server that 'pusher-cli serve' starts",
    manual: """
      Use the server that `pusher-cli serve` starts. Its address is 127.0.0.1 port 6001, without TLS. Its app id is 1,
      and its key and secret are `local`. The program ignores the environment, proxies included. If nothing listens
      there yet, the program waits for the server, for --connect-timeout at most.
      """)

  static let service = Flag(
    "service", .choice(Array(PusherService.named.map(\.name)), "NAME"), of: .client.union([.serve]),
    in: .connection, default: "pusher", summary: "choose the service: pusher or eventflit",
    manual: """
      Choose the service, with its event names and hosts. `pusher` is also for Reverb, soketi and other servers of its
      protocol. With `eventflit`, event names begin with `eventflit:`, and the hosts are those of Eventflit. The
      default is `{default}`.
      """)

  static let cacert = Flag(
    "cacert", .text("FILE"), of: .dialling, in: .connection,
    summary: "trust the certificates in FILE (PEM)",
    manual: """
      Trust the certificates in FILE, in PEM form, instead of the system's. Each connection reads FILE again, but a
      pipe, such as `<(...)`, only once; this applies to --tls-cert and --tls-key too.
      """)

  static let tlsCert = Flag(
    "tls-cert", .text("FILE"), of: .dialling, in: .connection,
    summary: "send this certificate if the server asks (PEM)",
    manual: """
      Send the certificate in FILE if the server asks for one. FILE is in PEM form; its chain follows the certificate.
      The option applies to `subscribe`, `sse`, `trigger`, `channels`, `users`, `terminate`, `check`, `bench` and
      `webhook send`. Authorisation endpoints and receivers of webhooks do not get the certificate.
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
      Connect through the proxy URL. This applies to the server, to --auth-endpoint and to the HTTP API. With
      `http://host:port` the program uses CONNECT, whatever the server's scheme is. With `socks5h://host:port` the
      proxy looks up names; with `socks5://host:port` the program looks them up. The default port is 1080. The program
      refuses a URL with a password, because ps(1) would show it. Put that URL into ALL_PROXY. NO_PROXY applies. An
      empty URL means no proxy, whatever the environment says.
      """)

  static let ipv4 = Flag(
    "ipv4", letter: "4", of: .dialling, in: .connection, cancels: "ipv6",
    summary: "connect over IPv4 only",
    manual: """
      Connect over IPv4 only. By default, the program tries all addresses, IPv6 a little earlier, and uses the first
      that answers. This option and --ipv6 exclude one kind of address, for the server or for its proxy.
      """)

  static let ipv6 = Flag(
    "ipv6", letter: "6", of: .dialling, in: .connection, cancels: "ipv4",
    summary: "connect over IPv6 only")

  static let compression = Flag(
    "compression", isOnByDefault: true, of: .joining, in: .connection,
    summary: "do not offer permessage-deflate",
    manual: """
      Turn compression on or off. `subscribe` offers the server permessage-deflate by default. `serve` accepts it by
      default, and reads compressed messages of clients. It compresses events of 1 KiB or more, once for all clients
      that read compressed messages. `bench` offers permessage-deflate only with this option, because each of its
      sockets then needs more memory. `sse` asks for gzip or deflate only with this option, because servers may hold
      events back to compress them. It reads both in any case.
      """)

  static let sseCompression = Flag(
    "compression", of: [.sse], in: .connection, summary: "ask for gzip or deflate", manual: "")
}
