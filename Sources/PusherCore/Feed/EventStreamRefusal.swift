/// A refusal of an event stream whose body is still being read for the reason.
struct Refusal {
  static let patience = Duration.seconds(1)
  /// Maximum number of bytes to read, and of characters to show.
  private static let (sizeLimit, textLimit) = (4096, 300)

  private let status: Int
  private let reason: String
  private let retryAfter: Duration?
  private var body: HTTPBodyReader
  private let text = ByteBuffer()

  /// Returns `nil` for any other loss, and for an answer without a readable body.
  init?(_ loss: ConnectionLoss, _ head: HTTPResponseHead, method: String) {
    guard case .refused(let status, let reason, let retryAfter) = loss,
      head.headers.tokens("Content-Encoding").allSatisfy({ $0 == "identity" }),
      let body = try? HTTPBodyReader(head, requestMethod: method), !body.isComplete
    else { return nil }
    (self.status, self.reason, self.retryAfter) = (status, reason, retryAfter)
    self.body = body
  }

  /// Takes the received bytes, and returns whether the body is complete or long enough.
  mutating func read(from input: ByteBuffer) -> Bool {
    guard let isWhole = try? body.read(from: input, into: text) else { return true }
    return isWhole || text.count >= Self.sizeLimit
  }

  var loss: ConnectionLoss {
    let words = ErrorText.line(of: text.view.text, limit: Self.textLimit)
    let isCut = words.unicodeScalars.count >= Self.textLimit
    let said = [reason, words + (isCut ? "…" : "")].filter { !$0.isEmpty }
    return .refused(status: status, reason: said.joined(separator: ": "), retryAfter: retryAfter)
  }
}

extension EventStreamFeedConnection {
  /// Ends with a refusal after its body has come or has taken too long.
  func refuse(
    _ loss: ConnectionLoss, _ head: HTTPResponseHead, _ opening: Opening, at now: Instant
  ) {
    guard let refusal = Refusal(loss, head, method: method) else { return end(loss, at: now) }
    self.refusal = refusal
    open(opening, at: now)
    let timer = LoopTimer(deadline: now.advanced(by: Refusal.patience)) { [weak self] in
      guard let self, let refusal = self.refusal else { return }
      end(refusal.loss, at: loop.now)
    }
    refusalTimer = timer
    loop.add(timer)
    readRefusal(at: now)
  }

  func readRefusal(at now: Instant) {
    guard isOpen, refusal?.read(from: input) == true || state.breakdown != nil else { return }
    if let refusal { end(refusal.loss, at: now) }
  }
}
