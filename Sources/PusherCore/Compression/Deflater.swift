internal import CSystemZlib

/// Raw deflate (RFC 1951) of whole messages in the form of RFC 7692 section 7.2.1.
///
/// Serves one direction of one connection; keeps the window between messages until ``reset()``.
/// Safe: only this object holds the pointer.
@safe package final class Deflater {
  /// Windows for raw deflate in zlib; an endpoint limited to 8 sends uncompressed.
  package static let windowBits = 9...15
  private let stream: UnsafeMutablePointer<z_stream>

  /// Makes a deflater with a window of `1 << windowBits` bytes, 9 to 15.
  package init(windowBits: Int) {
    precondition(Self.windowBits.contains(windowBits), "invalid window size")
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let result = unsafe pusher_deflateInit2(
      stream, Z_DEFAULT_COMPRESSION, Int32(-windowBits), Self.memoryLevel)
    precondition(result == Z_OK, "zlib is out of memory")
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// zlib's default: 128 KiB of tables.
  private static let memoryLevel: Int32 = 8

  /// Appends one compressed message to `output`, which must not hold `message`.
  package func deflate(_ message: UnsafeRawBufferPointer, into output: ByteBuffer) {
    guard let base = unsafe message.bindMemory(to: UInt8.self).baseAddress, message.count > 0 else {
      // zlib writes nothing for a second flush without input; see section 7.2.3.6.
      output.append(0)
      return
    }
    var offset = 0
    while offset < message.count {
      let count = min(message.count - offset, Int(UInt32.max))
      unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: base + offset)
      unsafe stream.pointee.avail_in = UInt32(count)
      offset += count
      flush(into: output)
    }
    output.truncate(to: output.count - 4)
  }

  /// Appends one compressed message to `output`, which must not hold it.
  package func deflate(_ message: ByteView, into output: ByteBuffer) {
    unsafe deflate(message.raw, into: output)
  }

  /// Clears the window, for an endpoint without context takeover.
  package func reset() { unsafe deflateReset(stream) }

  private func flush(into output: ByteBuffer) {
    repeat {
      // The bound is for a finished stream; a flush needs a few bytes more.
      output.reserve(unsafe Int(deflateBound(stream, UInt(stream.pointee.avail_in))) + 64)
      let space = UInt32(clamping: output.writable)
      unsafe stream.pointee.next_out = output.tail
      unsafe stream.pointee.avail_out = space
      let result = unsafe CSystemZlib.deflate(stream, Z_SYNC_FLUSH)
      precondition(result == Z_OK || result == Z_BUF_ERROR, "the state of zlib is invalid")
      output.commit(unsafe Int(space - stream.pointee.avail_out))
    } while unsafe stream.pointee.avail_out == 0
  }
}
