import Foundation
import PusherCore

/// Measures many concurrent calls of the HTTP API to a silent server, and their cancellation.
enum ManyCalls {
  /// Prints the added threads, descriptors and KiB at most, and the seconds from the cancellation
  /// to the last end.
  static func make(_ count: Int) async throws {
    guard let server = SilentServer() else { throw POSIXError(.EADDRNOTAVAIL) }
    let api = PusherAPI(
      appID: "1", key: "bench", secret: "bench",
      options: .init(
        host: .host("127.0.0.1"), port: server.port, useTLS: false, timeout: .seconds(600)))
    // Starts the tasks' own threads before the measurement.
    for _ in 0..<8 { await Task.yield() }
    let before = ProcessUse.now()
    let calls = (0..<count).map { _ in Task { try await api.channels() } }
    var most = before
    for _ in 0..<20 {
      try await Task.sleep(for: .milliseconds(50))
      let now = ProcessUse.now()
      most = ProcessUse(
        threads: max(most.threads, now.threads),
        descriptors: max(most.descriptors, now.descriptors),
        memory: max(most.memory, now.memory))
    }
    let start = ContinuousClock().now
    for call in calls { call.cancel() }
    for call in calls { _ = await call.result }
    let time = ContinuousClock().now - start
    print("calls", most.since(before).words, time.inSeconds)
    withExtendedLifetime(server) {}
  }
}

private final class SilentServer {
  private let descriptor: Int32
  let port: Int

  init?() {
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let made = socket(AF_INET, kind, 0)
    descriptor = made
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(made, $0, length) == 0 && listen(made, 1024) == 0
          && getsockname(made, $0, &length) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    if !isBound { return nil }
  }

  deinit {
    close(descriptor)
  }
}
