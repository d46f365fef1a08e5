import PusherCore
import Testing

@Suite("Questions to an authoriser wait for their turn") struct SigningQueueTests {
  fileprivate static let yes = Authorization(PusherAuth(auth: "k:s"))

  /// Keeps requests until the test answers them, or answers at once.
  private final class Source: Signer {
    var open: [(channel: String?, answer: Completion)] = []
    var isQuick = false
    var asked = 0

    func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
      asked += 1
      if isQuick {
        completion(.success(SigningQueueTests.yes))
      } else {
        open.append((request.channel, completion))
      }
    }

    func cancelAll() { open.removeAll() }

    func answerFirst() {
      let (_, answer) = open.removeFirst()
      answer(.success(SigningQueueTests.yes))
    }
  }

  private func request(_ number: Int) -> AuthorizationRequest {
    AuthorizationRequest(channel: "private-\(number)", socketID: "1.2", generation: 1)
  }

  @Test func `only so many are open, and all are answered in their order`() {
    let source = Source()
    let queue = SigningQueue(source)
    var answered: [Int] = []
    for number in 0..<100 {
      queue.sign(request(number)) { _ in answered.append(number) }
    }
    #expect(source.open.count == SigningQueue.width)
    while !source.open.isEmpty {
      source.answerFirst()
      #expect(source.open.count <= SigningQueue.width)
    }
    #expect(answered == Array(0..<100))
  }

  @Test func `answers that come at once do not nest`() {
    let source = Source()
    source.isQuick = true
    let queue = SigningQueue(source)
    var left = 50_000
    func ask() {
      guard left > 0 else { return }
      left -= 1
      queue.sign(request(left)) { _ in ask() }
    }
    ask()
    #expect(source.asked == 50_000)
  }

  @Test func `after a cancellation the turns begin anew`() {
    let source = Source()
    let queue = SigningQueue(source)
    var answers = 0
    for number in 0..<100 { queue.sign(request(number)) { _ in answers += 1 } }
    queue.cancelAll()
    #expect(source.open.isEmpty)
    for number in 0..<100 { queue.sign(request(number)) { _ in answers += 1 } }
    #expect(source.open.count == SigningQueue.width)
    while !source.open.isEmpty { source.answerFirst() }
    #expect(answers == 100)
  }
}
