import PusherCore
import Testing

@testable import pusher_cli

/// The truth table of ends: what a run waited for, how it ended, its status and its sentence.
///
/// All rows are walked over the pure decisions; `StreamEndTests`, `UnmetWishTests` and their
/// neighbours show that the commands ask them.
@Suite("Truth table: wishes, ends and commands")
struct TruthTableTests {
  /// A wish, and its options.
  private enum Wish: CaseIterable {
    case none, count, until, untilEvent, untilEvents, countAndUntil, untilAndUntilEvent

    var usage: (options: String, wishes: RunWishes) {
      switch self {
      case .none: ("", RunWishes())
      case .count: ("-n 3", RunWishes(count: 3))
      case .until: ("--until [DONE]", RunWishes(untilData: "[DONE]"))
      case .untilEvent: ("--until-event done", RunWishes(untilEvents: ["done"]))
      case .untilEvents:
        ("--until-event done --until-event fin*", RunWishes(untilEvents: ["done", "fin*"]))
      case .countAndUntil: ("-n 3 --until [DONE]", RunWishes(count: 3, untilData: "[DONE]"))
      case .untilAndUntilEvent:
        ("--until [DONE] --until-event done", RunWishes(untilData: "[DONE]", untilEvents: ["done"]))
      }
    }
    var wishes: RunWishes { usage.wishes }

    /// The commands that have these options.
    var commands: Set<Command> {
      switch self {
      case .none, .count: [.subscribe, .sse, .webhook]
      case .untilEvent, .untilEvents: [.subscribe, .sse]
      case .until, .countAndUntil, .untilAndUntilEvent: [.sse]
      }
    }
  }

  /// An end after two events, and what it gives: `%` stands for the words about the wish.
  private struct End {
    let name: String
    let closing: RunEnd.Closing
    /// Status without and with an unmet wish.
    let statuses: (pusher_cli.ExitStatus, pusher_cli.ExitStatus)
    let sentences: (free: String?, unmet: (Wish) -> String)

    init(
      _ name: String, _ closing: RunEnd.Closing, _ free: pusher_cli.ExitStatus,
      _ unmet: pusher_cli.ExitStatus, _ sentence: String?, _ words: @escaping (Wish) -> String
    ) {
      (self.name, self.closing, statuses) = (name, closing, (free, unmet))
      sentences = (sentence, words)
    }
  }

  /// `; --until '[DONE]' never came`; empty for a wish without an awaited text.
  private static func never(_ wish: Wish) -> String {
    switch wish {
    case .none, .count: ""
    case .until, .countAndUntil: "; --until '[DONE]' never came"
    case .untilEvent: "; --until-event 'done' never came"
    case .untilEvents: "; --until-event 'done' or 'fin*' never came"
    case .untilAndUntilEvent: "; --until '[DONE]' and --until-event 'done' never came"
    }
  }

  private static func events(_ wish: Wish) -> String {
    [.count, .countAndUntil].contains(wish) ? "2 of 3 events" : "2 events"
  }

  /// Returns the words after the end, such as `2 events; --until X never came`.
  private static func after(_ wish: Wish) -> String { events(wish) + never(wish) }

  /// Returns the words after another reason.
  private static func besides(_ wish: Wish) -> String {
    switch wish {
    case .count: "; 2 of 3 events came"
    case .countAndUntil: "; 2 of 3 events came, --until '[DONE]' never came"
    default: never(wish)
    }
  }

  private static func within(_ wish: Wish) -> String {
    "timed out: \(events(wish)) within 5 s\(never(wish))"
  }

  private static var ends: [End] {
    let (lost, refused) = ("the connection is gone", "the server answered HTTP 401")
    let silent = Obstacle(what: "no connection", reason: "no answer")
    let barred = Obstacle(what: "no connection", reason: refused, isRefusal: true)
    let time = Duration.seconds(5)
    return [
      End("marked end", .streamEnded, .success, .rejected, nil) {
        "the stream ended after \(after($0))"
      },
      End("HTTP 204", .noMoreEvents, .success, .rejected, nil) {
        "the server has no more events (HTTP 204) after \(after($0))"
      },
      End("lost", .lost(.unreachable, lost, wasOpen: true), .network, .network, lost) {
        lost + besides($0)
      },
      End("never there", .lost(.unreachable, lost, wasOpen: false), .network, .network, lost) { _ in
        lost
      },
      End(
        "refused", .lost(.notAllowed, refused, wasOpen: false), .unauthorized, .unauthorized,
        refused
      ) { _ in refused },
      End(
        "refused after a loss", .lost(.notAllowed, refused, wasOpen: true), .unauthorized,
        .unauthorized, refused
      ) { refused + besides($0) },
      End(
        "no event at all", .lost(.brokenProtocol, "the answer", wasOpen: true), .rejected,
        .rejected, "the answer"
      ) { "the answer" + besides($0) },
      End("--timeout", .timeout(time), .success, .timedOut, nil) { within($0) },
      End(
        "--timeout, never connected", .timeout(time, silent), .network, .timedOut,
        "timed out: no connection within 5 s: no answer"
      ) { "\(within($0)) (no connection: no answer)" },
      End(
        "--timeout, refused", .timeout(time, barred), .unauthorized, .timedOut,
        "timed out: no connection within 5 s: \(refused)"
      ) { "\(within($0)) (no connection: \(refused))" },
      End("--idle-timeout", .idleTimeout(time), .timedOut, .timedOut, "timed out: no event for 5 s")
      { "timed out: no event for 5 s\(never($0))" },
    ]
  }

