internal import PusherPlatform

/// Resolves a name and makes the attempts of a ``Dialer`` until one succeeds or all have failed.
final class Connector: LoopSource {
  typealias Outcome = Result<(descriptor: Int32, peer: SocketAddress), TransportError>

  private let loop: EventLoop
  private let host: String
  private let port: UInt16
  private let families: [SocketAddress.Family]
  private var dialer: Dialer
  /// Error of the first lookup; the second one asks for all addresses.
  private var unfound: TransportError?
  private var questions: [Resolver.Ticket] = []
  private var attempts: [Attempt] = []
  private var completion: ((Outcome, Instant) -> Void)?

  /// Starts at once; the loop calls `completion` later, once, never after ``cancel()``.
  init(
    loop: EventLoop, host: String, port: UInt16, families: [SocketAddress.Family],
    at now: Instant, completion: @escaping (Outcome, Instant) -> Void
  ) {
    (self.loop, self.host, self.port, self.families) = (loop, host, port, families)
    self.dialer = Dialer(host: host, families: families)
    self.completion = completion
    loop.add(self)
    resolve(at: now)
  }

  var stage: TransportError.Stage { dialer.hasAttempted ? .connecting : .resolving }

  var interest: LoopInterest {
    // The loop also reports a failure that came without any attempt.
    LoopInterest(deadline: dialer.failure == nil ? dialer.deadline : LoopInterest.immediately)
  }

  func expired(at now: Instant) {
    while completion != nil, let address = dialer.nextAttempt(at: now) { start(address, at: now) }
    finishIfFailed(at: now)
  }

  func cancel() {
    completion = nil
    loop.remove(self)
    for question in questions { loop.resolver.cancel(question) }
    questions.removeAll()
    for attempt in attempts { attempt.close() }
    attempts.removeAll()
  }

  private func resolve(at now: Instant) {
    if let address = Resolver.literal(host, port: port) {
      for family in dialer.openQuestions {
        dialer.resolved(family, family == address.family ? [address] : [], at: now)
      }
      return
    }
    for family in dialer.openQuestions {
      let ticket = loop.resolver.resolve(
        host, port: port, family: family, isForAll: unfound != nil
      ) { [unowned self] in answered(family, $0, at: loop.now) }
      questions.append(ticket)
    }
  }

  private func answered(_ family: SocketAddress.Family, _ answer: Resolver.Answer, at now: Instant)
  {
    switch answer {
    case .success(let addresses): dialer.resolved(family, addresses, at: now)
    case .failure(.resolve(_, let reason)): dialer.resolutionFailed(family, reason: reason, at: now)
    case .failure(let error): dialer.resolutionFailed(family, reason: error.description, at: now)
    }
    guard unfound == nil, !dialer.hasAttempted, let failure = dialer.failure else { return }
    unfound = failure
    dialer = Dialer(host: host, families: families)
    resolve(at: now)
  }

  private func start(_ address: SocketAddress, at now: Instant) {
    do throws(SystemError) {
      let descriptor = try SystemCalls.makeSocket(address.family)
      let attempt = Attempt(owner: self, loop: loop, descriptor: descriptor, address: address)
      attempts.append(attempt)
      if try SystemCalls.startConnecting(descriptor, to: address) {
        attemptEnded(attempt, error: nil, at: now)
      } else {
        loop.add(attempt)
      }
    } catch {
      if let attempt = attempts.last, attempt.address == address {
        attemptEnded(attempt, error: error, at: now)
      } else {
        dialer.attemptFailed(address, reason: error.description)
      }
    }
  }

  fileprivate func attemptEnded(_ attempt: Attempt, error: SystemError?, at now: Instant) {
    attempts.removeAll { $0 === attempt }
    if let error {
      attempt.close()
      dialer.attemptFailed(attempt.address, reason: error.description)
      finishIfFailed(at: now)
      return
    }
    let descriptor = attempt.release()
    SystemCalls.tuneConnection(descriptor)
    finish(.success((descriptor, attempt.address)), at: now)
  }

  private func finishIfFailed(at now: Instant) {
    guard let failure = dialer.failure else { return }
    // The second lookup's error says less: without a network, the name servers are out of reach.
    finish(.failure(dialer.hasAttempted ? failure : unfound ?? failure), at: now)
  }

  private func finish(_ outcome: Outcome, at now: Instant) {
    let completion = completion
    cancel()
    completion?(outcome, now)
  }
}

private final class Attempt: LoopSource {
  let address: SocketAddress
  private unowned let owner: Connector
  private let loop: EventLoop
  private var descriptor: Int32

