import Testing

@testable import PusherCore

/// What clients with the same TLS settings share.
@Suite struct `Shared TLS contexts` {
  @Test func `the same settings give the same context, for as long as somebody has it`() throws {
    let cache = TLSContextCache()
    do {
      let first = try cache.client(TLSConfiguration(insecure: true))
      let second = try cache.client(TLSConfiguration(insecure: true))
      #expect(first === second)
      #expect(cache.count == 1)
    }
    #expect(cache.count == 0)
    _ = try cache.client(TLSConfiguration(insecure: true))
  }

  @Test func `each difference of the settings or of the environment makes another context`() throws
  {
    let cache = TLSContextCache()
    let pin = try #require(PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
    let contexts = [
      try cache.client(TLSConfiguration(insecure: true)),
      try cache.client(TLSConfiguration(insecure: true, pins: [pin])),
      try cache.client(TLSConfiguration()),
      try cache.client(
        TLSConfiguration(), environment: TLSEnvironment(certificateDirectories: "/nowhere")),
    ]
    #expect(Set(contexts.map(ObjectIdentifier.init)).count == 4)
    #expect(cache.count == 4)
  }
}
