/// The program's exit statuses, in the order of the man page.
///
/// A signal is not a status: the program then dies of that signal, and shells show 130, 143, 129 or
/// 141.
enum ExitStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case internalError = 1
  case usage = 2
  case unauthorized = 3
  case network = 4
  case rejected = 5
  case output = 6
  case command = 7
  case condition = 8
  case timedOut = 124

  var meaning: String {
    switch self {
    case .success:
      "the run ended as asked: --count, --until or --until-event is met; or the run waits for no "
        + "event, and its --timeout or its stream ended; event accepted"
    case .internalError: "internal error: a bug"
    case .usage: "usage or configuration: wrong option, missing key, unreadable file"
    case .unauthorized: "refused: unknown key, bad signature, channel not allowed, HTTP 401 or 403"
    case .network:
      "network: name lookup, connection, proxy or TLS failed; connection lost and no retries left; "
        + "no answer in time; never connected; the server cannot answer now: HTTP 408, 425, 429, "
        + "5xx or its rate limit; --forward or webhook send did not deliver all events"
    case .rejected:
      "refused by the server for another reason: HTTP 400, 404, 413, over quota; "
        + "the server broke the protocol or answered without an event; the stream ended before "
        + "--count, --until or --until-event was met; or an event of --fail-event or --fail-where "
        + "came"
    case .output: "output could not be written: disk full, or its reader stalls at the end"
    case .command:
      "a command of --on-ready, or of --exec with --exec-fail stop, failed; or --exec did not handle all events"
    case .condition: "a condition of --fail holds for the figures of bench"
    case .timedOut: "--timeout or --idle-timeout passed without the expected events"
    }
  }

  static let signals = "dies of SIGINT, SIGTERM, SIGHUP or SIGPIPE: shells show 130, 143, 129, 141"
}