  init(owner: Connector, loop: EventLoop, descriptor: Int32, address: SocketAddress) {
    (self.owner, self.loop) = (owner, loop)
    (self.descriptor, self.address) = (descriptor, address)
  }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    owner.attemptEnded(self, error: SystemCalls.pendingError(descriptor), at: now)
  }

  func release() -> Int32 {
    loop.remove(self)
    defer { descriptor = -1 }
    return descriptor
  }

  func close() {
    let descriptor = release()
    if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) }
  }
}

/// Decides the order and times of connection attempts: Happy Eyeballs version 2 (RFC 8305).
///
/// Both families are looked up at once. IPv6 goes first if its addresses come within
/// ``resolutionDelay`` of the others (section 3). The families then alternate (section 4). The next
/// attempt starts when one has failed or has taken ``attemptDelay`` (section 5). The owner looks
/// up, connects, and reports the results.
package struct Dialer {
  /// Wait of the second family for the first (RFC 8305 section 8).
  package static let resolutionDelay = Duration.milliseconds(50)
  /// Time before the next attempt starts beside this one (RFC 8305 section 8).
  package static let attemptDelay = Duration.milliseconds(250)
  private let host: String
  private let preference: [SocketAddress.Family]
  private var open: [SocketAddress.Family]
  private var waiting: [SocketAddress] = []
  private var lastFamily: SocketAddress.Family?
  private var running = 0
  private var nextStart = LoopInterest.immediately
  private var lastFailure: (address: SocketAddress, reason: String)?
  private var unresolved: String?

  package init(host: String, families: [SocketAddress.Family]) {
    (self.host, preference, open) = (host, families, families)
  }

  package var openQuestions: [SocketAddress.Family] { open }

  package private(set) var hasAttempted = false

  /// Takes a family's addresses, which may be none.
  package mutating func resolved(
    _ family: SocketAddress.Family, _ addresses: [SocketAddress], at now: Instant
  ) {
    guard let index = open.firstIndex(of: family) else { return }
    open.remove(at: index)
    waiting += addresses
    guard !hasAttempted else { return }
    let isPreferred = family == preference.first
    if isPreferred || open.isEmpty {
      nextStart = LoopInterest.immediately
    } else if !addresses.isEmpty {
      nextStart = now.advanced(by: Self.resolutionDelay)
    }
  }

  package mutating func resolutionFailed(
    _ family: SocketAddress.Family, reason: String, at now: Instant
  ) {
    // IPv6 may fail for lack of an IPv6 network, so its error says less about the name.
    if unresolved == nil || family == preference.last { unresolved = reason }
    resolved(family, [], at: now)
  }

  /// Returns the address to try now; call it until it returns `nil`.
  package mutating func nextAttempt(at now: Instant) -> SocketAddress? {
    guard !waiting.isEmpty, nextStart <= now else { return nil }
    let turn = lastFamily.map { last in preference.first { $0 != last } ?? last } ?? preference[0]
    let address = waiting.remove(at: waiting.firstIndex { $0.family == turn } ?? 0)
    lastFamily = address.family
    hasAttempted = true
    running += 1
    nextStart = now.advanced(by: Self.attemptDelay)
    return address
  }

  /// Records a failed attempt; the next one may start at once.
  package mutating func attemptFailed(_ address: SocketAddress, reason: String) {
    running -= 1
    nextStart = LoopInterest.immediately
    lastFailure = (address, reason)
  }

  /// Time to ask for the next attempt; `nil` without waiting addresses.
  package var deadline: Instant? { waiting.isEmpty ? nil : nextStart }

  package var failure: TransportError? {
    guard running == 0 && waiting.isEmpty && open.isEmpty else { return nil }
    if let lastFailure {
      return .connect(address: lastFailure.address.description, reason: lastFailure.reason)
    }
    return .resolve(host: host, reason: unresolved ?? missing)
  }

  private var missing: String {
    switch preference {
    case [.ipv4]: "it has no IPv4 address"
    case [.ipv6]: "it has no IPv6 address"
    default: "it has no address"
    }
  }
}

