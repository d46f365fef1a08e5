internal import PusherPlatform

/// Resolves names with `getaddrinfo`, which knows the system's rules but may hang for a minute.
///
/// Each query has its own thread, so that a hanging one does not delay others.
package final class Resolver {
  package typealias Answer = Result<[SocketAddress], TransportError>

  package enum Scope: Sendable {
    /// Addresses of families that this machine uses beyond loopback (AI_ADDRCONFIG).
    case reachable
    /// All addresses: without a network, a machine finds names of its hosts file only this way.
    case all
  }

  package struct Ticket: Hashable, Sendable { fileprivate let number: UInt64 }

  private let wakeUp: WakeUp
  private var open: [Ticket: (Answer) -> Void] = [:]
  private var lastNumber: UInt64 = 0

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
  /// families, all addresses count if none is reachable.
  package func resolve(
    _ host: String, port: UInt16, family: SocketAddress.Family? = nil, scope: Scope = .reachable,
    completion: @escaping (Answer) -> Void
  ) -> Ticket {
    lastNumber += 1
    let ticket = Ticket(number: lastNumber)
    open[ticket] = completion
    let question = Question(
      host: host, port: port, family: family, scope: scope, ticket: ticket, wakeUp: wakeUp)
    if !DetachedThread.start(name: "pusher-resolve", { question.answer() }) {
      let error = TransportError.resolve(host: host, reason: "cannot start a thread")
      wakeUp.post { $0.resolver.deliver(.failure(error), to: ticket) }
    }
    return ticket
  }

  package func cancel(_ ticket: Ticket) { open[ticket] = nil }

  fileprivate func deliver(_ answer: Answer, to ticket: Ticket) {
    open.removeValue(forKey: ticket)?(answer)
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
        let address = unsafe Syscalls.address(pointer, length: Int(entry.pointee.ai_addrlen)),
        !addresses.contains(address)
      {
        addresses.append(address)
      }
      unsafe next = entry.pointee.ai_next
    }
    return addresses
  }
}

private struct Question: Sendable {
  let host: String
  let port: UInt16
  let family: SocketAddress.Family?
  let scope: Resolver.Scope
  let ticket: Resolver.Ticket
  let wakeUp: WakeUp

  func answer() {
    let answer = found()
    wakeUp.post { [ticket] in $0.resolver.deliver(answer, to: ticket) }
  }

  private func found() -> Resolver.Answer {
    let isLocal = scope == .all || host.lowercased() == "localhost"
    let answer = ask(isLocal ? 0 : AI_ADDRCONFIG)
    guard family == nil, !isLocal, !Self.isFound(answer) else { return answer }
    let all = ask(0)
    return Self.isFound(all) ? all : answer
  }

  private func ask(_ flags: Int32) -> Resolver.Answer {
    Resolver.ask(host, port: port, family: family, flags: flags)
  }

  private static func isFound(_ answer: Resolver.Answer) -> Bool {
    (try? answer.get())?.isEmpty == false
  }
}
