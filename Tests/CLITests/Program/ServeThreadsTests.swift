import Foundation
import PusherCore
import Testing

/// `serve --threads`: several threads, one server.
@Suite("serve --threads", .runsPrograms)
struct ServeThreadsTests {
  @Test func `subscribers on all threads get each event once, in order`() throws {
    let server = try LocalServer(options: ["--threads", "4"])
    // So many connections that hardly any thread has none.
    let subscribers = try (0..<16).map { _ in
      try server.subscribe(["news"], "-L", "-n", "10")
    }
    for number in 0..<10 {
      #expect(try server.trigger("news", "e", "\(number)").ending == .exited(0))
    }
    let expected = (0..<10).map { #"{"event":"e","channel":"news","data":\#($0)}"# }
    for subscriber in subscribers {
      #expect(try subscriber.lines(10) == expected)
      #expect(try subscriber.wait() == .exited(0))
    }
    #expect(try server.stop().ending == .signalled(SIGTERM))
  }

  @Test func `a port that is taken is taken for threads too`() throws {
    let server = try LocalServer(options: ["--threads", "2"])
    let second = try PusherCLI.run(
      "serve", "--threads", "2", "--listen", "127.0.0.1:\(server.port)")
    #expect(second.ending == .exited(4), "\(second.errorText)")
    #expect(second.errorText.contains("127.0.0.1:\(server.port)"))
  }

  @Test func `one thread for each core is a choice, and 257 threads are not`() throws {
    let server = try LocalServer(options: ["--threads", "0"])
    #expect(try server.trigger("news", "e", "1").ending == .exited(0))
    let result = try PusherCLI.run("serve", "--threads", "257")
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains("--threads"))
  }
}
