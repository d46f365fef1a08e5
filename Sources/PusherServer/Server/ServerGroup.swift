package import PusherCore

/// A Pusher for one machine: nodes that share a port and know of each other, each on a thread of its own.
///
/// The first node is on the caller's loop. The group is made, asked and stopped on that loop's thread.
package final class ServerGroup {
  /// The node on the caller's loop, which sends the webhooks; it answers for all.
  package let first: Server
  private let share: ServerShare
  /// What happens on all nodes, for those who look on.
  package var feed: ConsoleFeed { share.feed }
  private var others: [Thread] = []

  /// A node with the thread that it gets; it goes there once, before the thread begins.
  private struct Thread: @unchecked Sendable {
    // Sendable because after the start only the thread itself uses what is in it.
    let server: Server
    let loop: EventLoop
  }

  /// Listens from now on; connections are served while the loop runs.
  ///
  /// - Parameters:
  ///   - threads: How many nodes there are; 0 is for one for each core.
  ///   - random: Makes a source of socket ids for each node.
  ///   - log: Told what happens on any node, on the thread of `loop`.
  /// - Throws: ``TransportError`` when the address cannot be had, a certificate or key cannot be used, or the system has
  ///   no thread left.
  package init(
    options: ServerOptions, threads: Int = 1, random: @autoclosure () -> any RandomNumberGenerator,
    loop: EventLoop, log: @escaping (ServerLogEvent) -> Void
  ) throws(TransportError) {
    let count = threads == 0 ? EventLoop.processorCount : threads
    share = try ServerShare(options, nodes: count)
    guard count > 1 else {
      first = try Server(
        share: share, port: options.port, reusesPort: options.reusesPort, random: random(),
        loop: loop, log: log)
      return
    }
    let port = try Self.claim(options, loop)
    first = try Server(
      share: share, port: port, reusesPort: true, random: random(), loop: loop, log: log)
    for index in 1..<count {
      others.append(try Self.node(share, index, port: port, random: random()))
    }
    for (index, thread) in others.enumerated() { try start(thread, index + 1) }
  }

  /// The port for all nodes.
  ///
  /// Since they share it, a second server on it would go unnoticed: unless that is wanted, it is asked for alone first.
  private static func claim(
    _ options: ServerOptions, _ loop: EventLoop
  ) throws(TransportError) -> UInt16 {
    guard options.handedSocket == nil, !options.reusesPort || options.port == 0 else {
      return options.port
    }
    let probe = try Listener(loop: loop, host: options.host, port: options.port) { _, _, _ in }
    probe.close()
    return probe.address.port
  }

  private static func node(
    _ share: ServerShare, _ index: Int, port: UInt16, random: any RandomNumberGenerator
  ) throws(TransportError) -> Thread {
    let loop = try EventLoop()
    let group = share.group
    let server = try Server(
      share: share, index: index, port: port, reusesPort: true, random: random, loop: loop
    ) { group.log([$0]) }
    return Thread(server: server, loop: loop)
  }

  private func start(_ thread: Thread, _ index: Int) throws(TransportError) {
    let share = share
    let hasStarted = DetachedThread.start(name: "serve-\(index + 1)") {
      thread.loop.run()
      share.noteEnd()
    }
    guard hasStarted else {
      throw .system(operation: "start a thread", reason: "the system gave none")
    }
  }

  /// Reads the certificate and its key again, for new connections; those that are there go on.
  ///
  /// - Throws: ``TLSError`` when they cannot be used; then nothing has changed.
  package func renewCertificate() throws(TLSError) {
    try share.renewCertificate()
  }

  /// Serves these apps from now on.
  ///
  /// An app that has changed keeps its sockets, unless it is not enabled any more (4003). The sockets of one that is gone
  /// are closed (4001).
  ///
  /// - Throws: ``TLSError`` when the webhooks cannot be sent over TLS; then nothing has changed.
  package func renew(_ applications: [Application]) throws(TLSError) -> AppChanges {
    try WebhookDesk.check(applications, share.options.webhooks)
    let former = share.apps.withLock { $0.applications }
    share.renew(applications)
    return AppChanges(from: former, to: applications)
  }

  /// Accepts nothing more, closes all sockets with 4200 and sends the webhooks that wait; `whenDone` is called then.
  ///
  /// Clients have `patience` to answer the close frame, webhooks have ``WebhookPolicy/grace``.
  ///
  /// - Parameter drain: Over how long the sockets are closed, evenly, so that clients do not come back all at once.
  package func stop(
    patience: Duration, over drain: Duration, whenDone: @escaping () -> Void
  ) {
    for thread in others {
      thread.loop.wakeUp.post { loop in
        thread.server.stop(patience: patience, over: drain) { loop.stop() }
      }
    }
    first.stop(patience: patience, over: drain, whenDone: whenDone)
  }
}
