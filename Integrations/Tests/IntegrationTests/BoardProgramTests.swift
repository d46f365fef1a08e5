import Foundation
import PusherTesting
import Testing

// Other systems run the tests in a program of the toolchain, so `board` is not beside it.
#if os(Linux)
  @Suite(.timeLimit(.minutes(1))) struct `The program as a process` {
    @Test func `takes its app from the environment, and ends with 0 at SIGTERM`() async throws {
      let server = try await PusherTestServer()
      let (program, statuses) = try Self.start([
        "PUSHER_APP_ID": server.appID, "PUSHER_APP_KEY": server.key,
        "PUSHER_APP_SECRET": server.secret, "PUSHER_HOST": "127.0.0.1",
        "PUSHER_PORT": String(server.port),
      ])
      defer { if program.isRunning { kill(program.processIdentifier, SIGKILL) } }
      try await server.subscribers(of: "private-orders", reach: 1)
      program.terminate()
      #expect(await statuses.first { _ in true } == 0)
    }

    @Test func `ends with 2 without an app`() async throws {
      let (_, statuses) = try Self.start([:])
      #expect(await statuses.first { _ in true } == 2)
    }

    /// Starts the built program with only this environment, on a port of the system's choice.
    private static func start(
      _ environment: [String: String]
    ) throws -> (program: Process, statuses: AsyncStream<Int32>) {
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let folder = URL(filePath: tests).deletingLastPathComponent()
      let program = Process()
      program.executableURL = folder.appending(path: "board")
      program.arguments = ["0"]
      program.environment = environment
      program.standardOutput = FileHandle.nullDevice
      program.standardError = FileHandle.nullDevice
      let (statuses, ending) = AsyncStream.makeStream(of: Int32.self)
      program.terminationHandler = { ending.yield($0.terminationStatus) }
      try program.run()
      return (program, statuses)
    }
  }
#endif
