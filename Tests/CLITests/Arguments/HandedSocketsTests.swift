import PusherCore
import Testing

@testable import pusher_cli

/// sd_listen_fds(3); the process has the number 77.
struct `Sockets that a service manager hands to serve` {
  private static let here = HandedSocket(
    descriptor: 3, address: SocketAddress(family: .ipv4, octets: [127, 0, 0, 1], port: 7001))
  private static let other = HandedSocket(
    descriptor: 4,
    address: SocketAddress(family: .ipv6, octets: [UInt8](repeating: 0, count: 15) + [1], port: 9))
  private static let everywhere = HandedSocket(
    descriptor: 3, address: SocketAddress(family: .ipv4, octets: [0, 0, 0, 0], port: 80))

  private func settings(
    _ line: String = "", fds: String = "1", names: String? = nil, process: String = "77",
    sockets: [Result<HandedSocket, HandedSocket.Fault>] = [.success(here), .success(other)]
  ) throws -> ServeSettings {
    let numbered = Dictionary(uniqueKeysWithValues: zip(Int32(3)..., sockets))
    return try serve(
      line, ["LISTEN_PID": process, "LISTEN_FDS": fds, "LISTEN_FDNAMES": names ?? ""],
      files: PretendFiles(sockets: numbered))
  }

  @Test(arguments: ["", "serve", "pusher-serve.socket", "unknown", "connection"])
  func `one socket is for clients, whatever it is called`(name: String) throws {
    let settings = try settings(names: name)
    #expect(settings.server.listen.handed == Self.here)
    #expect(settings.listen.place(settings.listen.port) == "127.0.0.1:7001")
    #expect(settings.monitor == nil && settings.warnings == [])
  }

  @Test func `a socket that is called metrics is for metrics`() throws {
    let settings = try settings("--listen :7", names: "metrics")
    #expect(settings.server.listen.handed == nil && settings.server.listen.port == 7)
    #expect(settings.monitor?.handed == Self.here && settings.warnings == [])
  }

  @Test(arguments: [("serve:metrics", here, other), ("metrics:serve", other, here)])
  func `two are told apart by their names`(
    names: String, server: HandedSocket, metrics: HandedSocket
  ) throws {
    let settings = try settings(fds: "2", names: names)
    #expect(settings.server.listen.handed == server)
    #expect(settings.monitor?.handed == metrics)
    #expect(settings.monitor?.port == metrics.address.port)
  }

  @Test(arguments: [
    ("2", ""), ("2", "serve"), ("2", "serve:serve"), ("2", "metrics:metrics"), ("2", "a:b"),
    ("2", "serve:metrics:a"), ("3", "serve:metrics:a"), ("9223372036854775807", ""),
  ])
  func `sockets of other names are refused, in words`(fds: String, names: String) {
    #expect(
      refusal { _ = try settings(fds: fds, names: names) }
        == "LISTEN_FDS: found \(fds) sockets; serve takes one, or two with "
        + "FileDescriptorName=serve and FileDescriptorName=metrics")
  }

  @Test(arguments: ["-1", "x", "1x", "99999999999999999999"])
  func `a count that is none is refused`(fds: String) {
    #expect(
      refusal { _ = try settings(fds: fds) } == "LISTEN_FDS: '\(fds)' is not a number of sockets")
  }

  @Test(arguments: [("1", "78"), ("1", ""), ("1", "077"), ("0", "77"), ("", "77"), ("x", "7")])
  func `another process's sockets are not taken`(fds: String, process: String) throws {
    let settings = try settings(fds: fds, process: process)
    #expect(settings.server.listen.handed == nil && settings.server.listen.port == 6001)
  }

  @Test(arguments: [
    (HandedSocket.Fault.notOpen, "it is not open"), (.notASocket, "it is not a socket"),
    (.notAStream, "it is not a stream socket"),
    (.notListening, "it is not a listening socket"),
    (.notInternet, "it has no IP address"),
  ])
  func `an unusable descriptor is refused`(fault: HandedSocket.Fault, words: String) {
    #expect(
      refusal { _ = try settings(sockets: [.failure(fault)]) }
        == "LISTEN_FDS: cannot listen on descriptor 3: \(words); "
        + "serve takes ListenStream=ADDRESS:PORT with Accept=no")
  }

  @Test func `addresses that were typed are not used then, and a warning says so`() throws {
    let settings = try settings(
      "--listen :7 --metrics :8 --reuse-port", fds: "2", names: "serve:metrics")
    #expect(
      settings.warnings == [
        "--listen :7 is ignored: the service manager passed a socket at 127.0.0.1:7001",
        "--reuse-port has no effect: the service manager passed a socket at 127.0.0.1:7001",
        "--metrics :8 is ignored: the service manager passed a socket at [::1]:9",
      ])
    #expect(settings.server.listen.port == 7001 && !settings.server.listen.reusesPort)
  }

  @Test func `a socket that others can reach wants its own secret, and takes every host`() throws {
    #expect(
      refusal { _ = try settings(sockets: [.success(Self.everywhere)]) }?.hasPrefix(
        "LISTEN_FDS: other machines may reach 0.0.0.0, ") == true)
    let own = try serve(
      "--secret-file s --key k", ["LISTEN_PID": "77", "LISTEN_FDS": "1"],
      files: PretendFiles(contents: ["s": "mine"], sockets: [3: .success(Self.everywhere)]))
    #expect(own.server.access.isPublic && own.server.authEndpoints == .nobody)
  }
}
