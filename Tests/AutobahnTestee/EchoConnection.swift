internal import PusherCore

/// One connection to the fuzzing server that echoes every message until either side closes.
///
/// It is the connection of a feed, so that the cases test a subscriber's behaviour. It stops the
/// loop at the end.
final class EchoConnection {
  /// Maximum time of one case; the server's own limits are shorter, except for its largest cases.
  private static let longestCase = Duration.seconds(300)

  private(set) var firstText: String?
  /// Reason for a failed or endless connection; protocol errors are part of the cases.
  private(set) var failure: String?

  private let loop: EventLoop
  private var connection: WebSocketFeedConnection?
  private var timer: LoopTimer?

  /// The second offer is for servers that only compress for clients without context.
  private static let offers =
    PerMessageDeflate.offer
    + ", permessage-deflate; client_no_context_takeover; client_max_window_bits"

  init(loop: EventLoop, url: HTTPURL) {
    self.loop = loop
    let timer = LoopTimer(deadline: loop.now.advanced(by: Self.longestCase)) { [unowned self] in
      end("the server does not end the connection")
    }
    loop.add(timer)
    self.timer = timer
    let connection = WebSocketFeedConnection(
      loop: loop, destination: Destination(url: url),
      settings: WebSocketSettings(compressionOffer: Self.offers),
      sink: nil, delegate: self)
    self.connection = connection
    connection.start()
  }

  private func end(_ failure: String? = nil) {
    self.failure = failure
    connection?.abort()
    if let timer { loop.remove(timer) }
    loop.stop()
  }
}

extension EchoConnection: WebSocketFeedConnectionDelegate {
  func connectionUpgraded(at now: Instant) {}
  func connectionReceived(text: ByteView, at now: Instant) {
    if firstText == nil { firstText = text.text }
    connection?.send { $0.send(text: text) }
  }

  func connectionReceived(binary: ByteView, at now: Instant) {
    connection?.send { $0.send(binary: binary.array) }
  }

  func connectionEnded(_ loss: ConnectionLoss, at now: Instant) {
    switch loss {
    case .closed, .violation: end()
    // A fuzzing server may drop its connection at any time after the upgrade.
    case .network where connection?.wasOpen == true: end()
    default: end("\(loss)")
    }
  }

  func connectionReceived(bytes count: Int, at now: Instant) {}
  func connectionDelivered(at now: Instant) {}
  func connectionSinkIsFull() {}

  func connectionRedirected(status: Int, to place: String, at now: Instant) {
    end("the server redirects to \(place)")
  }
}
