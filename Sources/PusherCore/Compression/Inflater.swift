internal import CSystemZlib

/// Raw inflate (RFC 1951) of messages as RFC 7692 section 7.2.2 sends them, with a bound on the output.
///
/// One object serves one direction of one connection. Between messages the window is kept, as context takeover
/// wants, until ``reset()``. A message may be fed in pieces of any size.
///
/// Safe although it holds a pointer: only this object owns the pointer; it is never handed out, and freed in `deinit`.
/// It must be a pointer because zlib remembers the address of its stream.
@safe package final class Inflater {
  /// Why a message cannot be inflated; the inflater cannot be used again.
  package enum Failure: Error, Equatable {
    /// The bytes are not DEFLATE data, reach back past the window, or end inside a block.
    case invalidData
    /// The output would be longer than the given limit.
    case outputLimit(Int)
  }

  private let stream: UnsafeMutablePointer<z_stream>
  /// The end of a flushed block, which the sender of a message leaves out.
  private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
  private static let step = 16_384

  /// An inflater with a window of `1 << windowBits` bytes, 8 to 15.
  package init(windowBits: Int) {
    precondition((8...15).contains(windowBits), "no such window")
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let result = unsafe pusher_inflateInit2(stream, Int32(-windowBits))
    precondition(result == Z_OK, "zlib found no memory")
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Appends what `input` inflates to; `output` never holds more than `limit` bytes when this returns.
  package func inflate(
    _ input: ByteView, into output: ByteBuffer, limit: Int
  ) throws(Failure) {
    var offset = 0
    while offset < input.count {
      let count = min(input.count - offset, Int(UInt32.max))
      _ = try unsafe run(input.base + offset, count, into: output, limit: limit)
      offset += count
    }
  }

  /// Appends what the whole message `input` inflates to, as ``inflate(_:into:limit:)`` and
  /// ``finishMessage(into:limit:)`` do; the bytes after the view are changed for a moment.
  package func inflateMessage(
    _ input: ByteView, into output: ByteBuffer, limit: Int
  ) throws(Failure) {
    let whole = input.count + Self.tail.count
    guard whole <= Int(UInt32.max) else {
      try inflate(input, into: output, limit: limit)
      return try finishMessage(into: output, limit: limit)
    }
    // One call costs less than two, so the left out bytes take the place of the padding after the view.
    let end = unsafe UnsafeMutableRawPointer(input.base + input.count)
    let padding = unsafe end.loadUnaligned(as: UInt32.self)
    unsafe end.storeBytes(of: UInt32(littleEndian: 0xFFFF_0000), as: UInt32.self)
    defer { unsafe end.storeBytes(of: padding, as: UInt32.self) }
    guard try unsafe run(input.base, whole, into: output, limit: limit) else { throw .invalidData }
  }

  /// Ends a message: feeds the bytes that the sender left out, and checks that they close a block.
  package func finishMessage(into output: ByteBuffer, limit: Int) throws(Failure) {
    var tail = Self.tail
    let result: Result<Bool, Failure> = unsafe tail.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return .failure(.invalidData) }
      do throws(Failure) {
        return .success(try unsafe run(base, bytes.count, into: output, limit: limit))
      } catch {
        return .failure(error)
      }
    }
    guard try result.get() else { throw .invalidData }
  }

  /// Forgets the window, as a peer does that takes no context over.
  package func reset() {
    unsafe inflateReset(stream)
  }

  /// Whether the input ended right between two blocks.
  private func run(
    _ input: UnsafeMutablePointer<UInt8>, _ count: Int, into output: ByteBuffer, limit: Int
  ) throws(Failure) -> Bool {
    unsafe stream.pointee.next_in = input
    unsafe stream.pointee.avail_in = UInt32(count)
    while true {
      // One byte more than is allowed: only a byte really written there proves that the limit is passed.
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
        // Bits 0 to 4 count unused bits of the last byte; bit 7 says that the next thing is a block header.
        let isBetweenBlocks = unsafe stream.pointee.data_type & 0x9F == 0x80
        // There zlib has nothing more to give, and asked again without input it would no longer say where it stands.
        if unsafe left > 0 || isBetweenBlocks && stream.pointee.avail_in == 0 {
          return isBetweenBlocks
        }
      case Z_STREAM_END:
        // A block marked as the last one ends zlib's stream, but neither the message nor the window.
        unsafe inflateResetKeep(stream)
        if unsafe stream.pointee.avail_in == 0 { return true }
      default:
        throw .invalidData
      }
    }
  }
}
