import Foundation
import Testing

@testable import PusherCore

/// `connect(2)`, sections "EINPROGRESS" and "EINTR"; `listen(2)`, section "backlog".
struct `Whether a port of this machine refuses` {
  private static let anyPort = SocketAddress(family: .ipv4, octets: [127, 0, 0, 1], port: 0)

  @Test func `a port with a listener is open, and refuses once the listener is gone`() throws {
    let listener = try SystemCalls.startListening(at: Self.anyPort, reusesPort: false)
    let address = try #require(SystemCalls.localAddress(listener))
    #expect(LocalPort.answer(of: address, within: 1000) == .open)
    #expect(!LocalPort.isRefused(host: "127.0.0.1", port: address.port))
    SystemCalls.closeDescriptor(listener)
    #expect(LocalPort.answer(of: address, within: 1000) == .refused)
    #expect(LocalPort.isRefused(host: "127.0.0.1", port: address.port))
  }

  #if os(Linux)
    @Test func `a listener whose queue is full is there, although it answers nothing`() throws {
      let listener = try SystemCalls.startListening(at: Self.anyPort, reusesPort: false)
      defer { SystemCalls.closeDescriptor(listener) }
      // Linux drops further attempts when the queue of unaccepted connections is full.
      #expect(listen(listener, 0) == 0)
      let address = try #require(SystemCalls.localAddress(listener))
      var waiting: [Int32] = []
      defer { for descriptor in waiting { SystemCalls.closeDescriptor(descriptor) } }
      for _ in 0..<4 {
        let descriptor = try SystemCalls.makeSocket(.ipv4)
        waiting.append(descriptor)
        _ = try? SystemCalls.startConnecting(descriptor, to: address)
      }
      #expect(LocalPort.answer(of: address, within: 1) == .open)
    }
  #endif
}
