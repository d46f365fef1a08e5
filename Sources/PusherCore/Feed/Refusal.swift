/// A refusal whose body is still being read for the reason.
struct Refusal {
  static let patience = Duration.seconds(1)
  /// Maximum number of bytes to read.
  private static let sizeLimit = 16 << 10

  private let head: HTTPResponseHead
  private let reason: String
  private let retryAfter: Duration?
  private var reader: HTTPBodyReader
  private let body = ByteBuffer()

  /// Returns `nil` for any other loss, and for an answer without a readable body.
  init?(_ loss: ConnectionLoss, _ head: HTTPResponseHead, method: String) {
    guard case .refused(_, let reason, let retryAfter) = loss,
      let reader = try? HTTPBodyReader(head, requestMethod: method), !reader.isComplete
    else { return nil }
    (self.head, self.reason, self.retryAfter) = (head, reason, retryAfter)
    self.reader = reader
  }

  /// Takes the received bytes, and returns whether the body is complete or long enough.
  mutating func read(from input: ByteBuffer) -> Bool {
    guard let isWhole = try? reader.read(from: input, into: body) else { return true }
    return isWhole || body.count >= Self.sizeLimit
  }

  var loss: ConnectionLoss {
    let limit = Self.sizeLimit * 4
    let text = (try? head.headers.decoded(body.array, limit: limit, isCut: true)) ?? []
    let words = RefusalReason.line(of: text)
    // Many servers repeat the status line in the body.
    let status = "\(head.status) \(head.reason)"
    let isNew = ![reason, "page '\(status)'", "page '\(head.reason)'", status].contains(words)
    let said = [reason, isNew ? words : ""].filter { !$0.isEmpty }.joined(separator: ": ")
    return .refused(status: head.status, reason: said, retryAfter: retryAfter)
  }
}

extension FeedConnection {
  /// Ends with a refusal after its body has come or has taken too long.
  func refuse(
    _ loss: ConnectionLoss, _ head: HTTPResponseHead, _ opening: Opening, to method: String,
    at now: Instant
  ) {
    guard let refusal = Refusal(loss, head, method: method) else { return end(loss, at: now) }
    state.refusal = refusal
    open(opening, at: now)
    let timer = LoopTimer(deadline: now.advanced(by: Refusal.patience)) { [weak self] in
      guard let self, let refusal = state.refusal else { return }
      end(refusal.loss, at: loop.now)
    }
    state.refusalTimer = timer
    loop.add(timer)
    readRefusal(at: now)
  }

  func readRefusal(at now: Instant) {
    guard isOpen, state.refusal?.read(from: input) == true || state.breakdown != nil else { return }
    if let refusal = state.refusal { end(refusal.loss, at: now) }
  }
}
