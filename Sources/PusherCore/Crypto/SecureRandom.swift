/// Unpredictable numbers from the system's generator, as RFC 6455 section 10.3 requires.
///
/// Not OpenSSL's generator, since a plain connection need not start OpenSSL.
package enum SecureRandom {
  package static var generator: any RandomNumberGenerator { SystemRandomNumberGenerator() }

  package static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in generator.next() }
  }
}
