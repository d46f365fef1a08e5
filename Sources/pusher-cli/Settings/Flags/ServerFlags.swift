internal import PusherServer

extension Flag {
  static let serving: [Flag] = [
    .listen, .webhookListen, .reusePort, .redis, .portFile, .serveOnReady, .serveTLSCert,
    .serveTLSKey, .clientEvents, .subscriptionCounts, .serveCompression, .drain, .fault, .dialect,
  ]

  static let listen = Flag(
    "listen", .text("ADDRESS"), of: [.serve], in: .serve, isCommon: true, default: "127.0.0.1:6001",
    summary: "HOST:PORT; port 0: a free one",
    manual: """
      Listen at ADDRESS, a host and a port with a colon between them. Without it `serve` listens where the source of its
      app says that clients connect, such as REVERB_HOST and REVERB_PORT, if that is this machine; else at {default}.
      Port 0 takes a free one; without a host it is 127.0.0.1. Where others can connect, `serve` wants a secret of your own. It does not count
      where systemd hands a socket over; see `REPLACING A SERVER`.
      """)

  static let webhookListen = Flag(
    "listen", .text("ADDRESS"), of: [.webhook], in: .serve, isCommon: true,
    default: "127.0.0.1:6002", summary: "HOST:PORT; port 0: a free one",
    manual: "The same for `webhook`, {default} unless given.")

  static let reusePort = Flag(
    "reuse-port", of: [.serve], in: .serve,
    summary: "share the port with another serve, to replace it",
    manual: """
      Listen also where other servers of this user listen, if all of them were started with this option: a new one can
      begin before the old one ends; see `REPLACING A SERVER`. While both run the system gives each of them some of the
      new connections. The port of --metrics is shared likewise. Without the option a port that is taken is an error. Several
      servers that share a port and a Redis use several cores; see --redis.
      """)

  static let redis = Flag(
    "redis", .text("URL"), allowsEmpty: true, shows: .place, variables: ["PUSHER_CLI_REDIS_URL"],
    of: [.serve], in: .serve, summary: "share channels with other servers through Redis",
    manual: """
      Share channels, members and events with all other servers that have the same URL: to clients and to the HTTP API they
      are one server. The URL is `redis://host:port/database`, with `rediss` for TLS, or for Sentinels
      `redis+sentinel://host:port,host:port/name/database`. A password is not taken from here, since it would show in ps(1):
      give the URL in PUSHER_CLI_REDIS_URL. An empty URL means no Redis, whatever the environment says. The server says
      that it listens once the others know of it, or once it is known that Redis cannot be reached. While Redis
      cannot be reached sockets stay, the HTTP API answers with 503, and client events are refused.
      """)

  static let portFile = Flag(
    "port-file", .text("FILE"), of: [.serve, .webhook], in: .serve, isCommon: true,
    summary: "write the port to FILE once connections are taken")

  static let serveOnReady = Flag(
    "on-ready", .text("CMD"), shows: .program, of: [.serve], in: .serve,
    summary: "run CMD once connections are taken", manual: "")

  static let serveTLSCert = Flag(
    "tls-cert", .text("FILE"), needs: ["tls-key"], of: [.serve], in: .serve, isCommon: true,
    summary: "serve wss and https with this certificate (PEM)",
    manual: """
      Serve wss and https with the certificate in FILE, in PEM form. SIGHUP then does not end the server: it reads the
      certificate and its key again, for new connections. Files that cannot be used change nothing, and a warning says so.
      """)

  static let serveTLSKey = Flag(
    "tls-key", .text("FILE"), needs: ["tls-cert"], of: [.serve], in: .serve, isCommon: true,
    summary: "the certificate's private key (PEM)")

  static let clientEvents = Flag(
    "client-events", isOnByDefault: true, of: [.serve], in: .serve, isCommon: true,
    summary: "refuse client events (members may send them)",
    manual: """
      Let members of private and presence channels send events to each other, which is the default, or do not.
      """)

  static let subscriptionCounts = Flag(
    "subscription-counts", of: [.serve], in: .serve, isCommon: true,
    summary: "send subscription_count events",
    manual: """
      Tell the subscribers of channels other than presence channels how many they are: `pusher:subscription_count`,
      above a hundred of them every five seconds.
      """)

