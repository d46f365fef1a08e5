package protocol FeedConnectionDelegate: AnyObject {
  func connectionReceived(bytes count: Int, at now: Instant)
  func connectionRedirected(status: Int, to place: String, at now: Instant)
  /// All events that the server sent by `now` were handed out.
  func connectionDelivered(at now: Instant)
  func connectionSinkIsFull()
  /// The connection is over and makes no further calls.
  func connectionEnded(_ loss: ConnectionLoss, at now: Instant)
}

/// The stream of a connection and its reading.
package struct FeedConnectionState {
  /// Maximum size of one read, in bytes; it also limits one burst before the output is flushed.
  static let readSize = 256 << 10

  /// `nil` after the stream is open.
  fileprivate(set) var opening: Opening?
  /// `nil` until the stream is open.
  fileprivate(set) var stream: SocketStream?
  fileprivate(set) var isOver = false
  fileprivate var isPaused = false
  /// Reason for the end, while received bytes are still being handed out.
  var breakdown: ConnectionLoss?
  var isDraining = false
  /// True if unread bytes or the end may have come while reading was paused.
  ///
  /// Such bytes may be old, and later bytes may have been lost. Only bytes after an empty read are
  /// new.
  fileprivate(set) var isBehind = false
  /// Maximum number of reads in one turn while behind.
  fileprivate static let readsWhenBehind = 2
  fileprivate(set) var lastRead: Instant?
  fileprivate(set) var isSecure = false
  package fileprivate(set) var times = OpeningTimes()
  /// A refusal whose body is being read.
  var refusal: Refusal?
  fileprivate var refusalTimer: LoopTimer?
}

/// One connection of a feed: an opening, then a stream until its end.
///
/// It is used once and belongs to the loop's thread. The extension holds the shared code; each kind
/// adds its request and turns bytes into events.
package protocol FeedConnection: SocketStreamDelegate, OpeningDelegate {
  var loop: EventLoop { get }
  var state: FeedConnectionState { get set }
  var input: ByteBuffer { get }
  var output: ByteBuffer { get }
  var owner: (any FeedConnectionDelegate)? { get }

  /// Dials; every report comes from inside the loop.
  func start()
  func forgetOwner()
  /// Hands out complete events until none is left or the owner takes no more.
  func drain(at now: Instant)
  /// The peer ended the stream properly.
  func streamEnded(at now: Instant)
  func outputHasRoom(at now: Instant)
  /// Ends with a close frame if the protocol has one, else like ``abort()``.
  func close()
  /// True if the request asks for an upgrade instead of a document.
  var isUpgrade: Bool { get }
  /// Stage of an open stream that still waits for its beginning; `nil` for none.
  var openStage: ConnectionStage? { get }
}

extension FeedConnection {
  package var isOpen: Bool { state.stream != nil && !state.isOver }
  package var wasOpen: Bool { state.stream != nil }

  package var stage: ConnectionStage? {
    guard !state.isOver, let opening = state.opening else { return state.isOver ? nil : openStage }
    let received = input.count
    return opening.stage
      ?? (isUpgrade ? .upgrading(received: received) : .asking(received: received))
  }

  package var isPaused: Bool {
    get { state.isPaused }
    set {
      state.isPaused = newValue
      if newValue { state.isBehind = true }
      state.opening?.isPaused = newValue
      state.stream?.wantsRead = !newValue
    }
  }

  package func start(to destination: Destination) {
    let opening = Opening(loop: loop, to: destination, input: input, delegate: self)
    opening.isPaused = state.isPaused
    state.opening = opening
    opening.start()
  }

  package func open(_ opening: Opening, at now: Instant) {
    state.isSecure = opening.trail.url.isSecure
    state.times = opening.times
    state.times.answered = loop.now
    state.stream = opening.handOver(to: self)
    state.stream?.wantsRead = !state.isPaused
    state.opening = nil
    state.lastRead = now
  }

  /// Closes the connection without a report.
  package func abort() {
    state.isOver = true
    forgetOwner()
    loop.cancel(&state.refusalTimer)
    state.opening?.abort()
    state.opening = nil
    state.stream?.close()
  }

  /// Continues after a pause, with the bytes read before it.
  package func resume() {
    isPaused = false
    drain(at: loop.now)
  }

  package func end(_ loss: ConnectionLoss, at now: Instant) {
    guard !state.isOver else { return }
    let owner = owner
    abort()
    owner?.connectionEnded(loss, at: now)
  }

  /// Stops reading; received events still count, even if the owner cannot take them yet.
  package func broke(_ loss: ConnectionLoss, at now: Instant) {
    guard isOpen else { return end(loss, at: now) }
    guard state.breakdown == nil else { return }
    state.breakdown = loss
    state.stream?.close()
    drain(at: now)
  }

  package func flush() {
    guard state.breakdown == nil, !output.isEmpty else { return }
    do throws(TransportError) {
      try state.stream?.write(from: output)
    } catch {
      broke(ConnectionLoss(error), at: loop.now)
    }
  }

  // MARK: The opening

  package func openingRedirected(status: Int, to place: String, at now: Instant) {
    owner?.connectionRedirected(status: status, to: place, at: now)
  }

  package func openingReceived(bytes count: Int, at now: Instant) {
    owner?.connectionReceived(bytes: count, at: now)
  }

  package func openingReceived(_ head: HTTPResponseHead) {}
  package func follows(_ status: Int) -> Bool { true }

