package import PusherCore

/// A server on one port that takes webhooks at any path, checks them and hands on their events.
///
/// It lives on its loop's thread. Requests are limited in size and time; a connection may bring many.
package final class WebhookReceiver {
  /// The largest webhook that is taken, in bytes.
  package static let bodyLimit = 4 << 20
  /// How long a request may take, and how long a connection may be idle.
  package static let patience = Duration.seconds(30)
  /// Connections at a time; more are closed at once.
  package static let connectionLimit = 256

  /// Where it listens, with the port that the system picked.
  package let port: UInt16
  let loop: EventLoop
  private let inbox: WebhookInbox
  private let listener: Listener
  private var connections: [ObjectIdentifier: WebhookConnection] = [:]
  private let onOutcome: (WebhookInbox.Outcome) -> Void

  /// Listens from now on; `onOutcome` is told of every request, before it is answered.
  package init(
    loop: EventLoop, host: String, port: UInt16, inbox: WebhookInbox,
    onOutcome: @escaping (WebhookInbox.Outcome) -> Void
  ) throws(TransportError) {
    self.loop = loop
    self.inbox = inbox
    self.onOutcome = onOutcome
    let door = Door()
    listener = try Listener(loop: loop, host: host, port: port) { descriptor, peer, now in
      door.receiver?.accept(descriptor, peer, at: now)
    }
    self.port = listener.address.port
    door.receiver = self
  }

  /// What lets the listener call a receiver that is not complete when the listener is made.
  private final class Door {
    weak var receiver: WebhookReceiver?
  }

  private func accept(_ descriptor: Int32, _ peer: SocketAddress?, at now: Instant) {
    let connection = WebhookConnection(self, descriptor: descriptor, peer: peer, at: now)
    connections[ObjectIdentifier(connection)] = connection
    if connections.count > Self.connectionLimit { connection.close() }
  }

  func forget(_ connection: WebhookConnection) {
    connections[ObjectIdentifier(connection)] = nil
  }

  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    let outcome = inbox.take(request)
    onOutcome(outcome)
    switch outcome {
    case .accepted: return .json(.object([]))
    case .refused(405, let reason): return .refusal(405, reason, allow: "POST")
    case .refused(let status, let reason): return .refusal(status, reason)
    }
  }

  func reject(_ error: HTTPError) -> HTTPAnswer {
    let answer = HTTPAnswer(error)
    onOutcome(.refused(answer.status, answer.body))
    return answer
  }
}

/// One connection that brings webhooks.
final class WebhookConnection: SocketStreamDelegate {
  private static let readSize = 65_536

  private unowned let receiver: WebhookReceiver
  private var reader = HTTPRequestReader(bodyLimit: WebhookReceiver.bodyLimit)
  private let input = ByteBuffer(capacity: 4096)
  private let output = ByteBuffer(capacity: 256)
  private var stream: SocketStream?
  private var timer: LoopTimer?
  /// Lets the others have their turn before the next of many requests.
  private var turn: LoopTimer?
  private var closesWhenSent = false

  init(_ receiver: WebhookReceiver, descriptor: Int32, peer: SocketAddress?, at now: Instant) {
    self.receiver = receiver
    stream = SocketStream.adopt(
      loop: receiver.loop, descriptor: descriptor, peer: peer, delegate: self)
    let timer = LoopTimer(deadline: now.advanced(by: WebhookReceiver.patience)) { [weak self] in
      self?.close()
    }
    self.timer = timer
    receiver.loop.add(timer)
  }

  func close() {
    for timer in [timer, turn] { timer.map(receiver.loop.remove) }
    timer = nil
    turn = nil
    stream?.close()
    stream = nil
    receiver.forget(self)
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {}

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      switch try stream.read(into: input, atMost: Self.readSize) {
      case .wouldBlock: return
      case .end: return close()
      case .bytes: break
      }
    } catch {
      return close()
    }
    takeTurn(at: now)
  }

  /// Answers one request, if one is there and the answer before has gone; nothing more is read until then.
  private func takeTurn(at now: Instant) {
    guard let stream else { return }
    guard !closesWhenSent else { return input.removeAll() }
    guard output.isEmpty else {
      stream.wantsRead = false
      return
    }
    var hasMore = false
    do throws(HTTPError) {
      let request = try reader.next(from: input)
      if let interim = reader.takeContinue() { output.append(interim) }
      if let request {
        hasMore = !input.isEmpty
        timer?.deadline = now.advanced(by: WebhookReceiver.patience)
        closesWhenSent = !request.keepsAlive
        receiver.answer(request).write(to: output, keepsAlive: request.keepsAlive)
      }
    } catch {
      receiver.reject(error).write(to: output, keepsAlive: false)
      closesWhenSent = true
    }
    stream.wantsRead = closesWhenSent || !hasMore
    flush()
    if hasMore, !closesWhenSent { waitForTurn() }
  }

  private func waitForTurn() {
    guard stream != nil else { return }
    if turn == nil {
      let timer = LoopTimer(deadline: nil) { [weak self] in
        guard let self else { return }
        self.takeTurn(at: self.receiver.loop.now)
      }
      turn = timer
      receiver.loop.add(timer)
    }
    turn?.deadline = LoopInterest.immediately
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    flush()
    takeTurn(at: now)
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    close()
  }

  private func flush() {
    guard let stream else { return }
    do throws(TransportError) {
      try stream.write(from: output)
    } catch {
      return close()
    }
    if closesWhenSent, output.isEmpty, !stream.wantsWrite { close() }
  }
}
