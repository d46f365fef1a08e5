extension HelpPage {
  /// The page as it is printed: at most 80 columns, a newline at the end.
  var text: String {
    switch self {
    case .overview: Self.overviewText
    case .command(let command, let complete): Self.text(of: command, complete: complete)
    case .environment: Self.environmentText
    case .exitCodes: Self.exitCodesText
    case .output: Self.outputText
    case .recipes: Self.recipesText
    }
  }

  private static let overviewText = """
    pusher-cli prints the events of a Pusher channel, or of an event stream (SSE),
    as JSON lines.

      pusher-cli subscribe --key KEY my-channel | jq
      pusher-cli subscribe --local -c private-orders -e 'order.*' -n 1 -W 30s
      pusher-cli sse https://example.com/stream | jq
      pusher-cli trigger --local -c my-channel -e greeting '{"hello":"world"}'

    Commands:
      subscribe [CHANNEL...]   print events as they come (short: sub)
      sse URL                  the same for server-sent events
      trigger [DATA|-]         send an event through the HTTP API, or JSON lines
      channels [NAME]          list the occupied channels, or show one
      users CHANNEL            list the members of a presence channel
      terminate USER           end the connections of a user
      auth CHANNEL             print what an authorisation endpoint would answer
      sign, verify KIND        sign by hand, or find out why a signature is refused
      webhook listen           receive webhooks, verify and print them
      serve                    run a local server to develop and test with
      completion SHELL         print a script for bash, zsh or fish
      help [COMMAND|TOPIC]     show help; 'version' shows the version

    Topics: environment, exit-codes, output, recipes. Manual: man pusher-cli

    """

  private static func text(of command: Command, complete: Bool) -> String {
    var lines = frame(of: command)
    for group in Flag.Group.allCases {
      let rows = Flags.of(command).filter { $0.group == group && (complete || $0.isCommon) }
      guard !rows.isEmpty else { continue }
      if complete {
        lines += ["", "\(group.heading):"]
      } else if lines.last != commonHeading, !lines.contains(commonHeading) {
        lines += ["", commonHeading]
      }
      lines += rows.map(line)
    }
    if !complete {
      lines += ["", "All options: pusher-cli \(command.rawValue) --help-all, or man pusher-cli"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static let commonHeading = "Common options:"

  private static func line(for flag: Flag) -> String {
    let letter = flag.letter.map { "-\($0), " } ?? "    "
    let words = flag.spellings.suffix(1) + (flag.takesValue ? [flag.metavariable] : [])
    let head = "  " + letter + words.joined(separator: " ")
    return head + String(repeating: " ", count: max(1, 30 - head.count)) + flag.summary
      + (flag.standard.map { " (\($0))" } ?? "")
  }

  /// Usage and examples: what a reader wants first.
  private static func frame(of command: Command) -> [String] {
    switch command {
    case .subscribe:
      [
        "Usage: pusher-cli subscribe [OPTION...] [CHANNEL...]",
        "Prints each event as one JSON line, until told to stop.",
        "",
        "  pusher-cli subscribe --key KEY --cluster eu news | jq --unbuffered .data",
        "  pusher-cli subscribe --key KEY --secret-file secret -c private-orders",
        "  pusher-cli subscribe --local -c build -e build.finished -n 1 -W 5m",
      ]
    case .sse:
      [
        "Usage: pusher-cli sse [OPTION...] URL",
        "Prints each event of an event stream as one JSON line, and reconnects.",
        "",
        "  pusher-cli sse https://example.com/stream | jq --unbuffered .data",
        "  pusher-cli sse -H @token -e 'build.*' -n 1 -W 5m https://example.com/ci",
        "  pusher-cli sse --state-file last -t https://example.com/log",
      ]
    case .trigger:
      [
        "Usage: pusher-cli trigger [OPTION...] -c CHANNEL -e EVENT [DATA]",
        "       pusher-cli trigger [OPTION...] -",
        "Sends one event through the HTTP API, or with - each JSON line of standard",
        "input, as subscribe prints them: a recording replays.",
        "",
        "  pusher-cli trigger --local -c news -e published '{\"id\":1}'",
        "  date | pusher-cli trigger --local -c news -e tick @-",
        "  pusher-cli trigger --key KEY --app-id ID --secret-file secret \\",
        "             --cluster eu -c private-orders -e order.created @order.json",
        "  pusher-cli trigger --local --rate 50 - <recording.jsonl",
      ]
    case .serve: serveFrame
    case .channels, .users, .terminate: inspectingFrame(of: command)
    case .auth, .sign, .verify: signingFrame(of: command)
    case .webhook: webhookFrame
    case .completion: completionFrame
    case .help, .version: []
    }
  }
}
