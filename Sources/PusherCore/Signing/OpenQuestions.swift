internal import Synchronization

/// Open questions to the user's own code, on the loop's thread.
final class OpenQuestions<Answer: Sendable> {
  typealias Completion = (Result<Answer, AuthorizationFailure>) -> Void

  private struct Question {
    let completion: Completion
    let timer: LoopTimer
    var cancel: (@Sendable () -> Void)?
  }

  private let loop: EventLoop
  private let timeout: Duration
  private var open: [Int: Question] = [:]

  init(loop: EventLoop, timeout: Duration) { (self.loop, self.timeout) = (loop, timeout) }

  /// Opens a question and returns its number for ``answer(_:_:)``; messages call it `name`.
  func open(_ name: String, _ completion: @escaping Completion) -> Int {
    let number = QuestionNumber.next()
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [unowned self] in
      let message = "the \(name) did not answer within \(timeout.inWords)"
      finish(number, .failure(.unavailable(status: nil, message)))
    }
    loop.add(timer)
    open[number] = Question(completion: completion, timer: timer)
    return number
  }

  /// Sets a function to call once the answer came or is no longer wanted.
  func onEnd(of number: Int, _ cancel: @escaping @Sendable () -> Void) {
    open[number]?.cancel = cancel
  }

  /// Ignores late and second answers.
  func answer(_ number: Int, _ answer: Answer) { finish(number, .success(answer)) }

  func cancelAll() {
    for question in open.values {
      loop.remove(question.timer)
      question.cancel?()
    }
    open.removeAll()
  }

  private func finish(_ number: Int, _ result: Result<Answer, AuthorizationFailure>) {
    guard let question = open.removeValue(forKey: number) else { return }
    loop.remove(question.timer)
    question.cancel?()
    question.completion(result)
  }
}

/// Numbers unique in the process: an answer for an earlier connection must not match.
private enum QuestionNumber {
  private static let last = Atomic<Int>(0)

  static func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
