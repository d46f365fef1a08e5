/// Runs on a client's thread: executes orders and reports their results.
final class ClientDriver: LoopMember {
  private static let goodbyeTime = Duration.seconds(1)
  let loop: EventLoop
  let connection: PusherConnection
  /// Session of the last `connect()`, until it ends.
  var run: ClientRun?
  /// Sessions that are closing while a new one may already be connecting.
  private var retired: [ObjectIdentifier: RetiredClient] = [:]
  private lazy var drops = DropReporter(loop, connection.drops) { [unowned self] in
    reportDropped($0)
  }
  private var isShuttingDown = false
  /// True after the thread asked all members to end; no connection may follow.
  private var isEnding = false

  /// One call of `connect()`, with all its reconnects.
  final class ClientRun {
    let generation: Int
    let feed: ChannelsFeed
    /// Parts for the current place; `switch(to:)` replaces them.
    var parts: Parts
    var dispatcher: EventDispatcher { parts.dispatcher }
    var signer: MethodSigner { parts.signer }
    var isMoving = false
    private let user: UserState
    var isEstablished = false
    /// Reason why this side ended the session.
    var veto: ConnectionLoss?
    var end: ConnectionEnd?
    var goodbye: LoopTimer?

    init(generation: Int, feed: ChannelsFeed, _ parts: Parts, user: UserState) {
      (self.generation, self.feed, self.parts, self.user) = (generation, feed, parts, user)
    }

    func noteLost() {
      for channel in dispatcher.channels.elements { channel.noteLost() }
      user.noteLost()
    }
  }

  struct Parts {
    let place: PusherConnection.Target
    let destination: Destination
    let session: SessionOptions
    let dispatcher: EventDispatcher
    let signer: MethodSigner

    init(
      _ generation: Int, of connection: PusherConnection, on loop: EventLoop
    ) throws(PusherConfigurationError) {
      place = connection.state.withLock { $0.place }
      destination = try place.options.destination(key: place.key)
      session = try place.options.sessionOptions()
      dispatcher = EventDispatcher(
        connection: connection, service: place.options.service, generation: generation)
      signer = MethodSigner(
        loop: loop, connection: connection, place: place, dispatcher: dispatcher,
        network: destination)
    }
  }

  init(loop: EventLoop, connection: PusherConnection) {
    self.loop = loop
    self.connection = connection
  }

  var delegate: (any PusherDelegate)? { connection.delegate }

  func beginRound() {
    if let events = run?.dispatcher.beginRound(), events > 0 { count(.events, by: events) }
    drops.beginRound()
    while true {
      let orders = connection.takeOrders()
      if orders.isEmpty { break }
      for order in orders {
        connection.deliverChanges()
        carryOut(order)
      }
    }
    // The member leaves the thread when nothing is open.
    if isShuttingDown || isEnding, run == nil, retired.isEmpty {
      drops.end()
      connection.leave(self)
    }
  }

  func end() {
    isEnding = true
    connection.disconnect()
  }

  private func carryOut(_ order: ClientOrder) {
    switch order {
    case .connect(let generation): connect(generation)
    case .disconnect: disconnect()
    case .move: move()
    case .subscribe(let channel): subscribe(channel)
    case .unsubscribe(let channel): unsubscribe(channel)
    case .flush(let channel): flush(channel)
    case .answered(let question, let answer): run?.signer.answer(question, answer)
    case .signIn: run?.feed.signIn()
    case .refuse(let channel, let failure):
      tell(.subscriptionFailed(channel: channel.name, response: nil, data: nil, error: failure))
    case .trim: run?.dispatcher.trim()
    case .read: run?.feed.isPaused = connection.readingHold.isHeld
    case .shutDown:
      isShuttingDown = true
      retire()
    }
  }

  // MARK: Connecting

  private func connect(_ generation: Int) {
    retire()
    guard connection.state.withLock({ $0.generation == generation }) else { return }
    if isEnding || delegate?.connectionWillConnect(connection) == false {
      connection.change(to: .disconnected, generation: generation)
      return
    }
    do throws(PusherConfigurationError) {
      let run = try make(generation)
      self.run = run
      if connection.userState.isWanted { run.feed.signIn() }
      for channel in connection.wantedChannels.elements.sorted(by: { $0.serial < $1.serial }) {
        channel.forgetLoss()
        run.dispatcher.channels[channel.name] = channel
        run.feed.subscribe(channel.name)
      }
      run.feed.isPaused = connection.readingHold.isHeld
      run.feed.connect()
    } catch {
      connection.change(to: .disconnected, generation: generation, because: error)
      log(.error, "cannot connect: \(error)")
      tell(.failed(error, willRetry: false))
    }
  }

