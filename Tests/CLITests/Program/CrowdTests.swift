import Foundation
import PusherCore
import Testing

@Suite("serve among hostile clients", .serialized, .runsProgramsFirst) struct CrowdTests {
  private static let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private func client(_ server: LocalServer) throws -> RawClient {
    try RawClient(try #require(UInt16(server.port)))
  }

  private func check(_ server: LocalServer, _ program: ChildProgram, _ name: String) throws {
    try server.trigger("news", name, "{}").expect()
    while try program.line() != #"{"event":"\#(name)","channel":"news","data":{}}"# {}
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `10,000 connects in a row leave nothing behind`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    for _ in 0..<1000 { try client(server).send(Self.request) }
    try check(server, program, "warm")
    let before = try #require(server.peakMemory)
    for _ in 0..<10_000 { try client(server).send(Self.request) }
    try check(server, program, "after")
    let after = try #require(server.peakMemory)
    #expect(after - before < 4 << 10, "\(before) to \(after) KiB")
  }
}
