internal import PusherPlatform

/// Thin functions for system calls on descriptors; each comment names the C original.
///
/// Interrupted calls are repeated, except `poll`. "Would block" gives `nil`, not an error.
enum Syscalls {
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
  static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

  /// `poll`; an interruption throws `SystemError.interrupted`.
  static func pollDescriptors(
    _ entries: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32
  ) throws(SystemError) -> Int {
    let count = unsafe poll(entries.baseAddress, nfds_t(entries.count), milliseconds)
    guard count >= 0 else { throw .last }
    return Int(count)
  }

  /// `poll` of one descriptor without waiting: true if it is writable or has failed.
  static func isWritable(_ descriptor: Int32) throws(SystemError) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let count = unsafe poll(&entry, 1, 0)
    guard count >= 0 else { throw .last }
    return count == 1
  }

  static var processorCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

  /// `poll` of nothing: sleeps, unless a signal comes.
  static func pause(milliseconds: UInt32) { _ = poll(nil, 0, Int32(clamping: milliseconds)) }

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

  static func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

  static func copy(of descriptor: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .last }
    return copy
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
