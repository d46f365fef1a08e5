/// Unpredictable numbers from the system's generator (getrandom on Linux, arc4random on macOS).
///
/// RFC 6455 section 10.3 asks for such a source for masking keys. OpenSSL's generator is not used, so that a plain
/// connection need not start OpenSSL.
package enum SecureRandom {
  /// A generator to hand to a machine.
  package static var generator: any RandomNumberGenerator { SystemRandomNumberGenerator() }

  /// `count` unpredictable bytes.
  package static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in generator.next() }
  }
}
