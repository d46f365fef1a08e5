internal import CSystemEpoll
internal import PusherPlatform

/// Thin functions for system calls on descriptors; each comment names the C original.
///
/// Interrupted calls are repeated, except `poll`. "Would block" gives `nil`, not an error.
package enum SystemCalls {
  /// `read`: 0 is the end of the stream.
  static func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemError) -> Int?
  { try transfer { unsafe read(descriptor, buffer.baseAddress, buffer.count) } }

  static func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError)
    -> Int?
  { try transfer { unsafe write(descriptor, bytes.baseAddress, bytes.count) } }

  /// `recv`: 0 is the end of the stream.
  static func receiveBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemError) -> Int?
  { try transfer { unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0) } }

  /// `send`, without SIGPIPE on a closed connection.
  static func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError)
    -> Int?
  {
    #if !canImport(Darwin)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    return try transfer { unsafe send(descriptor, bytes.baseAddress, bytes.count, flags) }
  }

  /// `close`; never repeated: after EINTR another thread may already use the number.
  package static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

  /// `poll`; an interruption throws `EINTR`.
  static func pollDescriptors(
    _ entries: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32
  ) throws(SystemError) -> Int {
    let count = unsafe poll(entries.baseAddress, nfds_t(entries.count), milliseconds)
    guard count >= 0 else { throw .last }
    return Int(count)
  }

  package static var processorCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

  /// `poll` of nothing: sleeps, unless a signal comes.
  package static func pause(milliseconds: UInt32) {
    _ = poll(nil, 0, Int32(clamping: milliseconds))
  }

  // Held while a descriptor is made and marked, and while a program starts. A child that inherited
  // another thread's descriptor in between would keep its pipe or connection open.
  static let inheritance = Locked(0)

  /// `pipe`, with both ends close-on-exec; the caller makes its own end non-blocking.
  static func makePipe() throws(SystemError) -> (readEnd: Int32, writeEnd: Int32) {
    let ends = inheritance.withLock { _ -> (Int32, Int32)? in
      var ends: [Int32] = [-1, -1]
      guard unsafe pipe(&ends) == 0 else { return nil }
      for end in ends { closeOnExec(end) }
      return (ends[0], ends[1])
    }
    guard let ends else { throw .last }
    return ends
  }

  package static func closeOnExec(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// `fcntl(F_SETFL, O_NONBLOCK)`; only for unshared descriptors and listening sockets.
  static func makeNonBlocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  private static func transfer(_ call: () -> Int) throws(SystemError) -> Int? {
    while true {
      let count = call()
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: return nil
      default: throw .last
      }
    }
  }
}

extension SystemCalls {
  #if canImport(Glibc)
    // An enumeration in Glibc, a number elsewhere.
    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let tcp = Int32(IPPROTO_TCP)
  #else
    private static let stream = SOCK_STREAM
    private static let tcp = IPPROTO_TCP
  #endif

  private static let backlog: Int32 = 511

  /// `socket`: TCP, non-blocking, close-on-exec.
  static func makeSocket(_ family: SocketAddress.Family) throws(SystemError) -> Int32 {
    let descriptor = inheritance.withLock { _ in
      let descriptor = socket(family == .ipv4 ? AF_INET : AF_INET6, stream, 0)
      if descriptor >= 0 { closeOnExec(descriptor) }
      return descriptor
    }
    guard descriptor >= 0 else { throw .last }
    prepare(descriptor)
    return descriptor
  }

  /// `connect`; returns false if it continues in the background (EINPROGRESS).
  static func startConnecting(_ descriptor: Int32, to address: SocketAddress) throws(SystemError)
    -> Bool
  {
    let result = unsafe withSystemAddress(address) { unsafe connect(descriptor, $0, $1) }
    if result == 0 { return true }
    // After EINTR the connection also continues in the background.
    guard errno == EINPROGRESS || errno == EINTR else { throw .last }
    return false
  }

