internal import Synchronization

/// What was asked of the user's own code and has yet to be answered; it belongs to the callback thread.
final class OpenQuestions<Answer> {
  typealias Completion = (Result<Answer, AuthorizationFailure>) -> Void

  private struct Question {
    let completion: Completion
    let timer: LoopTimer
  }

  private let loop: EventLoop
  private let timeout: Duration
  /// Who is asked, in the words of a message.
  private let whom: String
  private var open: [Int: Question] = [:]

  init(loop: EventLoop, timeout: Duration, whom: String) {
    self.loop = loop
    self.timeout = timeout
    self.whom = whom
  }

  /// The number of a new question, by which its answer finds it.
  func open(_ completion: @escaping Completion) -> Int {
    let number = QuestionNumber.next()
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [unowned self] in
      let message = "the \(whom) gave no answer within \(timeout.inWords)"
      finish(number, .failure(.unavailable(status: nil, message)))
    }
    loop.add(timer)
    open[number] = Question(completion: completion, timer: timer)
    return number
  }

  /// Late and second answers are ignored; `nil` is a no.
  func answer(_ number: Int, _ answer: Answer?) {
    finish(
      number,
      answer.map { .success($0) } ?? .failure(.refused(status: nil, "the \(whom) said no")))
  }

  func cancelAll() {
    for question in open.values { loop.remove(question.timer) }
    open.removeAll()
  }

  private func finish(_ number: Int, _ result: Result<Answer, AuthorizationFailure>) {
    guard let question = open.removeValue(forKey: number) else { return }
    loop.remove(question.timer)
    question.completion(result)
  }
}

/// Numbers that no two questions of the process share: an answer for an earlier connection must find none.
private enum QuestionNumber {
  private static let last = Atomic<Int>(0)

  static func next() -> Int {
    last.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
