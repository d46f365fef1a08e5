internal import PusherPlatform

extension Syscalls {
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
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
      return .last
    }
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

  enum SocketKind {
    case stream(isListening: Bool)
    case other
    case noSocket(SystemError)
  }

  static func kind(ofSocket descriptor: Int32) -> SocketKind {
    guard let type = option(descriptor, SO_TYPE) else { return .noSocket(.last) }
    guard type == stream else { return .other }
    return .stream(isListening: option(descriptor, SO_ACCEPTCONN).map { $0 != 0 } ?? false)
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

extension Syscalls {
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
