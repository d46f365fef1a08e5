internal import PusherServer

extension Flag {
  static let serving: [Flag] = [
    .listen, .servePort, .webhookListen, .reusePort, .redis, .portFile, .serveOnReady,
    .serveTLSCert,
    .serveTLSKey, .clientEvents, .subscriptionCounts, .serveCompression, .drain, .fault, .dialect,
  ]

  static let listen = Flag(
    "listen", .text("ADDRESS"), shows: .address, of: [.serve], in: .serve, isCommon: true,
    default: "127.0.0.1:6001",
    summary: "listen at HOST:PORT; port 0: any",
    manual: """
      Listen at ADDRESS, in the form `HOST:PORT`. The default host is 127.0.0.1; port 0 picks a free port.
      Without this option, `serve` uses host and port of the source of its app, such as REVERB_HOST, if that is
      this machine, or {default}. If other machines can connect, `serve` requires a secret of your own. A socket
      from systemd replaces ADDRESS; see `REPLACING A SERVER`.
      """)

  static let servePort = Flag(
    "port", letter: "p", .integer(0...65_535), is: .app, excludes: ["listen"], of: [.serve],
    in: .serve, isCommon: true, summary: "listen at this port of 127.0.0.1",
    manual: "With `serve`, listen at port N of 127.0.0.1, as `--listen :N` does.")

  static let webhookListen = Flag(
    "listen", .text("ADDRESS"), shows: .address, of: [.webhook], in: .serve, isCommon: true,
    default: "127.0.0.1:6002", summary: "listen at HOST:PORT; port 0: any",
    manual: "With `webhook`, listen at ADDRESS in the same form. The default is {default}.")

  static let reusePort = Flag(
    "reuse-port", of: [.serve], in: .serve,
    summary: "share the port with another serve, to replace it",
    manual: """
      Share the port with other servers of this user, if all have this option. A new server can then start
      before the old server ends; see `REPLACING A SERVER`. While both run, the system gives each of them some
      of the new connections. The port of --metrics is shared too. To use several cores, let several servers
      share a port and a Redis; see --redis.
      """)

  static let redis = Flag(
    "redis", .text("URL"), allowsEmpty: true, shows: .place, variables: ["PUSHER_CLI_REDIS_URL"],
    of: [.serve], in: .serve, summary: "share channels with other servers through Redis",
    manual: """
      Share channels, members and events with all servers that have the same URL, as if they were one server.
      The URL is `redis://host:port/database`, with `rediss` for TLS. For Sentinels it is
      `redis+sentinel://host:port,host:port/name/database`. A URL with a password belongs into
      PUSHER_CLI_REDIS_URL. An empty URL means no Redis, whatever the environment says. Without Redis, sockets
      stay open, the HTTP API answers with 503, and client events are refused; see docs/cluster.md.
      """)

  static let portFile = Flag(
    "port-file", .text("FILE"), of: [.serve, .webhook], in: .serve, isCommon: true,
    summary: "write the port to FILE when the server listens")

  static let serveOnReady = Flag(
    "on-ready", .text("CMD"), shows: .program, of: [.serve], in: .serve,
    summary: "run CMD when the server listens", manual: "")

  static let serveTLSCert = Flag(
    "tls-cert", .text("FILE"), needs: ["tls-key"], of: [.serve], in: .serve, isCommon: true,
    summary: "serve wss and https with this certificate (PEM)",
    manual: """
      Serve wss and https with the PEM certificate in FILE. On SIGHUP, the server reads the certificate and its key
      again for new connections, and continues. If it cannot use the new files, it keeps the old ones and prints a
      warning.
      """)

  static let serveTLSKey = Flag(
    "tls-key", .text("FILE"), needs: ["tls-cert"], of: [.serve], in: .serve, isCommon: true,
    summary: "the certificate's private key (PEM)")

  static let clientEvents = Flag(
    "client-events", isOnByDefault: true, of: [.serve], in: .serve, isCommon: true,
    summary: "refuse client events (default: accept them)",
    manual: """
      Let subscribers of private and presence channels send each other client events. This is the default;
      `--no-client-events` refuses these events.
      """)

