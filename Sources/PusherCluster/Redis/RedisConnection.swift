internal import PusherCore

/// The owner of a ``RedisConnection``, called from inside the loop.
protocol RedisConnectionOwner: AnyObject {
  func connection(
    _ connection: RedisConnection, got event: RedisConversation.Event, at now: Instant)
  func connection(_ connection: RedisConnection, failed failure: RedisFailure, at now: Instant)
}

/// A ``RedisConversation`` over a socket.
///
/// Orders from one turn of the loop are written together: the owner calls ``flush()`` before the
/// wait. If that was too early, the loop returns at once. The loop keeps the connection until it is
/// closed.
final class RedisConnection: LoopSource {
  private weak var owner: (any RedisConnectionOwner)?
  private let loop: EventLoop
  private let place: String
  private let begin: (Instant) -> RedisConversation
  private(set) var conversation: RedisConversation?
  private var stream: SocketStream?
  private let input = ByteBuffer(capacity: RedisReader.portion)
  private var isClosed = false

  /// Maximum number of bytes that one turn reads.
  private static let readSize = 64 << 10

  init(
    _ role: RedisConversation.Role, to endpoint: RedisEndpoint, settings: RedisSettings,
    policy: RedisPolicy, identifies: Bool = true, tls: TLSContext?, loop: EventLoop,
    owner: any RedisConnectionOwner
  ) {
    self.owner = owner
    self.loop = loop
    let place = endpoint.description
    self.place = place
    begin = { now in
      RedisConversation(
        role, at: place, settings: settings, policy: policy, identifies: identifies, now: now)
    }
    let route = Route(host: endpoint.host, port: endpoint.port, families: policy.families)
    stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: loop.now.advanced(by: policy.connectTime),
      delegate: self)
    loop.add(self)
  }

  /// Closes the connection; the owner gets no more calls.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop.remove(self)
    stream?.close()
    stream = nil
  }

  func flush() {
    guard isUnwritten else { return }
    write(at: loop.now)
  }

  /// True if output is ready to be written without waiting.
  private var isUnwritten: Bool {
    guard let stream, stream.isOpen, !stream.wantsWrite else { return false }
    return conversation?.output.isEmpty == false
  }

  private func write(at now: Instant) {
    guard let stream, let conversation else { return }
    do throws(TransportError) {
      try stream.write(from: conversation.output)
    } catch {
      fail(.transport(place, error), at: now)
    }
  }

  private func fail(_ failure: RedisFailure, at now: Instant) {
    guard !isClosed else { return }
    close()
    owner?.connection(self, failed: failure, at: now)
  }

  // MARK: The loop

  var interest: LoopInterest {
    LoopInterest(deadline: isUnwritten ? LoopInterest.immediately : conversation?.deadline)
  }

  func expired(at now: Instant) {
    do throws(RedisFailure) {
      try conversation?.tick(at: now)
      flush()
    } catch { fail(error, at: now) }
  }
}

extension RedisConnection: SocketStreamDelegate {
  func streamOpened(_ stream: SocketStream, at now: Instant) {
    conversation = begin(now)
    flush()
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: Self.readSize) {
      case .wouldBlock: return
      case .bytes: take(at: now)
      case .end: fail(.ended(place), at: now)
      }
    } catch { fail(.transport(place, error), at: now) }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) { write(at: now) }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    fail(.transport(place, error), at: now)
  }

  private func take(at now: Instant) {
    guard let conversation else { return }
    do throws(RedisFailure) {
      while !input.isEmpty {
        let count = min(input.count, RedisReader.portion)
        conversation.receive(input.view[0..<count])
        input.consume(count)
        while let event = try conversation.next(at: now) {
          owner?.connection(self, got: event, at: now)
          if isClosed { return }
        }
      }
    } catch { fail(error, at: now) }
  }
}
