internal import CSystemHiredis
package import PusherCore

/// A command for Redis: words of bytes, which hiredis writes to the wire.
package struct RedisCommand: Sendable, Equatable {
  private var bytes: [UInt8] = []
  private var lengths: [Int] = []

  package init(_ words: [[UInt8]]) {
    bytes.reserveCapacity(words.reduce(0) { $0 + $1.count })
    lengths.reserveCapacity(words.count)
    for word in words { append(word) }
  }

  package init(_ words: String...) {
    for word in words { append(Array(word.utf8)) }
  }

  package mutating func append(_ word: [UInt8]) {
    bytes += word
    lengths.append(word.count)
  }

  /// Maximum size on the wire, in bytes: each word has a length and two line ends.
  package var size: Int { bytes.count + (lengths.count + 1) * 24 }

  /// Appends the wire form; stops the program for a command without a word or of 2 GiB.
  package func write(to output: ByteBuffer) {
    precondition(!lengths.isEmpty && size < Int(Int32.max), "no such command")
    // An empty array has no address.
    let padded = bytes.isEmpty ? [0] : bytes
    unsafe padded.withUnsafeBytes { all in
      var offset = 0
      var words: [UnsafePointer<CChar>?] = unsafe []
      unsafe words.reserveCapacity(lengths.count)
      for length in lengths {
        let place = unsafe all.bindMemory(to: CChar.self).baseAddress
        unsafe words.append(place.map { unsafe $0 + min(offset, all.count - 1) })
        offset += length
      }
      var wire: UnsafeMutablePointer<CChar>?
      let count = unsafe Int(redisFormatCommandArgv(&wire, Int32(words.count), &words, lengths))
      guard count >= 0, let wire = unsafe wire else {
        preconditionFailure("hiredis is out of memory")
      }
      output.reserve(count)
      unsafe UnsafeMutableRawPointer(output.tail).copyMemory(from: wire, byteCount: count)
      output.commit(count)
      unsafe redisFreeCommand(wire)
    }
  }
}
