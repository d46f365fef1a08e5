internal import PusherCore

/// The search of `--find` for the most subscribers under which a condition holds.
///
/// It doubles the subscribers until the condition fails, or halves them until it holds. Then it
/// halves the distance between the two.
struct BenchSearch: Equatable, Sendable {
  struct Step: Equatable, Sendable {
    let subscribers: Int
    let holds: Bool
    /// The figure of the condition, or the reason why there is none.
    let words: String

    var inWords: String {
      "\(holds ? "held" : "failed") with \(Quantities.words(subscribers, of: "subscriber")): \(words)"
    }
  }

  let condition: BenchCondition
  private let least: Int
  private var held: Step?
  private var broken: Step?
  private var steps = 0
  /// True if a signal ended the search.
  var isInterrupted = false

  private static let mostSteps = 20
  private static let longest = Duration.seconds(3600)

  init(_ condition: BenchCondition, least: Int) {
    (self.condition, self.least) = (condition, least)
  }

  mutating func note(_ step: Step) {
    steps += 1
    if step.holds { held = step } else { broken = step }
  }

  /// Returns the subscribers of the next run; `nil` at the end.
  func next(after elapsed: Duration) -> Int? {
    guard steps < Self.mostSteps, elapsed < Self.longest else { return nil }
    let next: Int
    switch (held?.subscribers, broken?.subscribers) {
    case (nil, nil): return nil
    case (let held?, nil): next = min(held * 2, BenchLoad.subscriberLimit)
    case (nil, let broken?): next = max(broken / 2, least)
    case (let held?, let broken?): next = (broken - held) * 10 > held ? (held + broken) / 2 : held
    }
    return [held?.subscribers, broken?.subscribers].contains(next) ? nil : next
  }

  /// The result for people, which follows the table.
  var text: String {
    let lines = [held, broken].compactMap { $0.map { Diagnostics.escaped($0.inWords) + "\n" } }
    let runs = Quantities.words(steps, of: "run") + (isInterrupted ? ", interrupted" : "")
    return "\n--find '\(condition.text)' in \(runs):\n" + lines.joined()
  }

  var json: JSONValue {
    func number(_ step: Step?) -> JSONValue { step.map { .integer($0.subscribers) } ?? .null }
    return [
      "condition": .string(condition.text), "held": number(held), "broken": number(broken),
      "runs": .integer(steps), "interrupted": .bool(isInterrupted),
    ]
  }
}
