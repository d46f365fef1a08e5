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

/// Raw inflate (RFC 1951) of messages in the form of RFC 7692 section 7.2.2, up to a limit.
///
/// Serves one direction of one connection; keeps the window between messages until ``reset()``. A
/// message may come in pieces of any size. Safe: only this object holds the pointer.
@safe package final class Inflater {
  /// After a failure, the inflater cannot be used again.
  package enum Failure: Error, Equatable {
    /// The bytes are not DEFLATE data, refer back past the window, or end inside a block.
    case invalidData
    case outputLimit(Int)
  }

  private let stream: UnsafeMutablePointer<z_stream>
  /// End of a flushed block, which senders leave out.
  private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
  private static let step = 16_384

  /// Makes an inflater with a window of `1 << windowBits` bytes, 8 to 15.
  package init(windowBits: Int) {
    precondition((8...15).contains(windowBits), "invalid window size")
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let result = unsafe pusher_inflateInit2(stream, Int32(-windowBits))
    precondition(result == Z_OK, "zlib is out of memory")
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Appends the decompressed `input`; `output` never holds more than `limit` bytes afterwards.
  package func inflate(_ input: ByteView, into output: ByteBuffer, limit: Int) throws(Failure) {
    var offset = 0
    while offset < input.count {
      let count = min(input.count - offset, Int(UInt32.max))
      _ = try unsafe run(input.base + offset, count, into: output, limit: limit)
      offset += count
    }
  }

  /// Appends the decompressed whole message; changes the bytes after the view during the call.
  package func inflateMessage(
    _ input: ByteView, into output: ByteBuffer, limit: Int
  ) throws(Failure) {
    let whole = input.count + Self.tail.count
    guard whole <= Int(UInt32.max) else {
      try inflate(input, into: output, limit: limit)
      return try finishMessage(into: output, limit: limit)
    }
    // One call is cheaper than two, so the left-out bytes temporarily replace the padding.
    let end = unsafe UnsafeMutableRawPointer(input.base + input.count)
    let padding = unsafe end.loadUnaligned(as: UInt32.self)
    unsafe end.storeBytes(of: UInt32(littleEndian: 0xFFFF_0000), as: UInt32.self)
    defer { unsafe end.storeBytes(of: padding, as: UInt32.self) }
    guard try unsafe run(input.base, whole, into: output, limit: limit) else { throw .invalidData }
  }

  /// Ends a message: adds the bytes that the sender left out, and checks that they end a block.
  package func finishMessage(into output: ByteBuffer, limit: Int) throws(Failure) {
    var tail = Self.tail
    let result: Result<Bool, Failure> = unsafe tail.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return .failure(.invalidData) }
      do throws(Failure) {
        return .success(try unsafe run(base, bytes.count, into: output, limit: limit))
      } catch { return .failure(error) }
    }
    guard try result.get() else { throw .invalidData }
  }

  /// Clears the window, for a peer without context takeover.
  package func reset() { unsafe inflateReset(stream) }

  /// Returns whether the input ended between two blocks.
  private func run(
    _ input: UnsafeMutablePointer<UInt8>, _ count: Int, into output: ByteBuffer, limit: Int
  ) throws(Failure) -> Bool {
    unsafe stream.pointee.next_in = input
    unsafe stream.pointee.avail_in = UInt32(count)
    while true {
      // One byte beyond the limit: only a byte written there proves that the output is too long.
      let allowed = limit - output.count + 1
      output.reserve(min(allowed, max(Self.step, output.writable)))
      let space = UInt32(clamping: min(allowed, output.writable))
      unsafe stream.pointee.next_out = output.tail
      unsafe stream.pointee.avail_out = space
      let result = unsafe CSystemZlib.inflate(stream, Z_SYNC_FLUSH)
      let left = unsafe stream.pointee.avail_out
      output.commit(Int(space - left))
      guard output.count <= limit else {
        output.truncate(to: limit)
        throw .outputLimit(limit)
      }
      switch result {
      case Z_OK, Z_BUF_ERROR:
        // Bits 0 to 4 count unused bits of the last byte; bit 7: a block header comes next.
        let isBetweenBlocks = unsafe stream.pointee.data_type & 0x9F == 0x80
        // zlib has no more output here, and another call without input would clear its position.
        if unsafe left > 0 || isBetweenBlocks && stream.pointee.avail_in == 0 {
          return isBetweenBlocks
        }
      case Z_STREAM_END:
        // A block marked as the last one ends zlib's stream, but not the message.
        unsafe inflateResetKeep(stream)
        if unsafe stream.pointee.avail_in == 0 { return true }
      default: throw .invalidData
      }
    }
  }
}