  static let subscriptionCounts = Flag(
    "subscription-counts", of: [.serve], in: .serve, isCommon: true,
    summary: "send subscription_count events",
    manual: """
      Send the number of subscribers to all channels except presence channels, as `pusher:subscription_count`.
      Channels with more than 100 subscribers get it every 5 s.
      """)

  static let serveCompression = Flag(
    "compression", isOnByDefault: true, of: [.serve], in: .serve,
    summary: "turn off permessage-deflate", manual: "")

  static let drain = Flag(
    "drain", .duration, of: [.serve], in: .serve,
    summary: "close sockets gradually over TIME at the end",
    manual: """
      Close the sockets with 4200, one after another over TIME, when a signal ends the server, so that the
      clients do not all reconnect at once. A second signal ends the server at once.
      """)

  static let fault = Flag(
    "fault", .text("FAULT"), offers: StagedFault.kinds, isRepeatable: true, of: [.serve],
    in: .serve, summary: "stage a fault, such as 'drop'; see 'help faults'",
    manual: """
      Stage a fault to test an app; see `STAGED FAULTS`. May be repeated.
      """)

  static let dialect = Flag(
    "dialect", .choice(Dialect.names, "NAME"), of: [.serve], in: .serve,
    default: Dialect.names[0], summary: "answer like pusher, reverb or soketi",
    manual: """
      Answer as `pusher`, `reverb` or `soketi` does; the default is `{default}`. They send different messages,
      and have different limits, client events, kinds of channels and HTTP APIs. They close and ping connections
      at different times. Only `pusher` agrees to permessage-deflate. As `soketi`, the server closes a
      connection with 4201 if it has sent no message on it for two minutes; WebSocket pings do not count. As
      `reverb`, it may have a rate limit on all messages of a connection: see --apps and
      REVERB_APP_RATE_LIMITING_ENABLED.
      """)

  static let hooking: [Flag] = [
    .apps, .webhook, .webhookDelay, .authEndpoints, .allowOrigin, .allowHost, .maxConnections,
    .serveMaxChannels, .maxAddressChannels, .maxSocketChannels, .joinsPerSecond, .maxQueued,
    .recoveryWindow, .recoveryLimit,
    .logEvents, .printEnv, .printSnippets,
  ]

  static let apps = Flag(
    "apps", .text("FILE"), excludes: ["key", "app-id", "secret-file"], of: [.serve], in: .serve,
    isCommon: true, summary: "serve all apps in FILE (JSON); see man",
    manual: """
      Serve all apps in FILE, instead of the one app that options or the environment name. FILE is a JSON array
      of objects with `id`, `key` and `secret`. The guide (`docs/guide.md`) describes the optional members, such
      as `webhooks`, `limits` and, with `--dialect reverb`, `rate_limiting`. On SIGHUP, the server reads FILE
      again. Sockets of a removed app are closed with 4001, of one that is no longer enabled with 4003. If FILE
      is wrong, the apps stay as they are.
      """)

  static let webhook = Flag(
    "webhook", .text("URL"), isRepeatable: true, shows: .place, of: [.serve], in: .serve,
    isCommon: true, summary: "send webhooks to URL",
    manual: """
      Send webhooks to URL, signed with the app's secret as Pusher signs them. May be repeated. If the answer is
      not a 2xx status, the server sends the webhook again after 1, 2, 4 s and so on, for five minutes. Later
      webhooks to the same URL wait, at most 1000 of them and 16 MiB in all; more are dropped. Messages report
      failures and drops. Reverb has no webhooks; with `--dialect reverb`, a warning says so.
      """)

  static let webhookDelay = Flag(
    "webhook-delay", .duration, of: [.serve, .webhook], in: .serve, default: "3s",
    summary: "delay webhooks about departures by TIME",
    manual: """
      Delay the webhooks `channel_vacated` and `member_removed` by TIME, by default {default}. If the channel or
      the member comes back in this time, nothing is reported.
      """)