/// Resolves names with `getaddrinfo`, which knows the system's rules but may hang for a minute.
///
/// Each query has its own thread, so that a hanging one does not delay others.
package final class Resolver {
  package typealias Answer = Result<[SocketAddress], TransportError>

  /// Number of an open question.
  package typealias Ticket = UInt64

  private let wakeUp: WakeUp
  private var open: [Ticket: (Answer) -> Void] = [:]
  private var lastTicket: Ticket = 0

  init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

  /// Parses `host` as an address; `nil` for a name.
  package static func literal(_ host: String, port: UInt16) -> SocketAddress? {
    guard case .success(let addresses) = ask(host, port: port, flags: AI_NUMERICHOST) else {
      return nil
    }
    return addresses.first
  }

  /// Resolves `host`, for one family or both; the loop calls `completion` once, later.
  ///
  /// Addresses come in the system's order (RFC 6724), none for a name without this family. For both
  /// families, all addresses count if none is reachable. `localhost` and the names below it are
  /// this machine, and no name server is asked (RFC 6761 section 6.3).
  ///
  /// - Parameter isForAll: True for addresses of families too that this machine does not use
  ///   beyond loopback (AI_ADDRCONFIG): without a network, names of its hosts file are found only
  ///   this way.
  package func resolve(
    _ host: String, port: UInt16, family: SocketAddress.Family? = nil, isForAll: Bool = false,
    completion: @escaping (Answer) -> Void
  ) -> Ticket {
    lastTicket += 1
    let ticket = lastTicket
    open[ticket] = completion
    if Self.isLocal(host) {
      let all = SocketAddress.loopback(port: port)
      let addresses = family.map { family in all.filter { $0.family == family } } ?? all
      wakeUp.post { $0.resolver.deliver(.success(addresses), to: ticket) }
      return ticket
    }
    let isStarted = DetachedThread.start(name: "pusher-resolve") { [wakeUp] in
      let answer = Self.answer(host, port, family, isForAll: isForAll)
      wakeUp.post { $0.resolver.deliver(answer, to: ticket) }
    }
    if !isStarted {
      let error = TransportError.resolve(host: host, reason: "cannot start a thread")
      wakeUp.post { $0.resolver.deliver(.failure(error), to: ticket) }
    }
    return ticket
  }

  package func cancel(_ ticket: Ticket) { open[ticket] = nil }

  private static func isLocal(_ host: String) -> Bool {
    let labels = host.lowercased().utf8.split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // A name may end with the dot of the root.
    let names = labels.last?.isEmpty == true ? labels.dropLast() : labels[...]
    return names.last?.elementsEqual("localhost".utf8) == true && !names.contains { $0.isEmpty }
  }

  private func deliver(_ answer: Answer, to ticket: Ticket) {
    open.removeValue(forKey: ticket)?(answer)
  }

  private static func answer(
    _ host: String, _ port: UInt16, _ family: SocketAddress.Family?, isForAll: Bool
  ) -> Answer {
    func isFound(_ answer: Answer) -> Bool { (try? answer.get())?.isEmpty == false }
    let answer = ask(host, port: port, family: family, flags: isForAll ? 0 : AI_ADDRCONFIG)
    guard family == nil, !isForAll, !isFound(answer) else { return answer }
    let all = ask(host, port: port, flags: 0)
    return isFound(all) ? all : answer
  }

  static func ask(
    _ host: String, port: UInt16, family: SocketAddress.Family? = nil, flags: Int32
  ) -> Answer {
    guard !host.isEmpty && !host.utf8.contains(0) else {
      return .failure(.resolve(host: host, reason: "not a host name"))
    }
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = flags
    switch family {
    case .ipv4: unsafe hints.ai_family = AF_INET
    case .ipv6: unsafe hints.ai_family = AF_INET6
    case nil: break
    }
    #if canImport(Glibc)
      unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      unsafe hints.ai_socktype = SOCK_STREAM
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, String(port), &hints, &list)
    if family != nil && lacksFamily(code) { return .success([]) }
    guard code == 0 else {
      let reason =
        code == EAI_SYSTEM
        ? SystemError.last.description : unsafe String(cString: gai_strerror(code))
      return .failure(
        .resolve(host: host, reason: reason.prefix(1).lowercased() + reason.dropFirst()))
    }
    defer { unsafe freeaddrinfo(list) }
    let addresses = unsafe addresses(in: list)
    guard !addresses.isEmpty || family != nil else {
      return .failure(.resolve(host: host, reason: "no IPv4 or IPv6 address"))
    }
    return .success(addresses)
  }

  /// Returns whether the name exists, but without an address of the family.
  private static func lacksFamily(_ code: Int32) -> Bool {
    #if !canImport(Darwin)
      // EAI_NODATA and EAI_ADDRFAMILY, which the headers show to GNU sources only.
      code == -5 || code == -9
    #else
      code == EAI_NODATA || code == EAI_ADDRFAMILY
    #endif
  }

  private static func addresses(in list: UnsafeMutablePointer<addrinfo>?) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let pointer = unsafe entry.pointee.ai_addr,
        let address = unsafe SystemCalls.address(pointer, length: Int(entry.pointee.ai_addrlen)),
        !addresses.contains(address)
      {
        addresses.append(address)
      }
      unsafe next = entry.pointee.ai_next
    }
    return addresses
  }
}
