#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A file that is read from its beginning, piece by piece.
///
/// A file of this machine is there at once, so that reading waits for nothing; it is not for pipes and terminals.
package final class FileReader {
  private let descriptor: Int32

  /// - Throws: ``SystemError`` when the file cannot be opened.
  package init(_ path: String) throws(SystemError) {
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last }
  }

  deinit {
    Syscalls.closeDescriptor(descriptor)
  }

  /// Appends at most `limit` bytes to `buffer`; false at the end of the file, and where it cannot be read on.
  package func read(into buffer: ByteBuffer, atMost limit: Int) -> Bool {
    let count = try? unsafe buffer.write(minimum: limit) {
      (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: free[..<limit])
      return try unsafe Syscalls.readBytes(descriptor, target) ?? 0
    }
    return (count ?? 0) > 0
  }
}
