internal import PusherPlatform

/// The system calls on descriptors, one thin function each; the C original is named in each comment.
///
/// An interrupted call (EINTR) is repeated, except `poll`, whose caller wants to know. On a non-blocking descriptor
/// "would block" is not an error but `nil`.
enum Syscalls {
  /// `read`: 0 is the end of the stream.
  static func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemError) -> Int?
  {
    try transfer { unsafe read(descriptor, buffer.baseAddress, buffer.count) }
  }

  /// `write`.
  static func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError)
    -> Int?
  {
    try transfer { unsafe write(descriptor, bytes.baseAddress, bytes.count) }
  }

  /// `recv`: 0 is the end of the stream.
  static func receiveBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemError) -> Int?
  {
    try transfer { unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0) }
  }

  /// `send`, without the signal that a closed connection would raise.
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

  /// `close`; never repeated, because after EINTR the descriptor is gone and may be somebody else's.
  static func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
  }

  /// `poll`; an interruption is `SystemError.interrupted`.
  static func pollDescriptors(
    _ entries: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32
  ) throws(SystemError) -> Int {
    let count = unsafe poll(entries.baseAddress, nfds_t(entries.count), milliseconds)
    guard count >= 0 else { throw .last }
    return Int(count)
  }

  /// `poll` of one descriptor, without waiting: whether it can be written to, or has failed.
  static func isWritable(_ descriptor: Int32) throws(SystemError) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let count = unsafe poll(&entry, 1, 0)
    guard count >= 0 else { throw .last }
    return count == 1
  }

  /// How many processors there are to run on.
  static var processorCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

  /// `poll` of nothing: lets this time pass, unless a signal comes.
  static func pause(milliseconds: UInt32) {
    _ = poll(nil, 0, Int32(clamping: milliseconds))
  }

  /// Held while a descriptor is made and marked, and while a program is started: a child that inherited the other
  /// thread's descriptor in between would keep a pipe or a connection open that both sides have left.
  static let inheritance = Locked(0)

  /// `pipe`, both ends closed on `exec`; the caller says which end is non-blocking.
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

  /// `fcntl(F_SETFD, FD_CLOEXEC)`.
  static func closeOnExec(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// `fcntl(F_DUPFD_CLOEXEC)`.
  static func copy(of descriptor: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .last }
    return copy
  }

  /// `fcntl(F_SETFL, O_NONBLOCK)`; only for descriptors that nobody shares, and sockets that are listened on.
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