  private func make(_ generation: Int) throws(PusherConfigurationError) -> ClientRun {
    let parts = try Parts(generation, of: connection, on: loop)
    let feed: ChannelsFeed
    do throws(TLSError) {
      feed = try ChannelsFeed(
        loop: loop, destination: parts.destination, settings: parts.place.options.webSocket,
        options: parts.session, signer: SigningQueue(parts.signer), sink: parts.dispatcher)
    } catch { throw .tls("\(error)") }
    feed.delegate = self
    return ClientRun(generation: generation, feed: feed, parts, user: connection.userState)
  }

  /// Moves to the place of `switch(to:)`; without a session the next `connect()` uses it.
  private func move() {
    guard let run, run.end == nil, run.veto == nil, !run.feed.isClosed,
      connection.state.withLock({ $0.place.number }) != run.parts.place.number
    else { return }
    do {
      let parts = try Parts(run.generation, of: connection, on: loop)
      parts.dispatcher.channels = run.dispatcher.channels
      run.parts = parts
      run.isMoving = true
      defer { run.isMoving = false }
      log(.debug, "switching to \(parts.destination.url.place)")
      try run.feed.move(
        to: parts.destination, settings: parts.place.options.webSocket, options: parts.session,
        signer: SigningQueue(parts.signer), sink: parts.dispatcher,
        reason: "the client switches to another server or app")
    } catch {
      // `switch(to:)` has checked the options, but a file may have disappeared since.
      run.veto = .dropped("\(error)")
      run.feed.disconnect()
    }
  }

  /// Ends the current session in the background, so that another can start.
  private func retire() {
    guard let run else { return }
    self.run = nil
    run.noteLost()
    if let goodbye = run.goodbye { loop.remove(goodbye) }
    guard !run.feed.isClosed else { return }
    let feed = run.feed
    let key = ObjectIdentifier(feed)
    let timer = limitGoodbye(of: feed)
    let last = RetiredClient { [unowned self] in
      loop.remove(timer)
      retired[key] = nil
    }
    retired[key] = last
    feed.delegate = last
    feed.disconnect()
  }

  private func disconnect() {
    guard let run else {
      let (state, generation) = connection.state.withLock { ($0.connectionState, $0.generation) }
      if state == .disconnecting { connection.change(to: .disconnected, generation: generation) }
      return
    }
    run.goodbye = limitGoodbye(of: run.feed)
    run.feed.disconnect()
  }

  private func limitGoodbye(of feed: ChannelsFeed) -> LoopTimer {
    let timer = LoopTimer(deadline: loop.now.advanced(by: Self.goodbyeTime)) { feed.abort() }
    loop.add(timer)
    return timer
  }

  // MARK: Channels

  private func subscribe(_ channel: PusherChannel) {
    guard let run, connection.channel(channel.name) === channel else { return }
    let known = run.dispatcher.channels[channel.name]
    if known === channel, channel.failure == nil { return }
    channel.noteAsked()
    if known != nil { run.feed.unsubscribe(channel.name) }
    run.dispatcher.channels[channel.name] = channel
    run.feed.subscribe(channel.name)
  }

  private func unsubscribe(_ channel: PusherChannel) {
    guard let run, run.dispatcher.channels[channel.name] === channel else { return }
    run.dispatcher.channels[channel.name] = nil
    run.feed.unsubscribe(channel.name)
  }

  func flush(_ channel: PusherChannel) {
    guard let run, run.dispatcher.channels[channel.name] === channel else { return }
    let events = channel.takeUnsent()
    for (index, event) in events.enumerated() where !run.feed.trigger(event) {
      channel.putBack(events[index...])
      return
    }
  }

  // MARK: Reporting

  func tell(_ notice: @autoclosure () -> DelegateNotice) { connection.tell(notice()) }

  func log(_ level: PusherLogLevel, _ message: @autoclosure () -> String) {
    connection.logger?.log(level, message)
    tell(.log(message()))
  }

  func count(_ what: PusherCount, by amount: Int = 1) {
    connection.metrics?.count(what, by: amount)
  }
}

private final class RetiredClient: ChannelsFeedDelegate {
  private let whenClosed: () -> Void

  init(whenClosed: @escaping () -> Void) { self.whenClosed = whenClosed }

  func feedClosed() { whenClosed() }
  func feedSinkIsFull() {}
  func feed(received event: Envelope, named name: String?, at now: Instant) {}
  func feed(reports event: SessionEvent, at now: Instant) {}
  func feed(reports event: ConnectionEvent, at now: Instant) {}
  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {}
}
