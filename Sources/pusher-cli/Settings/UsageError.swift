/// A mistake of the caller; ends the program with status 2.
///
/// The message names the mistake and the remedy: lower case, one line, no full stop, no secrets.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let message: String
  /// Second line that points to the help; only syntax mistakes have one.
  let pointer: String?
  var description: String { message }

  init(_ message: String) { (self.message, pointer) = (message, nil) }

  /// A syntax mistake on the command line.
  init(_ message: String, helpFor command: Command?) {
    self.message = message
    let words = ["pusher-cli", command?.rawValue, "--help"].compactMap { $0 }
    self.pointer = "Try '\(words.joined(separator: " "))'."
  }

  /// Returns the value, or throws an error that has `origin` before the reason.
  static func explaining<Value>(
    _ origin: String, _ value: @autoclosure () throws -> Value
  ) throws(UsageError) -> Value {
    do {
      return try value()
    } catch {
      throw UsageError("\(origin)\(error)")
    }
  }
}

struct UsageWarning: Equatable, Sendable, ExpressibleByStringLiteral {
  let text: String
  let isSilenced: Bool

  init(_ text: String, isSilenced: Bool = true) {
    self.text = text
    self.isSilenced = isSilenced
  }

  init(stringLiteral text: String) { self.init(text) }
}

enum Suggestion {
  /// Maximum size of a compared word, in bytes: the cost is the product of the lengths.
  private static let longestWord = 256

  /// Returns the nearest candidate within two edits, else the only one that begins with `word`.
  static func nearest(to word: String, in candidates: [String]) -> String? {
    guard word.utf8.count <= longestWord else { return nil }
    let ranked = candidates.map { (distance: distance(word, $0), candidate: $0) }
    if let best = ranked.min(by: { $0.distance < $1.distance }),
      best.distance <= 2, best.distance * 2 < max(word.count, best.candidate.count)
    {
      return best.candidate
    }
    let longer = candidates.filter { $0.hasPrefix(word) }
    return word.isEmpty || longer.count != 1 ? nil : longer.first
  }

  /// Returns "; did you mean 'X'?" or an empty text.
  static func clause(for word: String, in candidates: [String], prefix: String = "") -> String {
    nearest(to: word, in: candidates).map { "; did you mean '\(prefix)\($0)'?" } ?? ""
  }

  /// Options of other programs, and what to use in their place.
  private static let foreignOptions: [(words: [String], commands: Set<Command>, hint: String)] = [
    (["-C"], [.subscribe, .sse, .webhook], "-n N (--count) ends the run after N events"),
    (["-r", "--raw"], Set.printing, "-o raw prints only the data"),
    (["-s", "--silent"], [.sse], "only events are printed; -q also hides messages"),
    (["-N", "--no-buffer"], [.sse], "every event is printed at once anyway"),
    (["-m", "--max-time"], [.sse], "-W TIME ends the run after TIME"),
    (["-u", "--user"], [.sse], "put the URL with USER:PASSWORD@ into a file, and give @FILE"),
    (["--json", "--data-raw"], [.sse], "-d DATA sends JSON with its Content-Type"),
    (["-f"], [.sse], "a refused request ends with a status other than 0 anyway"),
    (["-w", "--write-out"], [.sse], "-i shows the answer's status and fields"),
    (["--compressed"], [.sse], "--compression asks for gzip or deflate"),
    (["--vus", "--clients"], [.bench], "--subscribers N connects N subscribers"),
    (["--duration"], [.bench], "--time TIME sends events for TIME"),
  ]

  /// Returns the refusal of an option of other programs; `nil` for any other word.
  static func refusal(ofForeign word: String, by command: Command?) -> String? {
    guard let command else { return nil }
    return foreignOptions.first { $0.commands.contains(command) && $0.words.contains(word) }
      .map { "\(command.rawValue) has no option \(word): \($0.hint)" }
  }

  /// Returns the number of insertions, deletions, replacements and swaps between two words.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1] + [Int](repeating: 0, count: right.count)
      for column in 0..<right.count {
        let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
        current[column + 1] = min(replaced, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          current[column + 1] = min(current[column + 1], beforeLast[column - 1] + 1)
        }
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}

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
    case .condition: "a condition of bench --fail holds, or no load of bench --find does"
    case .timedOut: "--timeout or --idle-timeout passed without the expected events"
    }
  }

  static let signals = "dies of SIGINT, SIGTERM, SIGHUP or SIGPIPE: shells show 130, 143, 129, 141"
}
