extension HelpPage {
  static var exitCodesText: String {
    var lines = ["Exit statuses:", ""]
    for status in ExitStatus.allCases {
      let number = String(status.rawValue)
      let head = "  " + String(repeating: " ", count: 3 - number.count) + number + "  "
      lines += wrapped(status.meaning, head: head)
    }
    lines += wrapped(ExitStatus.signals, head: "    -  ")
    lines += ["", "Another run may help only after status 4.", ""]
    lines += wrapped(
      "A run waits for events with --count, --until and --until-event. One of them is enough: "
        + "the run then ends with 0, whatever comes later. The statuses of all other ends, without "
        + "such an option and with it:", head: "")
    lines += ["", "  without  with"]
    for row in RunWishes.rows {
      let numbers = [row.statuses.free, row.statuses.unmet].map { String($0.rawValue) }
      let columns = zip(numbers, [9, 6]).map { number, width in
        String(repeating: " ", count: width - number.utf8.count) + number
      }
      lines += wrapped("\(row.end) (\(row.commands))", head: columns.joined() + "  ")
    }
    lines += wrapped("a signal: the run dies of it", head: "        -     -  ")
    lines += [""]
    lines += wrapped(
      "trigger - ends with 0 if all lines were sent or standard input has no event, and a warning "
        + "says so then. A line that is cut or no event gives 5, a line that the server refuses 3, "
        + "4 or 5.", head: "")
    lines += [""]
    lines += wrapped(
      "On SIGHUP, subscribe (with settings from a file) and serve (with --apps or --tls-cert) "
        + "read their files again and continue.", head: "")
    return lines.joined(separator: "\n") + "\n"
  }

  static let environmentText = """
    Environment variables. An empty variable counts as unset, and so does a variable
    of an app with Laravel's null, (null), empty or (empty).

      key          PUSHER_APP_KEY, PUSHER_KEY
      secret       PUSHER_APP_SECRET, PUSHER_SECRET, PUSHER_APP_SECRET_FILE,
                   the file 'secret' in CREDENTIALS_DIRECTORY
      encryption   PUSHER_ENCRYPTION_MASTER_KEY
      app id       PUSHER_APP_ID
      cluster      PUSHER_APP_CLUSTER, PUSHER_CLUSTER
      server       PUSHER_HOST, PUSHER_PORT, PUSHER_SCHEME
      all in one   PUSHER_URL=https://KEY:SECRET@api-CLUSTER.pusher.com/apps/ID
      Reverb       REVERB_APP_KEY, REVERB_APP_SECRET, REVERB_APP_ID, REVERB_HOST,
                   REVERB_PORT, REVERB_SCHEME, REVERB_PATH, REVERB_SERVER_PATH;
                   trigger takes REVERB_INTERNAL_HOST, REVERB_INTERNAL_PORT and
                   REVERB_INTERNAL_SCHEME first;
                   serve --dialect reverb also takes its rate limit from
                   REVERB_APP_RATE_LIMITING_ENABLED,
                   REVERB_APP_RATE_LIMIT_MAX_ATTEMPTS,
                   REVERB_APP_RATE_LIMIT_DECAY_SECONDS and
                   REVERB_APP_RATE_LIMIT_TERMINATE
      soketi       SOKETI_DEFAULT_APP_KEY, SOKETI_DEFAULT_APP_SECRET,
                   SOKETI_DEFAULT_APP_ID, SOKETI_PORT

    All values come from the first group with a key: PUSHER_, PUSHER_URL, REVERB_,
    SOKETI_. BROADCAST_CONNECTION (older: BROADCAST_DRIVER) with the value 'pusher'
    or 'reverb' puts that group first. Options override single values. A host such
    as api-eu.pusher.com means cluster eu; 0.0.0.0 means 127.0.0.1. --env-file FILE
    reads these variables from a .env file instead.

      PUSHER_CLI_ENV_FILE                   a .env file, if no variable has a key
      PUSHER_CLI_PROFILE                    a profile, if no variable has a key
      PUSHER_CLI_CONFIG                     the configuration file to read
      XDG_CONFIG_HOME, HOME                 default file: .../pusher-cli/config
      PUSHER_CLI_OUTPUT                     json, pretty or raw
      PUSHER_CLI_COLOR                      auto, always or never
      PUSHER_CLI_REDIS_URL                  the URL for serve --redis
      NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM      colour, if no option sets it
      COLUMNS                               width of -o pretty without a terminal
      LC_ALL, LC_CTYPE, LANG                -o pretty uses ASCII unless UTF-8
      SSL_CERT_FILE, SSL_CERT_DIR           trusted certificates
      HTTPS_PROXY, HTTP_PROXY, ALL_PROXY    proxy for https and wss, http and ws,
                                            and both; lower case comes first
      NO_PROXY                              hosts, domains, networks without a proxy
      REQUEST_METHOD                        set by CGI; HTTP_PROXY is then ignored
      JOURNAL_STREAM                        set by systemd; adds priorities
      NOTIFY_SOCKET, WATCHDOG_USEC          set by systemd; subscribe, sse, serve,
                                            webhook report their state
      LISTEN_PID, LISTEN_FDS,               set by systemd; sockets on which serve
      LISTEN_FDNAMES                        listens

    """

