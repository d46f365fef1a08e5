internal import PusherCore
internal import PusherServer

/// Reports the numbers of clients and events to the service manager.
final class ServerProgress {
  private let manager: ServiceManager
  private let loop: EventLoop
  private var connections = 0
  private var events = 0
  private var lastEventAt: Instant?

  init(_ manager: ServiceManager, loop: EventLoop) {
    (self.manager, self.loop) = (manager, loop)
    manager.follow(loop) { [unowned self] in text }
  }

  func note(_ event: ServerLogEvent) {
    switch event {
    case .connected: connections += 1
    case .disconnected: connections -= 1
    case .event, .clientEvent:
      events += 1
      lastEventAt = loop.now
    default: return
    }
    manager.progressed(at: loop.now)
  }

  private var text: String {
    let clients = Quantities.words(connections, of: "connection")
    return loop.progress(events, lastAt: lastEventAt).map { "\(clients), \($0)" } ?? clients
  }
}
