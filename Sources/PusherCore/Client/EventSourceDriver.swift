/// What runs on an event source's own thread: carries out its tasks, and tells what comes of them.
final class EventSourceDriver {
  private let loop: EventLoop
  private let core: EventSourceCore
  private var client: EventStreamClient?
  private var generation = 0

  /// The whole life of a source's thread.
  static func run(_ core: EventSourceCore) {
    do throws(TransportError) {
      let driver = EventSourceDriver(loop: try EventLoop(), core: core)
      core.threadBegan(driver.loop.wakeUp)
      driver.loop.beforeWait { [unowned driver] in driver.beginRound() }
      driver.loop.run()
    } catch {
      core.threadFailed(.network("\(error)"))
    }
  }

  private init(loop: EventLoop, core: EventSourceCore) {
    self.loop = loop
    self.core = core
  }

  private func beginRound() {
    while true {
      let tasks = core.takeTasks()
      if tasks.isEmpty { return }
      for task in tasks { carryOut(task) }
    }
  }

  private func carryOut(_ task: EventSourceCore.Task) {
    switch task {
    case .connect(let generation, let lastEventID):
      drop()
      connect(generation, lastEventID)
    case .disconnect:
      let status = client?.lastStatus
      drop()
      core.completed(nil, status: status, shouldReconnect: false, nil)
    case .shutDown:
      drop()
      loop.stop()
    }
  }

  private func drop() {
    client?.delegate = nil
    client?.disconnect()
    client = nil
  }

  private func connect(_ generation: Int, _ lastEventID: String) {
    self.generation = generation
    do {
      let client = try make(lastEventID)
      self.client = client
      client.delegate = self
      client.connect()
    } catch {
      core.completed(
        generation, status: nil, shouldReconnect: false, .invalidRequest("\(error)"))
    }
  }

  private func make(_ lastEventID: String) throws -> EventStreamClient {
    let settings = core.settings
    let url = try HTTPURL(parsing: core.url)
    guard url.scheme == .http || url.scheme == .https else {
      throw HTTPError.invalidURL("its scheme is neither http nor https")
    }
    let configuration = EventStreamConfiguration(
      url: url, method: settings.method,
      headers: HTTPHeaders(core.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
      body: settings.body, tls: TLSConfiguration(caFile: settings.caFile),
      acceptsCompression: settings.acceptsCompression,
      limits: EventStreamLimits(
        line: settings.maximumEventSize + 64, event: settings.maximumEventSize),
      connectTimeout: settings.connectTimeout)
    let options = EventSourceOptions(
      reconnect: settings.reconnect, reconnectionTime: settings.reconnectionTime,
      silenceTimeout: settings.silenceTimeout)
    return try EventStreamClient(
      loop: loop, configuration: configuration, options: options, lastEventID: lastEventID)
  }
}

extension EventSourceDriver: EventStreamClientDelegate {
  func client(_ client: EventStreamClient, received event: EventStreamEvent, at now: Instant) {
    let message = EventSourceMessage(
      id: event.lastEventID.isEmpty ? nil : event.lastEventID.text, event: event.type.text,
      data: event.data.text)
    core.received(message, retryTime: client.reconnectionTime.inMilliseconds, generation)
    // A handler may have asked for something; it is done before the next event.
    beginRound()
  }

  func client(_ client: EventStreamClient, reports event: EventSourceReport, at now: Instant) {
    switch event {
    case .opened: core.opened(generation)
    case .reconnectionTime(let time): core.noteRetryTime(time.inMilliseconds, generation)
    case .disconnected(_, .some, _): core.reconnecting(generation)
    case .ended(let end): ended(end, status: client.lastStatus)
    case .redirected, .disconnected, .gap: break
    }
  }

  private func ended(_ end: EventSourceEnd, status: Int?) {
    switch end {
    case .asked: break
    case .finished: core.completed(generation, status: status, shouldReconnect: false, nil)
    case .lost(let error), .retriesExhausted(let error, _):
      core.completed(
        generation, status: status, shouldReconnect: error.isTransient,
        error == .ended ? nil : error)
    }
  }

  func client(_ client: EventStreamClient, exchanged head: String, isRequest: Bool) {}

  func clientClosed(_ client: EventStreamClient) {}
}

extension Duration {
  fileprivate var inMilliseconds: Int { Int(wholeNanoseconds / 1_000_000) }
}