  static let outputText = """
    Each line is one JSON object, with its fields in this order:

      received_at   string          with -t: local clock, RFC 3339 UTC, milliseconds
      event         string          always
      channel       string or null  always, except for sse
      user_id       string          client events on presence channels
      id            string          sse: the last event ID, if there is one
      data          any JSON        always; text that is not JSON is a string
      data_base64   string          decrypted data that is not text; data is null

      {"event":"order.created","channel":"my-orders","data":{"id":1,"total":1.10}}

    data is embedded as received, with the same numbers, key order and escapes.
    --output raw prints only the data.
    Also printed: pusher:member_added, pusher:member_removed, pusher:cache_miss and
    pusher:subscription_count; with --watch, pusher:online and pusher:offline.
    -x 'pusher:*' leaves them out. --lifecycle adds:

      pusher:connection_established   {"socket_id","activity_timeout","host"}
      pusher:subscription_succeeded   {"presence":{"count","ids","hash"}} or {}
      pusher:subscription_error       {"type","error","status"}
      pusher:error                    {"code","message"}
      pusher-cli:connected            {"url","last_event_id"}, sse
      pusher:signin_success           {"user_data"}
      pusher:signin_error             {"type","error","status"}
      pusher-cli:disconnected         {"code","reason","retry_in","attempt"}
      pusher-cli:gap                  {"from","to","seconds"}
      pusher-cli:rate_limited         {"code","message","waiting","retry_in"}; later
                                      also "requests", "interval" and "all_in"
      pusher-cli:left                 {}; --discover: no other subscribers
      pusher-cli:decryption_failed    {"event","reason","data"}
      pusher-cli:bad_frame            {"reason","base64"}
      pusher-cli:exit                 {"status","reason","events"}

    Only this program prints names that begin with pusher-cli:. If a server sends
    such a name, every format prints it as foreign:pusher-cli:...

    """

  private static func wrapped(_ text: String, head: String) -> [String] {
    var lines: [String] = []
    var line = head
    var isFresh = true
    for word in text.split(separator: " ") {
      if !isFresh, line.count + 1 + word.count > 80 {
        lines.append(line)
        line = String(repeating: " ", count: head.count)
        isFresh = true
      }
      line += (isFresh ? "" : " ") + word
      isFresh = false
    }
    return lines + [line]
  }
}

extension HelpPage {
  /// Recipes for pipelines; each line was run in a shell.
  static let recipesText = """
    Print the events of a Laravel project as a table:

      pusher-cli subscribe --env-file .env -c private-orders -e 'order.*' |
        jq --unbuffered -r '[.event, .data.id, .data.total] | @tsv'

    Run a script for each event; </dev/null keeps it from reading the events:

      pusher-cli subscribe -c private-deploys -e deploy.requested |
      while IFS= read -r line; do
        ref=$(printf '%s' "$line" | jq -r .data.ref)
        ./deploy.sh "$ref" </dev/null || echo "deploy of $ref failed" >&2
      done

    In a CI job, start a build when the subscription is ready, and wait at most five
    minutes for its event (status 124: no event; 7: the build did not start):

      event=$(pusher-cli subscribe -c "private-build-$RUN_ID" \\
        -e build.finished -n 1 --timeout 5m \\
        --on-ready './start-build.sh "$RUN_ID"') || exit
      printf '%s\\n' "$event" | jq -e '.data.status == "passed"'

    Show who is there, who comes and who goes:

      pusher-cli subscribe -t -L -c presence-lobby --user-id monitor |
        jq --unbuffered -r '[.received_at, .event, .data.user_id // ""] | @tsv'

    Record events, and print their names:

      pusher-cli subscribe -t -c private-orders | tee -a orders.jsonl |
        jq --unbuffered -r .event

    Find out whether a feed is quiet (status 124) or cannot be reached (status 4):

      pusher-cli subscribe -c ticker --idle-timeout 2m >/dev/null; echo $?

    Try everything on one machine:

      echo '{"hello":"world"}' >greeting.json
      pusher-cli serve &
      pusher-cli subscribe --local my-channel -n 1 --on-ready \\
        'pusher-cli trigger --local -c my-channel -e greeting @greeting.json'

    """
}