  static let authEndpoints = Flag(
    "serve-auth", of: [.serve], in: .serve,
    summary: "answer /pusher/auth for other machines too",
    manual: """
      Answer authorisation requests from everybody, as an application does. The endpoints are POST
      `/pusher/auth` and `/pusher/user-auth`, and Laravel's `/broadcasting/auth` and `/broadcasting/user-auth`.
      They sign only for a socket that is connected here, for every channel and any user. So without this
      option, the server answers only requests from this machine, not through a proxy, and only if no other
      machine can connect. `--no-serve-auth` turns the endpoints off. A request is a form or JSON with
      `socket_id` and `channel_name`. For members and users, it may also have `user_id`, `user_info` and
      `watchlist`. Without `user_id`, the user's id is the socket's id.
      """)

  static let allowOrigin = Flag(
    "allow-origin", .text("ORIGIN"), isRepeatable: true, of: [.serve], in: .serve,
    summary: "allow web pages of ORIGIN too",
    manual: """
      Allow web pages of ORIGIN to use the server, such as `https://shop.example` or `http://192.168.1.5:3000`. Without
      this option, only pages of this machine may. Their host is a loopback address, `localhost`, or a name under
      `.localhost` or `.test`, with any port. All others get 403, and a warning names each once. `null` is the origin of
      files and of every sandboxed page. May be repeated.
      """)

  static let allowHost = Flag(
    "allow-host", .text("HOST"), isRepeatable: true, of: [.serve], in: .serve,
    summary: "allow requests for HOST too",
    manual: """
      Allow requests for HOST, a name or an address without a port. Use it for the name of a tunnel. Local
      hosts, which --allow-origin lists, are always allowed. Other names get 403, because a web page can make
      its own name lead here. A server that other machines can reach accepts every name. Requests for HOST do
      not reach `/faults`, and the authorisation endpoints and the console only with --serve-auth and --console.
      May be repeated.
      """)

  static let maxConnections = Flag(
    "max-connections", .integer(1...10_000_000), of: [.serve], in: .serve, default: "10000",
    summary: "accept at most N sockets",
    manual: """
      Accept at most N sockets of all apps together, by default {default}. The server refuses any more with
      4004. Each socket takes a file descriptor and about 4 KiB. If the system allows too few descriptors, a
      warning says so; then raise `ulimit -n`, or `LimitNOFILE` of systemd.
      """)

  static let serveMaxChannels = Flag(
    "max-channels", .integer(1...10_000_000), of: [.serve], in: .serve, default: "100000",
    summary: "allow each app at most N channels",
    manual: """
      Allow each app at most N occupied channels on this server, by default {default}. A subscription to one
      more gets an error event; a warning reports the first one. Each channel takes about 1 KiB.
      """)

  static let maxAddressChannels = Flag(
    "max-address-channels", .integer(1...10_000_000), of: [.serve], in: .serve, default: "25000",
    summary: "let one address occupy at most N channels",
    manual: """
      Let the sockets of one address, for IPv6 of a network of 64 bits, occupy at most N channels of an app, by
      default {default}. A subscription to one more gets an error event with 4004; a channel that others occupy
      does not count. Sockets that a proxy on this machine or in a private network brings, with a field such as
      `X-Forwarded-For`, have no such limit.
      """)

  static let maxSocketChannels = Flag(
    "max-socket-channels", .integer(1...1_000_000), of: [.serve], in: .serve, default: "10000",
    summary: "let each socket have at most N channels",
    manual: """
      Let each socket subscribe to at most N channels, by default {default}. A subscription to one more gets an error
      event with 4004.
      """)

  static let joinsPerSecond = Flag(
    "joins-per-second", .integer(1...1_000_000), of: [.serve], in: .serve, default: "100",
    summary: "let each socket join N channels a second",
    manual: """
      Let each socket subscribe to N channels a second, by default {default}, after a first burst of as many as
      --max-socket-channels, and at least 1000. A faster subscription gets an error event with 4301.
      """)

