internal import CSystemZlib

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