  /// `getsockopt(SO_ERROR)`: the result of a connection attempt; `nil` for success.
  static func pendingError(_ descriptor: Int32) -> SystemError? {
    guard let code = option(descriptor, SO_ERROR) else { return .last }
    return code == 0 ? nil : SystemError(code: code)
  }

  static func tuneConnection(_ descriptor: Int32) {
    setOption(descriptor, level: tcp, TCP_NODELAY)
    setOption(descriptor, level: SOL_SOCKET, SO_KEEPALIVE)
  }

  /// `socket`, `setsockopt(SO_REUSEADDR, SO_REUSEPORT)`, `bind` and `listen`.
  static func startListening(at address: SocketAddress, reusesPort: Bool) throws(SystemError)
    -> Int32
  {
    let descriptor = try makeSocket(address.family)
    setOption(descriptor, level: SOL_SOCKET, SO_REUSEADDR)
    if reusesPort { setOption(descriptor, level: SOL_SOCKET, SO_REUSEPORT) }
    let result = unsafe withSystemAddress(address) { unsafe bind(descriptor, $0, $1) }
    guard result == 0, listen(descriptor, backlog) == 0 else {
      let error = SystemError.last
      closeDescriptor(descriptor)
      throw error
    }
    return descriptor
  }

  static func checkListening(_ descriptor: Int32) throws(HandedSocket.Fault) {
    guard let type = option(descriptor, SO_TYPE) else {
      throw SystemError.last == .badDescriptor ? .notOpen : .notASocket
    }
    guard type == stream else { throw .notAStream }
    guard option(descriptor, SO_ACCEPTCONN) ?? 0 != 0 else { throw .notListening }
  }

  private static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 else { return nil }
    return value
  }

  /// `accept`: non-blocking, close-on-exec; `nil` without a waiting connection.
  static func acceptConnection(_ descriptor: Int32) throws(SystemError)
    -> (descriptor: Int32, peer: SocketAddress?)?
  {
    while true {
      var accepted: Int32 = -1
      let peer = unsafe readSystemAddress { address, length in
        inheritance.withLock { _ in
          accepted = unsafe accept(descriptor, address, length)
          if accepted >= 0 { closeOnExec(accepted) }
        }
        return accepted >= 0
      }
      if accepted >= 0 {
        prepare(accepted)
        return (accepted, peer)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EAGAIN, EWOULDBLOCK: return nil
      default: throw .last
      }
    }
  }

  static func localAddress(_ descriptor: Int32) -> SocketAddress? {
    unsafe readSystemAddress { unsafe getsockname(descriptor, $0, $1) == 0 }
  }

  private static func prepare(_ descriptor: Int32) {
    makeNonBlocking(descriptor)
    #if canImport(Darwin)
      setOption(descriptor, level: SOL_SOCKET, SO_NOSIGPIPE)
    #endif
  }

  private static func setOption(_ descriptor: Int32, level: Int32, _ option: Int32) {
    var on: Int32 = 1
    _ = unsafe setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }
}

extension SystemCalls {
  /// Returns the address in a `sockaddr`; `nil` for families other than IPv4 and IPv6.
  static func address(_ pointer: UnsafePointer<sockaddr>, length: Int) -> SocketAddress? {
    let raw = unsafe UnsafeRawPointer(pointer)
    switch Int32(unsafe pointer.pointee.sa_family) {
    case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
      let value = unsafe raw.loadUnaligned(as: sockaddr_in.self)
      return SocketAddress(
        family: .ipv4, octets: octets(of: value.sin_addr), port: UInt16(bigEndian: value.sin_port))
    case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
      let value = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
      return SocketAddress(
        family: .ipv6, octets: octets(of: value.sin6_addr),
        port: UInt16(bigEndian: value.sin6_port), scope: value.sin6_scope_id)
    default: return nil
    }
  }

  private static func octets<Address>(of address: Address) -> [UInt8] {
    unsafe withUnsafeBytes(of: address) { unsafe [UInt8]($0) }
  }