  package func opening(
    cannotFollow head: HTTPResponseHead, _ error: RedirectError, at now: Instant
  ) { end(.refused(status: head.status, reason: "\(error)"), at: now) }

  package func opening(
    _ opening: Opening, failed failure: HTTPExchange.Failure, at now: Instant
  ) { end(loss(failure, opening), at: now) }

  private func loss(_ failure: HTTPExchange.Failure, _ opening: Opening) -> ConnectionLoss {
    switch failure {
    case .http(.endedEarly):
      let part = input.isEmpty ? "before it answered" : "in the middle of its answer"
      let upgrade = !isUpgrade ? "" : input.isEmpty ? " the upgrade" : " to the upgrade"
      return .network(
        "the server closed the connection \(part)\(upgrade)", input.isEmpty ? opening.silence : nil)
    case .http(.foreign(.tls)): return .network("\(ForeignProtocol.tls)", .onlyTLS)
    case .transport(let error):
      let loss = ConnectionLoss(error)
      // An event stream's message says by itself that no answer came.
      let explainsItself = !isUpgrade && opening.silence == .noAnswer
      guard case .network(let what, nil) = loss, !explainsItself, opening.isAsking, input.isEmpty
      else { return loss }
      return .network(what, opening.silence)
    case .http, .timeout: return .violation("\(failure)")
    }
  }

  // MARK: The stream

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    if loop.hasStalled { state.isBehind = true }
    for _ in 0..<FeedConnectionState.readsWhenBehind {
      guard read(stream, at: now), state.isBehind, isOpen, !isPaused, state.breakdown == nil else {
        return
      }
    }
  }

  /// Reads once, and returns whether more may be there.
  private func read(_ stream: SocketStream, at now: Instant) -> Bool {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: FeedConnectionState.readSize) {
      case .wouldBlock: caughtUp()
      case .bytes(let count):
        state.lastRead = now
        owner?.connectionReceived(bytes: count, at: now)
        drain(at: now)
        return true
      case .end:
        if let refusal = state.refusal { end(refusal.loss, at: now) } else { streamEnded(at: now) }
      }
    } catch { broke(ConnectionLoss(error), at: now) }
    return false
  }

  /// Notes that the socket was empty, so later bytes are new.
  ///
  /// It does not prove that all events were delivered, because a dead network looks the same.
  private func caughtUp() {
    guard isOpen, !isPaused, state.breakdown == nil else { return }
    state.isBehind = false
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush()
    outputHasRoom(at: now)
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    broke(ConnectionLoss(error), at: now)
  }
}

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
    state.refusalTimer = loop.schedule(after: Refusal.patience) { [weak self] in
      guard let self, let refusal = state.refusal else { return }
      end(refusal.loss, at: loop.now)
    }
    readRefusal(at: now)
  }

  func readRefusal(at now: Instant) {
    guard isOpen, state.refusal?.read(from: input) == true || state.breakdown != nil else { return }
    if let refusal = state.refusal { end(refusal.loss, at: now) }
  }
}

// Maps the failures of each layer to the loss of a connection.
extension ConnectionLoss {
  package init(_ error: TransportError) {
    switch error {
    case .tls(let error):
      self =
        error.trustProblem.map { .untrusted("\(error)", $0) }
        ?? .network("\(error)", error.networkProblem)
    // Our own reason already names the missing family.
    case .resolve(_, let reason) where !reason.begins(with: "it has no IP"):
      self = .network("\(error)", .unknownName)
    case .connect(_, let reason) where reason == SystemError.connectionRefused.description:
      self = .network("\(error)", .connectionRefused)
    case .proxy(_, let proxyError) where proxyError.isDoubtful: self = .network("\(error)", .proxy)
    case .timeout(.handshaking): self = .network("\(error)", .handshakeSilent)
    // The message about a loss already says that the connection is lost.
    case .reset(let reason): self = .network(reason)
    default: self = .network("\(error)")
    }
  }

  /// Maps a WebSocket protocol error, or an end without a close frame.
  init(_ error: WebSocketError) {
    switch error {
    case .endedWithoutCloseFrame(let insideMessage):
      let place = insideMessage ? "incomplete message" : "no close frame"
      self = .closed(code: nil, reason: place)
    default: self = .violation("\(error)")
    }
  }

  /// Maps an unexpected status; `now` is needed for a date in Retry-After.
  init(refusal head: HTTPResponseHead, at now: WallTime) {
    let isLost = RedirectTrail.isRedirect(head.status)
    self = .refused(
      status: head.status, reason: isLost ? "a redirect without a Location" : head.reason,
      retryAfter: head.retryAfter(at: now))
  }

  /// Maps a failed upgrade; `now` is needed for a date in Retry-After.
  init(upgradeFailure error: any Error, at now: WallTime) {
    switch error {
    case HandshakeError.refused(let head): self.init(refusal: head, at: now)
    case HandshakeError.redirect(_, let status):
      self = .refused(status: status, reason: "a redirect that is not followed")
    default: self = .violation("\(error)")
    }
  }
}

extension TLSError {
  fileprivate var networkProblem: NetworkProblem? {
    switch self {
    case .handshakeClosed: .handshakeClosed
    case .notTLS: .notTLS
    default: nil
    }
  }

  /// The side that did not trust the other, if trust failed.
  fileprivate var trustProblem: TrustProblem? {
    switch self {
    case .certificate: .certificate
    case .unknownAuthority: .unknownAuthority
    case .publicKey: .publicKey
    case .clientCertificate: .clientCertificate
    default: nil
    }
  }
}
