/// Limits the open questions of another signer, and so the number of sockets or processes.
package final class SigningQueue: Signer {
  package static let width = 16

  private struct Question {
    let request: AuthorizationRequest
    let completion: Completion
  }

  private let signer: any Signer
  private var waiting = Fifo<Question>()
  private var open = 0
  private var isAsking = false
  /// Number of cancellations; answers to questions before the last one do not count.
  private var generation = 0

  /// - Parameter signer: Must not call completions after its ``cancelAll()``.
  package init(_ signer: any Signer) { self.signer = signer }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    waiting.append(Question(request: request, completion: completion))
    ask()
  }

  package func cancelAll() {
    generation += 1
    waiting = Fifo()
    open = 0
    signer.cancelAll()
  }

  private func ask() {
    // An answer may come at once and allow the next question: the outermost call asks them all.
    guard !isAsking else { return }
    isAsking = true
    defer { isAsking = false }
    while open < Self.width, let question = waiting.popFirst() {
      open += 1
      let generation = generation
      signer.sign(question.request) { [unowned self] result in
        if generation == self.generation { open -= 1 }
        question.completion(result)
        ask()
      }
    }
  }
}