  private static func withSystemAddress(
    _ address: SocketAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    func call<Value>(_ value: inout Value) -> Int32 {
      let length = socklen_t(MemoryLayout<Value>.size)
      return unsafe withUnsafePointer(to: &value) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
      }
    }
    switch address.family {
    case .ipv4:
      var value = sockaddr_in()
      value.sin_family = sa_family_t(AF_INET)
      value.sin_port = address.port.bigEndian
      unsafe withUnsafeMutableBytes(of: &value.sin_addr) {
        unsafe $0.copyBytes(from: address.octets)
      }
      return call(&value)
    case .ipv6:
      var value = sockaddr_in6()
      value.sin6_family = sa_family_t(AF_INET6)
      value.sin6_port = address.port.bigEndian
      value.sin6_scope_id = address.scope
      unsafe withUnsafeMutableBytes(of: &value.sin6_addr) {
        unsafe $0.copyBytes(from: address.octets)
      }
      return call(&value)
    }
  }

  private static func readSystemAddress(
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe call(address, &length) ? unsafe Self.address(address, length: Int(length)) : nil
      }
    }
  }
}

package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  package enum Family: Sendable, Hashable {
    case ipv4
    case ipv6

    /// Both families, in order of preference (RFC 8305 section 4).
    package static let both: [Family] = [.ipv6, .ipv4]
  }

  package let family: Family
  /// 4 or 16 bytes in network order.
  package let octets: [UInt8]
  package let port: UInt16
  /// Interface of a link-local IPv6 address; 0 for none.
  package let scope: UInt32

  /// Stops the program if `octets` does not fit the family.
  package init(family: Family, octets: [UInt8], port: UInt16, scope: UInt32 = 0) {
    precondition(octets.count == (family == .ipv4 ? 4 : 16), "wrong number of octets")
    (self.family, self.octets, self.port, self.scope) = (family, octets, port, scope)
  }

  /// This machine's own addresses, `[::1]` first.
  static func loopback(port: UInt16) -> [SocketAddress] {
    [
      SocketAddress(family: .ipv6, octets: [UInt8](repeating: 0, count: 15) + [1], port: port),
      SocketAddress(family: .ipv4, octets: [127, 0, 0, 1], port: port),
    ]
  }

  /// `127.0.0.1:80` or `[::1]:80`.
  package var description: String { family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

  /// Address without the port: `127.0.0.1` or `::1` (RFC 5952).
  package var host: String {
    switch family {
    case .ipv4: octets.map { String($0) }.joined(separator: ".")
    case .ipv6: compressed + (scope == 0 ? "" : "%\(scope)")
    }
  }

  /// The eight groups without the longest run of two or more zero groups.
  private var compressed: String {
    let groups = (0..<8).map { UInt16(octets[2 * $0]) << 8 | UInt16(octets[2 * $0 + 1]) }
    var longest = 0..<0
    var start = 0
    while start < 8 {
      let end = groups[start...].firstIndex { $0 != 0 } ?? 8
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = max(end, start) + 1
    }
    func text(_ range: Range<Int>) -> String {
      groups[range].map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard !longest.isEmpty else { return text(0..<8) }
    return text(0..<longest.lowerBound) + "::" + text(longest.upperBound..<8)
  }
}

package enum TransportError: Error, Equatable, CustomStringConvertible {
  case resolve(host: String, reason: String)
  /// No connection to `address`, the last one tried.
  case connect(address: String, reason: String)
  /// The proxy, named without its password, did not connect to the server.
  case proxy(String, ProxyError)
  case timeout(Stage)
  /// TLS failed; the error says whose fault it is.
  case tls(TLSError)
  case reset(reason: String)
  case listen(address: String, reason: String)
  case system(operation: String, reason: String)

  package enum Stage: String, Sendable {
    case resolving = "the name lookup"
    case connecting = "the connection attempt"
    case handshaking = "the TLS handshake"
  }

  package var description: String {
    switch self {
    case .resolve(let host, let reason): "cannot resolve \(host): \(reason)"
    case .connect(let address, let reason): "cannot connect to \(address): \(reason)"
    case .proxy(let proxy, let error): "proxy \(proxy) \(error)"
    case .timeout(let stage): "timed out during \(stage.rawValue)"
    case .tls(let error): error.description
    case .reset(let reason): "connection lost: \(reason)"
    case .listen(let address, let reason): "cannot listen on \(address): \(reason)"
    case .system(let operation, let reason): "cannot \(operation): \(reason)"
    }
  }
}

extension SystemCalls {
  /// Current limit of open descriptors, which is also the maximum for `poll`; 1 if the system does
  /// not report it.
  static var descriptorLimit: Int { readLimit().map { Int(clamping: $0.rlim_cur) } ?? 1 }

  /// Raises the limit to `wanted` or the system's maximum, never lowers it; returns the new limit.
  package static func raiseDescriptorLimit(to wanted: Int) -> Int {
    guard var limit = readLimit() else { return 0 }
    let most = min(rlim_t(clamping: wanted), limit.rlim_max)
    guard limit.rlim_cur < most else { return Int(clamping: limit.rlim_cur) }
    let former = limit.rlim_cur
    limit.rlim_cur = most
    return Int(clamping: unsafe setrlimit(descriptors, &limit) == 0 ? most : former)
  }

  private static func readLimit() -> rlimit? {
    var limit = rlimit()
    return unsafe getrlimit(descriptors, &limit) == 0 ? limit : nil
  }

  #if canImport(Glibc)
    private static var descriptors: __rlimit_resource_t {
      __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }
  #else
    private static var descriptors: Int32 { Int32(RLIMIT_NOFILE) }
  #endif

  // MARK: Output of the program

  /// `write`, not repeated; some writers have methods of this name.
  package static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes, count)
    #elseif canImport(Musl)
      unsafe Musl.write(descriptor, bytes, count)
    #else
      unsafe Darwin.write(descriptor, bytes, count)
    #endif
  }

  /// Writes all bytes, and waits for a slow reader if asked; returns the error, also in `errno`.
  package static func writeWhole(
    _ bytes: [UInt8], to descriptor: Int32, waits: Bool = false
  ) -> SystemError? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN, waits {
        _ = hasRoom(descriptor, milliseconds: -1)
      } else if errno != EINTR {
        return .last
      }
    }
    return nil
  }

  /// Waits for room to write, without limit for -1; returns true if there is room.
  package static func hasRoom(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var count: Int32
    repeat {
      count = unsafe poll(&waiting, 1, milliseconds)
    } while count < 0 && errno == EINTR
    return count == 1 && waiting.revents & Int16(POLLOUT) != 0
  }

  /// Opens the file of a descriptor again; returns -1, with `errno`, if the system refuses.
  package static func reopen(_ descriptor: Int32, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      var path = [CChar](repeating: 0, count: Int(PATH_MAX))
      guard unsafe fcntl(descriptor, F_GETPATH, &path) == 0 else { return -1 }
      return unsafe open(path, flags | O_CLOEXEC)
    #else
      return ProcessMemory.whileShown {
        unsafe open("/proc/self/fd/\(descriptor)", flags | O_CLOEXEC)
      }
    #endif
  }
}

/// The system's clocks; the only source of time.
package enum SystemClock {
  #if !canImport(Darwin)
    private static let forward = CLOCK_BOOTTIME
  #else
    private static let forward = CLOCK_MONOTONIC
  #endif

  /// Monotonic clock, which counts sleep of the machine, so that deadlines pass during sleep.
  package static func now() -> Instant {
    var time = timespec()
    unsafe clock_gettime(forward, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  /// Calendar clock, which may jump.
  package static func wall() -> WallTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(
      millisecondsSince1970: Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000)
  }
}

extension WallTime {
  /// Local time, such as `2026-11-21T12:04:05.123+01:00` (RFC 3339).
  package var localText: String {
    let offset = pusher_local_offset(secondsSince1970)
    guard offset > .min else { return rfc3339 }
    let shifted = advanced(by: .seconds(offset)).rfc3339.dropLast()
    let minutes = offset.magnitude / 60
    func digits(_ number: UInt64) -> Substring { String(number + 100).dropFirst() }
    return "\(shifted)\(offset < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
  }
}
