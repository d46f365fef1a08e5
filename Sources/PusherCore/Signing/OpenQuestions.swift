internal import Synchronization

/// The open questions to the user's own code; it belongs to the loop's thread.
final class OpenQuestions {
  private struct Question {
    let completion: Signer.Completion
    /// The name of the code that was asked, for messages.
    let name: String
    let timer: LoopTimer
  }

  /// No two questions of the process share a number: an answer for an earlier connection must not match.
  private static let last = Atomic<Int>(0)

  private let loop: EventLoop
  private let timeout: Duration
  private var open: [Int: Question] = [:]

  init(loop: EventLoop, timeout: Duration) {
    self.loop = loop
    self.timeout = timeout
  }

  /// The number of a new question, by which its answer finds it; `name` says in messages what was asked.
  func open(_ name: String, _ completion: @escaping Signer.Completion) -> Int {
    let number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [unowned self] in
      let message = "the \(name) gave no answer within \(timeout.inWords)"
      finish(number, .failure(.unavailable(status: nil, message)))
    }
    loop.add(timer)
    open[number] = Question(completion: completion, name: name, timer: timer)
    return number
  }

  /// Late and second answers are ignored; `nil` is a refusal.
  func answer(_ number: Int, _ answer: Authorization?) {
    guard let name = open[number]?.name else { return }
    finish(
      number,
      answer.map { .success($0) } ?? .failure(.refused(status: nil, "the \(name) said no")))
  }

  func cancelAll() {
    for question in open.values { loop.remove(question.timer) }
    open.removeAll()
  }

  private func finish(_ number: Int, _ result: Authorization.Result) {
    guard let question = open.removeValue(forKey: number) else { return }
    loop.remove(question.timer)
    question.completion(result)
  }
}
