internal import CSystemZlib

/// Decodes gzip and deflate of an HTTP body (RFC 9110 section 8.4.1), piece by piece.
///
/// A few bytes may expand to very many: each call produces a limited number, and the rest waits in
/// the input.
///
/// Safe: only this object holds the pointer. zlib remembers the address of its stream.
@safe package final class ContentDecoder {
  package struct InvalidData: Error, Equatable {}

  private let stream: UnsafeMutablePointer<z_stream>
  private let isDeflate: Bool
  private var hasBegun = false
  private var hasEnded = false

  /// Makes a decoder by the coding's name; `nil` for an unknown name.
  package init?(coding: String) {
    switch coding {
    case "gzip", "x-gzip": isDeflate = false
    case "deflate": isDeflate = true
    default: return nil
    }
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
  }

  deinit {
    if hasBegun { unsafe inflateEnd(stream) }
    unsafe stream.deallocate()
  }

  /// Decodes the front of `input` into about `atMost` bytes; returns whether it appended any.
  ///
  /// If so, another call may append more without new input.
  package func decode(
    from input: ByteBuffer, into output: ByteBuffer, atMost: Int
  ) throws(InvalidData) -> Bool {
    if !hasBegun {
      guard begin(input.view) else { return false }
    }
    let before = output.count
    while output.count - before < atMost {
      if hasEnded {
        // Another member may follow (RFC 1952 section 2.2).
        guard !input.isEmpty else { break }
        guard !isDeflate else { throw InvalidData() }
        unsafe inflateReset(stream)
        hasEnded = false
      }
      guard try step(input, output, atMost: atMost) else { break }
    }
    return output.count > before
  }

  /// Detects the zlib form of deflate (RFC 1950) or the bare one (RFC 1951), which many servers
  /// send.
  private func begin(_ bytes: ByteView) -> Bool {
    guard bytes.count >= 2 || (bytes.count == 1 && !isDeflate) else { return false }
    let gzip: Int32 = 15 + 16
    let zlib: Int32 = 15
    var windowBits = gzip
    if isDeflate {
      let isZlib = bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
      windowBits = isZlib ? zlib : -15
    }
    let result = unsafe pusher_inflateInit2(stream, windowBits)
    precondition(result == Z_OK, "zlib is out of memory")
    hasBegun = true
    return true
  }

  private func step(
    _ input: ByteBuffer, _ output: ByteBuffer, atMost: Int
  ) throws(InvalidData) -> Bool {
    let given = min(input.count, Int(UInt32.max))
    let room = min(atMost, 65_536)
    output.reserve(room)
    unsafe stream.pointee.next_in = input.view.base
    unsafe stream.pointee.avail_in = UInt32(given)
    unsafe stream.pointee.next_out = output.tail
    unsafe stream.pointee.avail_out = UInt32(room)
    let result = unsafe CSystemZlib.inflate(stream, Z_SYNC_FLUSH)
    input.consume(given - Int(unsafe stream.pointee.avail_in))
    let isFull = unsafe stream.pointee.avail_out == 0
    output.commit(room - Int(unsafe stream.pointee.avail_out))
    switch result {
    case Z_STREAM_END:
      hasEnded = true
      return true
    case Z_OK, Z_BUF_ERROR: return isFull
    default: throw InvalidData()
    }
  }
}

/// Encodes a whole HTTP body in a content coding (RFC 9110 section 8.4.1.3, RFC 1952).
package enum ContentEncoder {
  /// Added to the window's bits, selects zlib's gzip form.
  private static let gzipForm: Int32 = 16
  /// zlib's default: 128 KiB of tables.
  private static let memoryLevel: Int32 = 8

  /// Returns the body as gzip at the best compression, for bodies that are sent often.
  package static func gzip(_ body: [UInt8]) -> [UInt8] {
    var body = body
    var stream = unsafe z_stream()
    let begun = unsafe pusher_deflateInit2(
      &stream, Z_BEST_COMPRESSION, MAX_WBITS + gzipForm, memoryLevel)
    precondition(begun == Z_OK, "zlib is out of memory")
    defer { unsafe deflateEnd(&stream) }
    let bound = unsafe Int(deflateBound(&stream, UInt(body.count)))
    return unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
      unsafe body.withUnsafeMutableBufferPointer { input in
        unsafe (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
        unsafe (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
        let result = unsafe deflate(&stream, Z_FINISH)
        precondition(result == Z_STREAM_END, "zlib's own bound was too small")
      }
      count = unsafe bound - Int(stream.avail_out)
    }
  }
}
