import PusherCore
import Testing

@Suite("Questions to an authoriser wait for their turn")
struct AuthorizationQueueTests {
  private typealias Answer = Result<PusherAuth, AuthorizationFailure>

  /// Keeps the questions until the test answers them; or answers at once.
  private final class Source: ChannelAuthorizer {
    var open: [(channel: String, answer: (Answer) -> Void)] = []
    var isQuick = false
    var asked = 0

    func authorize(
      _ request: AuthorizationRequest, completion: @escaping (Answer) -> Void
    ) {
      asked += 1
      if isQuick {
        completion(.success(PusherAuth(auth: "k:s")))
      } else {
        open.append((request.channel, completion))
      }
    }

    func cancelAll() { open.removeAll() }

    func answerFirst() {
      let (_, answer) = open.removeFirst()
      answer(.success(PusherAuth(auth: "k:s")))
    }
  }

  private func request(_ number: Int) -> AuthorizationRequest {
    AuthorizationRequest(channel: "private-\(number)", socketID: "1.2", generation: 1)
  }

  @Test func `only so many are open, and all are answered in their order`() {
    let source = Source()
    let queue = AuthorizationQueue(source)
    var answered: [Int] = []
    for number in 0..<100 {
      queue.authorize(request(number)) { _ in answered.append(number) }
    }
    #expect(source.open.count == AuthorizationQueue.width)
    while !source.open.isEmpty {
      source.answerFirst()
      #expect(source.open.count <= AuthorizationQueue.width)
    }
    #expect(answered == Array(0..<100))
  }

  @Test func `answers that come at once do not nest`() {
    let source = Source()
    source.isQuick = true
    let queue = AuthorizationQueue(source)
    var left = 50_000
    func ask() {
      guard left > 0 else { return }
      left -= 1
      queue.authorize(request(left)) { _ in ask() }
    }
    ask()
    #expect(source.asked == 50_000)
  }

  @Test func `after a cancellation the turns begin anew`() {
    let source = Source()
    let queue = AuthorizationQueue(source)
    var answers = 0
    for number in 0..<100 { queue.authorize(request(number)) { _ in answers += 1 } }
    queue.cancelAll()
    #expect(source.open.isEmpty)
    for number in 0..<100 { queue.authorize(request(number)) { _ in answers += 1 } }
    #expect(source.open.count == AuthorizationQueue.width)
    while !source.open.isEmpty { source.answerFirst() }
    #expect(answers == 100)
  }

  @Test(arguments: ["12.3:x", "POST\n/apps/1/events\na=1.2", "1", "1.2.3", "1. 2", ".", "١.٢"])
  func `nothing is signed for a socket id that a server made up`(socketID: String) throws {
    let signature = SubscriptionSignature(key: "k", secret: "s")
    let authorizer = InlineAuthorizer(signature: signature, member: nil)
    var answer: Answer?
    authorizer.authorize(
      AuthorizationRequest(channel: "private-a", socketID: socketID, generation: 1)
    ) { answer = $0 }
    guard case .failure(.unusable) = try #require(answer) else {
      Issue.record("\(socketID) was signed")
      return
    }
  }
}
