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

    package var description: String {
      switch self {
      case .system(let error): error.description
      case .notRegular: "it is not a regular file"
      }
    }
  }

  package init(_ path: String) throws(Fault) {
    // Without O_NONBLOCK, opening a pipe waits for its writer.
    let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard opened >= 0 else { throw .system(.last) }
    if let fault = Self.fault(of: opened) {
      Syscalls.closeDescriptor(opened)
      throw fault
    }
    descriptor = opened
  }

  private static func fault(of descriptor: Int32) -> Fault? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .system(.last) }
    return status.st_mode & S_IFMT == S_IFREG ? nil : .notRegular
  }

  deinit { Syscalls.closeDescriptor(descriptor) }

  /// Appends at most `limit` bytes to `buffer`; returns false at the end or after an error.
  package func read(into buffer: ByteBuffer, atMost limit: Int) -> Bool {
    let count = try? unsafe buffer.write(minimum: limit) {
      (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: free[..<limit])
      return try unsafe Syscalls.readBytes(descriptor, target) ?? 0
    }
    return (count ?? 0) > 0
  }
}
