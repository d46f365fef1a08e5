internal import CSystemOpenSSL

/// Unpredictable numbers from the system's generator, as RFC 6455 section 10.3 requires.
///
/// Not OpenSSL's generator, since a plain connection need not start OpenSSL.
package enum SecureRandom {
  package static var generator: any RandomNumberGenerator { SystemRandomNumberGenerator() }

  /// Returns `count` bytes, such as a nonce or a masking key.
  package static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in generator.next() }
  }
}

/// Keeps this process's secrets out of core dumps and away from debuggers of the same user.
///
/// Source: prctl(2), PR_SET_DUMPABLE; other systems only limit core dumps to 0 bytes.
package enum ProcessMemory {
  /// Hides the memory from now on; started commands are not affected.
  package static func hide() { pusher_set_dumpable(0) }

  /// Runs `body` while the process may read its own `/proc/self`, which a hidden process may not.
  package static func whileShown<Result>(_ body: () -> Result) -> Result {
    guard pusher_get_dumpable() == 0 else { return body() }
    pusher_set_dumpable(1)
    defer { pusher_set_dumpable(0) }
    return body()
  }
}