  static let maxQueued = Flag(
    "max-queued", .size((1 << 20)...(1 << 40)), of: [.serve], in: .serve, default: "256M",
    summary: "queue at most SIZE for all slow clients",
    manual: """
      Use at most SIZE bytes of memory for all clients that do not read, by default {default}. Above that, the
      server drops the clients with the longest queues. A client with more than 1 MiB in its queue is closed
      with 4100.
      """)

  static let recoveryWindow = Flag(
    "recovery-window", .duration, of: [.serve], in: .serve, default: "2m",
    summary: "keep events for TIME, for clients that resume",
    manual: """
      Keep the events of each channel for TIME, by default {default}, so that clients of sockudo's protocol V2 can
      resume. The server keeps nothing before the first such client. An app keeps 64 MiB at most. The
      oldest events go first.
      """)

  static let recoveryLimit = Flag(
    "recovery-limit", .integer(0...10_000), of: [.serve], in: .serve, default: "100",
    summary: "keep at most N events of a channel for that",
    manual: """
      Keep at most N events of each channel for --recovery-window, by default {default}; 0 keeps none.
      """)

  static let logEvents = Flag(
    "log-events",
    excludes: [
      Exclusion(
        "print-env", "--log-events and --print-env both print on standard output; give one"),
      Exclusion(
        "print-snippets",
        "--log-events and --print-snippets both print on standard output; give one"),
    ], of: [.serve], in: .serve, isCommon: true,
    summary: "print each event as one JSON line",
    manual: """
      Print each event from the HTTP API or from a client as one JSON line, as `subscribe` does.
      """)

  static let printEnv = Flag(
    "print-env", of: [.serve], in: .serve, isCommon: true,
    summary: "print variables for a .env file",
    manual: """
      Print the variables of a `.env` file that lead an application to this server. They include the secret. The
      server keeps running.
      """)

  static let printSnippets = Flag(
    "print-snippets",
    excludes: [
      Exclusion(
        "print-env", "--print-env and --print-snippets both print on standard output; give one")
    ], of: [.serve], in: .serve, summary: "print the lines that connect pusher-js",
    manual: """
      Print the lines of JavaScript that connect pusher-js to this server. They work as printed and hold no
      secret. With --apps, each app gets its own lines. The server keeps running. The page of --console has
      lines for Laravel, PHP, Python, Ruby, Swift and curl too.
      """)

  /// Options of `webhook send`.
  static let watching: [Flag] = [
    .webhookTo, .webhookEvent, .webhookChannel, .every, .initial, .webhookMaxChannels,
    .webhookUserID,
  ]

  /// Options of one word of `webhook`; all others apply to both.
  ///
  /// Only `send` connects. So it alone has the options that `channels` has for its connection, and
  /// `auth`, which signs without one, has not.
  static let ofWebhookSend: [Flag] =
    watching + [.webhookDelay, .maxMembers, .reconnect]
    + Flag.of(.webhook).filter {
      Flag.of(.channels).contains($0) && !Flag.of(.auth).contains($0)
    }
  static let ofWebhookListen: [Flag] = [
    .webhookListen, .portFile, .count, .timestamps, .whereExpression, .failWhere,
  ]

  static let webhookTo = Flag(
    "to", .text("URL"), isRepeatable: true, shows: .place, of: [.webhook], in: .serve,
    isCommon: true, summary: "send webhooks to URL",
    manual: """
      With `webhook send`, send webhooks to URL. May be repeated. Each URL has its own queue, as with --webhook of
      `serve`. Events that are known at the same moment share a webhook, up to 100 of them. A webhook that is lost
      changes status 0 to 4.
      """)

  static let webhookEvent = Flag(
    "event", letter: "e", .text("GLOB"), isRepeatable: true, of: [.webhook], in: .serve,
    isCommon: true, summary: "send only webhooks whose name matches",
    manual: """
      With `webhook send`, send only webhooks whose name matches GLOB. With `-e 'channel_*'` the program joins
      no channel, so nobody sees it as a member. May be repeated; one match is enough.
      """)