  static let serveCompression = Flag(
    "compression", isOnByDefault: true, of: [.serve], in: .serve,
    summary: "do not agree to permessage-deflate", manual: "")

  static let drain = Flag(
    "drain", .duration, of: [.serve], in: .serve,
    summary: "close sockets over TIME at the end, not at once",
    manual: """
      When a signal ends the server, accept no more connections and close the sockets one after another over TIME, each with
      4200, so that their clients do not all come back at once. A second signal ends the server at once.
      """)

  static let fault = Flag(
    "fault", .text("FAULT"), offers: StagedFault.kinds, isRepeatable: true, of: [.serve],
    in: .serve, summary: "stage a fault, such as 'drop:after=3' (manual)",
    manual: """
      Stage a fault, to test an app with it; see `STAGED FAULTS`. May be given more than once.
      """)

  static let dialect = Flag(
    "dialect", .choice(Dialect.allCases.map(\.rawValue), "NAME"), of: [.serve], in: .serve,
    default: Dialect.pusher.rawValue, summary: "answer as pusher, reverb or soketi do",
    manual: """
      Answer as `pusher` does, or as `reverb` or `soketi` do where they differ: the form of some messages, what is
      closed and how, when and how silent clients are pinged, limits, which client events are passed on, whether a
      second subscription succeeds, whether a number as a user's id stays one, the names of private, presence and
      cache channels, how long the event of a cache channel is kept, and the answers of the HTTP API; neither of them
      agrees to permessage-deflate. As `soketi` the server closes a connection with 4201 when it has sent no message
      on it for two minutes, in spite of WebSocket pings. The default is `{default}`.
      """)

  static let hooking: [Flag] = [
    .apps, .webhook, .webhookDelay, .authEndpoints, .allowOrigin, .allowHost, .maxConnections,
    .serveMaxChannels, .maxQueued, .logEvents, .printEnv,
  ]

  static let apps = Flag(
    "apps", .text("FILE"), excludes: ["key", "app-id", "secret-file"], of: [.serve], in: .serve,
    isCommon: true, summary: "serve all apps of FILE (JSON); see man",
    manual: """
      Serve all apps of FILE at once, in place of the one that options or the environment name. It holds a JSON array
      of objects with `id`, `key` and `secret`, and if need be `client_events`, `subscription_counts` and `enabled`,
      each `true` or `false`, `webhooks`, an array of URLs that come on top of those of --webhook,
      `encryption_master_key`, and `limits`, an object with any of `connections`, `channels_per_connection`,
      `presence_members`, `event_bytes`, `client_events_per_second`, `cached_channels`, and for calls of the HTTP API
      `events_per_second` and `bytes_per_second`. What is beyond a limit is refused as Pusher does it: connections and
      members with 4004, client events with 4301, data with 413, calls with 403. SIGHUP then does not end the server:
      it reads FILE again. New apps are served; sockets of an app that is gone are closed with 4001, of one that is not
      enabled any more with 4003; all others stay, and what has changed counts from then on. Of a file that is wrong it
      says what, and the apps stay as they are.
      """)

  static let webhook = Flag(
    "webhook", .text("URL"), isRepeatable: true, shows: .place, of: [.serve], in: .serve,
    isCommon: true, summary: "send webhooks to URL",
    manual: """
      Send webhooks to URL, signed with the app's secret as Pusher signs them: `channel_occupied`, `channel_vacated`,
      `member_added`, `member_removed`, `client_event`, `cache_miss` and, with --subscription-counts,
      `subscription_count`. Each holds one event. A webhook that is not answered with a status of 2xx is sent again
      after 1, 2, 4 seconds and so on, or later where the answer's `Retry-After` asks for that, for five minutes, before
      anything else goes to the same URL; a thousand, of 16 MiB in all, may wait there, and more are dropped. Messages
      report failures and drops. When the server ends,
      waiting webhooks and held-back departures are sent at once, until one is not accepted or two seconds have
      passed; a message says how many are discarded. Reverb has no webhooks; with `--dialect reverb` they are sent all
      the same, and a warning says so. May be repeated.
      """)

  static let webhookDelay = Flag(
    "webhook-delay", .duration, of: [.serve], in: .serve, default: "3s",
    summary: "report departures after TIME",
    manual: """
      Report only after TIME, {default} unless given, that a channel is vacated or a member has left, and not at all
      if it comes back before.
      """)

