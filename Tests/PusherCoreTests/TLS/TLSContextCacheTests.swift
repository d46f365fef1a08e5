import Foundation
import Testing

@testable import PusherCore

/// Clients with the same TLS settings share a context.
@Suite struct `Shared TLS contexts` {
  @Test func `equal settings share one context while somebody holds it`() throws {
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

  @Test func `what is no regular file, or has no end, is refused before it is read`() throws {
    let folder = FileManager.default.temporaryDirectory.path
    let (pipe, sparse) = (folder + UUID().uuidString, folder + UUID().uuidString)
    defer { for path in [pipe, sparse] { unlink(path) } }
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(FileManager.default.createFile(atPath: sparse, contents: nil))
    #expect(truncate(sparse, 8 << 30) == 0)
    let kind = "it is not a regular file"
    for (path, reason) in [
      (pipe, kind), ("/dev/zero", kind), (folder, kind), (sparse, "it is larger than 16 MiB"),
    ] {
      let error = TLSError.file(path: path, reason: reason)
      #expect(throws: error) { try TLSContext.client(TLSConfiguration(caFile: path)) }
      #expect(throws: error) {
        try TLSContext.client(
          TLSConfiguration(), environment: TLSEnvironment(certificateFile: path))
      }
      #expect(throws: error) {
        try TLSContext.client(TLSConfiguration(insecure: true, certificateFile: path))
      }
      #expect(throws: error) { try TLSContext.server(certificateFile: path, keyFile: path) }
    }
  }
}
