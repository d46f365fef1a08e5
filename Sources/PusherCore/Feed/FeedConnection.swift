/// The owner of a connection of any kind.
package protocol FeedConnectionDelegate: AnyObject {
  /// So many bytes came in, of whatever kind.
  func connectionReceived(bytes count: Int, at now: Instant)
  /// The server redirected the request, and the new place is dialled now.
  func connectionRedirected(status: Int, to place: String, at now: Instant)
  /// Everything sent by `now` has come and was handed out.
  func connectionDelivered(at now: Instant)
  /// The tap wants no more for now.
  func connectionTapIsFull()
  /// The connection is over; it says nothing more.
  func connectionEnded(_ loss: ConnectionLoss, at now: Instant)
}

/// The stream of a connection and its reading.
package struct FeedConnectionState {
  /// How much is read at a time; also what one burst may cost before the output is flushed.
  static let readSize = 256 << 10

  /// Until there is a stream.
  fileprivate(set) var opening: Opening?
  /// Once the opening has led to one.
  fileprivate(set) var stream: SocketStream?
  fileprivate(set) var isOver = false
  fileprivate var isPaused = false
  /// Why nothing more will come, while received bytes are still handed out.
  var breakdown: ConnectionLoss?
  var isDraining = false
  /// Whether bytes, or the end, may wait in the socket since a time when it was left unread.
  ///
  /// What is read then may have come long before, and more may have been sent since that never came. Only what comes
  /// after an empty read is new.
  fileprivate(set) var isBehind = false
  /// As often is read in one turn to find out.
  static let readsWhenBehind = 2
  /// When bytes last came.
  fileprivate(set) var lastRead: Instant?
  fileprivate(set) var isSecure = false
}

/// One connection of a feed: an opening, then a stream that is read, handed out and ended.
///
/// It is used once and belongs to the loop's thread. The extension holds what all kinds share; a kind adds its request
/// and how bytes become events.
package protocol FeedConnection: SocketStreamDelegate, OpeningDelegate {
  var loop: EventLoop { get }
  var state: FeedConnectionState { get set }
  /// Where bytes of the stream go.
  var input: ByteBuffer { get }
  /// What waits to be sent.
  var output: ByteBuffer { get }
  /// Tells the owner, until the end.
  var owner: (any FeedConnectionDelegate)? { get }

  /// Dials; every report comes from inside the loop.
  func start()
  /// Forgets the owner, which is told nothing more.
  func forgetOwner()
  /// Hands out all complete events, until none is left or the owner wants no more.
  func drain(at now: Instant)
  /// The other side has ended the stream properly.
  func streamEnded(at now: Instant)
  /// There is room for output again.
  func outputHasRoom(at now: Instant)
  /// Ends with a close frame if the protocol has one, else like ``abort()``.
  func close()
  /// What an open stream still waits for at its beginning; `nil` for nothing.
  var openStage: ConnectionStage? { get }
}

extension FeedConnection {
  /// Whether there is an open stream.
  package var isOpen: Bool { state.stream != nil && !state.isOver }

  /// Whether there ever was one.
  package var wasOpen: Bool { state.stream != nil }

  /// The stage of the attempt to connect; `nil` after it.
  package var stage: ConnectionStage? { state.isOver ? nil : state.opening?.stage ?? openStage }

  /// Set to leave the socket unread while received events cannot be taken.
  package var isPaused: Bool {
    get { state.isPaused }
    set {
      state.isPaused = newValue
      if newValue { state.isBehind = true }
      state.opening?.isPaused = newValue
      state.stream?.wantsRead = !newValue
    }
  }

  /// Dials; every report comes from inside the loop.
  package func start(to destination: Destination, tls: TLSContext?, isUpgrade: Bool) {
    let opening = Opening(
      loop: loop, to: destination, tls: tls, isUpgrade: isUpgrade, isPaused: state.isPaused,
      input: input, delegate: self)
    state.opening = opening
    opening.start()
  }

  /// The opening has led to a stream, which is read from here on.
  package func open(_ opening: Opening, at now: Instant) {
    state.isSecure = opening.isSecure
    state.stream = opening.handOver(to: self)
    state.stream?.wantsRead = !state.isPaused
    state.opening = nil
    state.lastRead = now
  }

  /// Drops the connection silently and without a report.
  package func abort() {
    state.isOver = true
    forgetOwner()
    state.opening?.abort()
    state.opening = nil
    state.stream?.close()
  }

  /// Goes on with what was read before a pause.
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

  /// Nothing more will come; received events still count, also while they cannot be taken.
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

  package func openingFailed(_ loss: ConnectionLoss, at now: Instant) {
    end(loss, at: now)
  }

  // MARK: The stream

  package func streamOpened(_ stream: SocketStream, at now: Instant) {}

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    if loop.hasStalled { state.isBehind = true }
    for _ in 0..<FeedConnectionState.readsWhenBehind {
      guard read(stream, at: now), state.isBehind, isOpen, !isPaused, state.breakdown == nil else {
        return
      }
    }
  }

  /// Reads once; answers whether more may be there.
  private func read(_ stream: SocketStream, at now: Instant) -> Bool {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: FeedConnectionState.readSize) {
      case .wouldBlock: caughtUp()
      case .bytes(let count):
        state.lastRead = now
        owner?.connectionReceived(bytes: count, at: now)
        drain(at: now)
        return true
      case .end: streamEnded(at: now)
      }
    } catch {
      broke(ConnectionLoss(error), at: now)
    }
    return false
  }

  /// The socket had nothing more and no end: what comes from here on is new.
  ///
  /// That all was delivered by now is not known: a dead network looks the same.
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