  @Test func `every end has its status and its sentence for every wish`() {
    for end in Self.ends {
      for wish in Wish.allCases {
        let (status, sentence) =
          wish == .none
          ? (end.statuses.0, end.sentences.free) : (end.statuses.1, end.sentences.unmet(wish))
        let what = "\(wish), \(end.name)"
        #expect(wish.wishes.status(at: end.closing) == status, "\(what)")
        #expect(wish.wishes.sentence(at: end.closing, after: 2) == sentence, "\(what)")
        // A failure has a sentence, and a success has none.
        #expect((sentence == nil) == (status == .success), "\(what)")
        #expect(wish == .none || status != .success, "\(what): success that did not happen")
      }
    }
  }

  @Test func `the run ends with that status, and a met wish makes every end a success`() {
    let now = Instant(nanoseconds: 0)
    for end in Self.ends {
      for wish in Wish.allCases {
        var run = RunEnd(wish.wishes, at: now)
        run.take(.closed(end.closing), at: now)
        let status = wish == .none ? end.statuses.0 : end.statuses.1
        #expect(run.ending == .status(status, reason: end.closing.reason))
        run = RunEnd(wish.wishes, at: now)
        run.take(.satisfied(reason: "count"), at: now)
        run.take(.closed(end.closing), at: now)
        #expect(run.ending == .status(.success, reason: "count"))
        run.take(.signal(15), at: now)
        #expect(run.ending == .signal(15))
      }
    }
  }

  @Test func `the hint about left-out events follows the wish, and never hides the reason`() {
    let hint = "4 other events came, none matches -e: 'a'"
    for end in Self.ends {
      for wish in Wish.allCases where wish != .none {
        let plain = end.sentences.unmet(wish)
        let sentence = wish.wishes.sentence(at: end.closing, after: 2, hint: hint)
        let hasReason = plain == end.sentences.free || plain.hasSuffix(")")
        let isIdle = end.closing == .idleTimeout(.seconds(5))
        #expect(sentence == (hasReason && !isIdle ? plain : "\(plain) (\(hint))"), "\(end.name)")
      }
    }
  }

  @Test(arguments: [Command.subscribe, .sse, .webhook])
  func `the options of each command are the wishes of its run`(command: Command) throws {
    for wish in Wish.allCases {
      let options = wish.usage.options
      guard wish.commands.contains(command) else {
        let words = command == .webhook ? "webhook listen" : "\(command.rawValue) x"
        #expect(refusal(of: "\(words) \(options)") != nil, "\(command) \(options)")
        continue
      }
      switch command {
      case .sse: #expect(try sse("http://h/ \(options)").printing.wishes == wish.wishes)
      case .webhook:
        let settings = try WebhookSettings(
          arguments("webhook listen \(options)"),
          environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"],
          files: PretendFiles().access)
        #expect(RunWishes(count: settings.count) == wish.wishes)
      default: #expect(try subscribe("a --key k \(options)").printing.wishes == wish.wishes)
      }
    }
  }

  @Test func `a feed's last report is one of the ends`() {
    func closing(_ end: ConnectionEnd) -> RunEnd.Closing { RunEnd.Closing(end, wasOpen: true) }
    #expect(closing(.finished) == .noMoreEvents)
    #expect(closing(.lost(.ended, code: nil)) == .streamEnded)
    #expect(closing(.lost(.endedUnmarked, code: nil)) == .lost(.unreachable, "", wasOpen: true))
    #expect(
      closing(.retriesExhausted(.ended, code: nil, attempts: 3))
        == .lost(.unreachable, "", wasOpen: true))
    for code in [nil, 1000, 1001, 4100, 4200] as [Int?] {
      let loss = ConnectionLoss.closed(code: code, reason: "")
      let explained = code.flatMap { $0 >= 4000 ? $0 : nil }
      #expect(closing(.lost(loss, code: explained)).cause?.status == .network, "\(code ?? 0)")
    }
    #expect(closing(.lost(.closed(code: 4001, reason: ""), code: 4001)).cause == .notAllowed)
  }

  @Test func `the help prints the same table`() {
    let text = HelpPage.exitCodesText
    let plain = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for row in RunWishes.rows {
      let (free, unmet) = (row.free.rawValue, row.unmet.rawValue)
      #expect(plain.contains("\(free) \(unmet) \(row.end) (\(row.commands))"), "\(row.end)")
    }
    let kinds = Set(RunWishes.rows.map { "\($0.free) \($0.unmet)" })
    let all = Set(Self.ends.map { "\($0.statuses.0) \($0.statuses.1)" })
    // A refusal until --timeout is rare, and missing in the table of the help.
    #expect(all.subtracting(kinds) == ["unauthorized timedOut"])
    for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
  }
}

extension RunEnd.Closing {
  fileprivate var cause: Cause? {
    if case .lost(let cause, _, _) = self { cause } else { nil }
  }
}
