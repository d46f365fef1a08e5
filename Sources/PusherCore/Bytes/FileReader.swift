internal import PusherPlatform

/// Reads a regular file from its beginning, piece by piece.
///
/// Refuses pipes, devices and folders, so that no read waits for a writer and each file has an end.
/// A read may still wait for a slow disk, so the event loop leaves it to another thread.
package final class FileReader {
  private let descriptor: Int32

  package enum Fault: Error, Equatable, CustomStringConvertible {
    case system(SystemError)
    case notRegular
    case tooLarge

    package var description: String {
      switch self {
      case .system(let error): error.description
      case .notRegular: "it is not a regular file"
      case .tooLarge: "it is too large"
      }
    }
  }

  package init(_ path: String) throws(Fault) {
    // Without O_NONBLOCK, opening a pipe waits for its writer.
    let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard opened >= 0 else { throw .system(.last) }
    if let fault = Self.fault(of: opened) {
      close(opened)
      throw fault
    }
    descriptor = opened
  }

  private static func fault(of descriptor: Int32) -> Fault? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .system(.last) }
    return status.st_mode & S_IFMT == S_IFREG ? nil : .notRegular
  }

  deinit { _ = close(descriptor) }

  /// Appends at most `limit` bytes to `buffer`; returns false at the end or after an error.
  package func read(into buffer: ByteBuffer, atMost limit: Int) -> Bool {
    (try? readSome(into: buffer, atMost: limit)) ?? 0 > 0
  }

  /// Returns the rest of the file, at most `limit` bytes.
  func contents(atMost limit: Int) throws(Fault) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 16_384)
    do throws(SystemError) {
      while try readSome(into: buffer, atMost: 16_384) > 0, buffer.count <= limit {}
    } catch { throw .system(error) }
    guard buffer.count <= limit else { throw .tooLarge }
    return buffer.array
  }

  private func readSome(into buffer: ByteBuffer, atMost limit: Int) throws(SystemError) -> Int {
    try unsafe buffer.write(minimum: limit) {
      (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
      while true {
        let count = unsafe readDescriptor(descriptor, free.baseAddress, limit)
        if count >= 0 { return count }
        if errno != EINTR { throw .last }
      }
    }
  }
}

/// `read`, which the class has a method of the same name for.
private func readDescriptor(
  _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int { unsafe read(descriptor, bytes, count) }

/// A system call's `errno`; an open set.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  static var last: SystemError { SystemError(code: errno) }

  /// The system's words.
  var words: String { unsafe String(cString: strerror(code)) }

  /// The system's words with a small first letter, for use inside a sentence.
  package var description: String {
    let words = words
    let rest = String(words.dropFirst())
    guard let first = words.first, rest.first?.isUppercase == false else { return words }
    return first.lowercased() + rest
  }

  /// True for a temporary shortage of descriptors, processes or memory.
  package var isShortage: Bool { [EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }

  package static let brokenPipe = SystemError(code: EPIPE)
  package static let connectionRefused = SystemError(code: ECONNREFUSED)
  package static let badDescriptor = SystemError(code: EBADF)
  package static let addressInUse = SystemError(code: EADDRINUSE)
  package static let invalid = SystemError(code: EINVAL)
}