  static let authEndpoints = Flag(
    "auth-endpoints", of: [.serve], in: .serve,
    summary: "answer /pusher/auth also beyond this machine",
    manual: """
      Answer POST requests to `/pusher/auth` and `/pusher/user-auth`, and at Laravel's `/broadcasting/auth` and
      `/broadcasting/user-auth`, as an application does, or with `--no-auth-endpoints` do not. Only a socket that is
      connected here is signed for, and only for its own app. It may subscribe to every channel as any user, so this
      is the default only where no other machine can connect, and then only for requests that begin on this machine: not
      for those that a proxy brought, as their fields show, or whose Host is not local. With --auth-endpoints everybody
      who reaches the server may ask. A request is a form or JSON; its fields are `socket_id`,
      `channel_name`, for members and users `user_id`, `user_info` and `watchlist`, and `app_key`, which must be that
      of the socket's app. Without a `user_id` the socket's id is the user's.
      """)

  static let allowOrigin = Flag(
    "allow-origin", .text("ORIGIN"), isRepeatable: true, of: [.serve], in: .serve,
    summary: "let in web pages of ORIGIN too",
    manual: """
      Let web pages of ORIGIN speak to the server, such as `https://shop.example` or `http://192.168.1.5:3000`.
      Without it only pages of this machine may: those whose host is a loopback address, `localhost`, or a name under
      `.localhost` or `.test`, with any port. All others get 403 at sockets, endpoints and the HTTP API; a warning
      names the origin, once for each and for twenty in all. Programs send no origin and are not asked for one. `null`
      is the origin of files and of every sandboxed page of the web. May be repeated.
      """)

  static let allowHost = Flag(
    "allow-host", .text("HOST"), isRepeatable: true, of: [.serve], in: .serve,
    summary: "allow requests for HOST too",
    manual: """
      Allow requests for HOST, a name or an address without a port, beside the local ones that --allow-origin lists.
      It is for names of yours that lead to this machine, such as that of a tunnel. Names that are not allowed get
      403, since a page can make its own name lead here. A server that listens where other machines can connect takes
      every name. The endpoints of --auth-endpoints, `/faults` and the page of --console stay closed to requests for HOST and to
      those that a proxy brought, unless these options are given. May be repeated.
      """)

  static let maxConnections = Flag(
    "max-connections", .integer(1...10_000_000), of: [.serve], in: .serve, default: "10000",
    summary: "let in N sockets at most",
    manual: """
      Let in at most N sockets of all apps together, {default} unless given; one more is refused with 4004. Each takes a file
      descriptor and about 4 KiB. The server raises its limit of open files as far as the system lets it, and warns
      where that is not enough for N: then `ulimit -n`, or `LimitNOFILE` of systemd, must be raised.
      """)

  static let serveMaxChannels = Flag(
    "max-channels", .integer(1...10_000_000), of: [.serve], in: .serve, default: "100000",
    summary: "let each app have N channels at most",
    manual: """
      Let each app have at most N occupied channels on this server, {default} unless given. A subscription to one more gets an
      error event; the first time a warning says so. An empty channel is gone, and makes room. Each takes about 1 KiB.
      """)

  static let maxQueued = Flag(
    "max-queued", .size((1 << 20)...(1 << 40)), of: [.serve], in: .serve, default: "256M",
    summary: "hold SIZE for all slow clients together",
    manual: """
      Hold at most SIZE bytes of memory for all clients together that do not read, {default} unless given. Above that the
      clients with the longest queues are dropped; the first time a warning says so. One client may have 1 MiB
      waiting, and is closed with 4100 for more.
      """)

  static let logEvents = Flag(
    "log-events",
    excludes: [
      Exclusion("print-env", "--log-events and --print-env both print on standard output; give one")
    ], of: [.serve], in: .serve, isCommon: true,
    summary: "print each event that is sent as one JSON line",
    manual: """
      Print each event that comes through the HTTP API or from a client as one JSON line, as `subscribe` prints it.
      """)

  static let printEnv = Flag(
    "print-env", of: [.serve], in: .serve, isCommon: true,
    summary: "print variables for a .env file",
    manual: """
      Print the variables that lead an application here, for a `.env` file, and go on. The secret is among them.
      """)
}
