import Foundation
import Testing

@testable import PusherCore

/// Clients with the same TLS settings share a context.
struct `Shared TLS contexts` {
  @Test func `equal settings share one context while somebody holds it`() throws {
    let cache = TLSContextCache()
    do {
      let first = try cache.client(TLSConfiguration(insecure: true))
      let second = try cache.client(TLSConfiguration(insecure: true))
      #expect(first === second && cache.count == 1)
    }
    #expect(cache.count == 0)
    _ = try cache.client(TLSConfiguration(insecure: true))
  }

  @Test func `other settings or another environment make another context`() throws {
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

  @Test func `what is missing, no regular file or endless is refused before it is read`() throws {
    let folder = FileManager.default.temporaryDirectory.path
    let (pipe, sparse) = ("\(folder)/\(UUID().uuidString)", "\(folder)/\(UUID().uuidString)")
    defer { for path in [pipe, sparse] { unlink(path) } }
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(FileManager.default.createFile(atPath: sparse, contents: nil))
    #expect(truncate(sparse, 8 << 30) == 0)
    let kind = "it is not a regular file"
    for (path, reason) in [
      (pipe, kind), ("/dev/zero", kind), (folder, kind), (sparse, "it is larger than 16 MiB"),
      ("/nowhere/ca.pem", "No such file or directory"),
    ] {
      let error = TLSError.file(path: path, reason: reason)
      for (configuration, environment) in [
        (TLSConfiguration(caFile: path), TLSEnvironment()),
        (TLSConfiguration(), TLSEnvironment(certificateFile: path)),
        (TLSConfiguration(insecure: true, certificateFile: path), TLSEnvironment()),
      ] {
        #expect(throws: error) { try TLSContext.client(configuration, environment: environment) }
      }
      #expect(throws: error) { try TLSContext.server(certificateFile: path, keyFile: path) }
    }
  }
}
