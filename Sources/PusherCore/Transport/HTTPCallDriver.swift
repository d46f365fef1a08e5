/// The part of ``HTTPCalls`` on the loop's thread: gives connections to calls and keeps idle ones.
final class HTTPCallDriver: LoopMember {
  private final class Line {
    let way: HTTPCall.Way
    let connection: HTTPConnection
    var call: HTTPCall?
    var idleTimer: LoopTimer?

    init(_ way: HTTPCall.Way, _ connection: HTTPConnection) {
      (self.way, self.connection) = (way, connection)
    }
  }

  private struct Waiting {
    let call: HTTPCall
    let timer: LoopTimer
  }

  private let loop: EventLoop
  private let calls: HTTPCalls
  private var lines: [Line] = []
  private var waiting: [Waiting] = []
  private var isEnding = false

  init(loop: EventLoop, calls: HTTPCalls) { (self.loop, self.calls) = (loop, calls) }

  func beginRound() {
    calls.desk.serve(
      self, on: loop, isIdle: { lines.isEmpty && waiting.isEmpty }, carryOut: carryOut)
  }

  func end() {
    isEnding = true
    for line in lines { close(line) }
    for call in waiting.map(\.call) {
      drop(call)
      call.answer.give(.failure(.cancelled))
    }
  }

  private func carryOut(_ order: HTTPCalls.Order) {
    switch order {
    case .begin(let call):
      if call.answer.isGiven { return }
      if isEnding { return call.answer.give(.failure(.cancelled)) }
      if !begin(call) { wait(call) }
    case .stop(let call):
      drop(call)
      guard let line = lines.first(where: { $0.call === call }) else { return }
      close(line)
      fill()
    }
  }

  private func wait(_ call: HTTPCall) {
    let timer = LoopTimer(deadline: call.deadline) { [unowned self] in
      drop(call)
      call.answer.give(.failure(.late(call.timeout)))
    }
    waiting.append(Waiting(call: call, timer: timer))
    loop.add(timer)
  }

  private func drop(_ call: HTTPCall) {
    guard let place = waiting.firstIndex(where: { $0.call === call }) else { return }
    loop.remove(waiting.remove(at: place).timer)
  }

  private func fill() { while let next = waiting.first, begin(next.call) { drop(next.call) } }

  /// Starts `call` on a kept connection to its server or on a new one; returns false without room.
  private func begin(_ call: HTTPCall) -> Bool {
    // The last used connection has been idle for the shortest time.
    if let line = lines.last(where: { $0.call == nil && $0.way == call.way }) {
      send(call, over: line)
      return true
    }
    if lines.count >= calls.limits.connections {
      // Make room: close a connection kept for another server.
      guard let idle = lines.first(where: { $0.call == nil }) else { return false }
      close(idle)
    }
    start(call)
    return true
  }

  private func start(_ call: HTTPCall) {
    let tls: TLSContext?
    do throws(TLSError) {
      tls =
        call.way.isSecure
        ? try loop.tlsContexts.client(call.way.tls, environment: call.way.trust) : nil
    } catch { return call.answer.give(.failure(.unreachable("\(error)"))) }
    let line = Line(
      call.way,
      HTTPConnection(
        loop: loop, routing: call.way.routing, tls: tls, timeout: call.timeout, bodyLimit: 1 << 20
      ) { [loop, way = call.way] () throws(TLSError) in
        try loop.tlsContexts.client(way.tls, environment: way.trust)
      })
    lines.append(line)
    send(call, over: line)
  }

  private func send(_ call: HTTPCall, over line: Line) {
    if let timer = line.idleTimer { loop.remove(timer) }
    line.idleTimer = nil
    line.call = call
    do throws(HTTPError) {
      let left = loop.now.duration(to: call.deadline)
      try line.connection.send(call.request, timeout: left) { [unowned self, unowned line] in
        answered(call, over: line, $0, at: $1)
      }
    } catch {
      close(line)
      call.answer.give(.failure(.http(error)))
    }
  }

  private func answered(
    _ call: HTTPCall, over line: Line, _ result: HTTPExchange.Outcome, at now: Instant
  ) {
    line.call = nil
    if line.connection.isKept { keep(line, at: now) } else { close(line) }
    call.answer.give(
      result.mapError { failure in
        switch failure {
        case .timeout: .late(call.timeout)
        case .transport, .http: .unreachable("\(failure)")
        }
      })
    fill()
  }

  private func keep(_ line: Line, at now: Instant) {
    lines.removeAll { $0 === line }
    lines.append(line)
    let timer = LoopTimer(deadline: now.advanced(by: calls.limits.idleTime)) {
      [unowned self, unowned line] in close(line)
    }
    line.idleTimer = timer
    loop.add(timer)
  }

  /// Closes the connection; its call, if any, ends with ``HTTPCall/Failure/cancelled``.
  private func close(_ line: Line) {
    if let timer = line.idleTimer { loop.remove(timer) }
    line.idleTimer = nil
    line.connection.close()
    lines.removeAll { $0 === line }
    line.call?.answer.give(.failure(.cancelled))
    line.call = nil
  }
}