  static let webhookChannel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.webhook], in: .serve,
    isCommon: true, summary: "join NAME too, for its client events",
    manual: """
      With `webhook send`, join channel NAME too, for its client events. The program joins presence channels by
      itself, and other channels only if you name them. It does not count itself. For that, the server must
      count subscriptions; otherwise nothing reports whether NAME is occupied, and a warning says so. May be
      repeated.
      """)

  static let every = Flag(
    "every", .duration, of: [.webhook], in: .serve, isCommon: true, default: "2s",
    summary: "look for occupied channels every TIME",
    manual: """
      With `webhook send`, list the occupied channels every TIME. The default is {default}.
      """)

  static let initial = Flag(
    "initial", isOnByDefault: true, of: [.webhook], in: .serve,
    summary: "leave out the channels and members of the start",
    manual: """
      Report the channels and members that are there when `webhook send` starts. This is the default;
      `--no-initial` reports only what changes after the start.
      """)

  static let webhookMaxChannels = Flag(
    "max-channels", .integer(1...1_000_000), of: [.webhook], in: .serve, default: "10000",
    summary: "join at most N presence channels",
    manual: """
      With `webhook send`, join at most N presence channels. The default is {default}. Nothing reports the members of
      further channels, and one warning says so.
      """)

  static let webhookUserID = Flag(
    "user-id", .text("ID"), of: [.webhook], in: .authorization, default: "pusher-cli-webhook",
    summary: "appear as this user",
    manual: """
      With `webhook send`, join presence channels as user ID. The default is `{default}`. The other members see this
      user come and go. Webhooks never report the user, so all programs that send webhooks of an app should have the
      same ID.
      """)

  static let consoles: [Flag] = [
    .console, .consoleTokenFile, .consoleHistory, .record, .openRecording,
  ]

  static let console = Flag(
    "console", of: [.serve], in: .serve, isCommon: true,
    summary: "serve a web page that shows what happens",
    manual: """
      Serve a page at `/console` that shows events, connections, channels and members as they come and go. It
      also sends events, stages faults and explains a wrong authorisation. The printed address contains a token
      of this run, without which nobody can see or do anything. The page is the default on a terminal if no
      other machine can connect, and then only for this machine. `--no-console` turns it off. docs/console.md
      describes its calls.
      """)

  static let consoleTokenFile = Flag(
    "console-token-file", .text("FILE"), of: [.serve], in: .serve,
    summary: "keep the token, and so the address, in FILE",
    manual: """
      Read the token of the console from FILE; a missing FILE is made. So an open page continues after a restart
      of the server. FILE holds only the token, on one line: 16 to 256 letters, digits, `-`, `.`, `_` or `~`. A
      FILE that other users can read or change is refused, unless its file system is read-only. Without
      --console, the page answers only this machine.
      """)

  static let consoleHistory = Flag(
    "console-history", .integer(0...100_000), of: [.serve], in: .serve, default: "1000",
    summary: "keep the last N entries, up to 4 MiB",
    manual: """
      Keep the last N entries for later pages of the console, by default {default}. Together they take at most 4
      MiB of memory; the oldest ones go first. With 0, `serve` keeps none, and does no work for the console
      while no page is open.
      """)

  static let record = Flag(
    "record", .text("FILE"), of: [.serve], in: .serve,
    summary: "record everything in FILE, as JSON lines",
    manual: """
      Append everything that the console shows to FILE, as JSON lines. Each line has its time; see docs/console.md.
      Only you can read a new FILE, because it holds the data of private channels. If the disk is too slow, entries are
      left out, and a warning says so.
      """)

  static let openRecording = Flag(
    "open-recording", .text("FILE"), of: [.serve], in: .serve,
    summary: "show the recording FILE on the console",
    manual: """
      Show the recording FILE of --record on the page of --console. The recording replaces the live events. FILE must
      be a regular file.
      """)
}
