import Foundation
import PusherCore
import Testing

@Suite("subscribe and trigger with each server's ways", .runsPrograms)
struct DialectProgramTests {
  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `events arrive on every kind of channel`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let channels = ["news", "private-a", "presence-b"]
    let program = try server.subscribe(channels, "-L")
    for channel in channels {
      let sent = try server.trigger(channel, "e", #"{"n":1}"#)
      #expect(sent.ending == .exited(0), "\(sent.errorText)")
      #expect(
        try program.line() == #"{"event":"e","channel":"\#(channel)","data":{"n":1}}"#)
    }
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `a wrong key and a wrong secret end the run with 3`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let stranger = try PusherCLI.run(
      ["subscribe"] + server.address + ["--key", "other", "news"])
    #expect(stranger.ending == .exited(3), "\(stranger.errorText)")
    let liar = try PusherCLI.run(
      ["subscribe"] + server.address + ["private-x"],
      environment: ["PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "wrong"])
    #expect(liar.ending == .exited(3), "\(liar.errorText)")
    #expect(try server.trigger("news", "e", "{}", secret: "wrong").ending == .exited(3))
  }

  @Test(arguments: [("pusher", false), ("reverb", true), ("soketi", false)])
  func `Reverb keeps the last event of a channel that only begins like a cache channel`(
    dialect: String, isKept: Bool
  ) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    for event in ["first", "second"] {
      #expect(try server.trigger("cached", event, "{}").ending == .exited(0))
    }
    let program = try server.subscribe(["cached"], "-L")
    #expect(try server.trigger("cached", "third", "{}").ending == .exited(0))
    let expected = isKept ? "second" : "third"
    #expect(try program.line() == #"{"event":"\#(expected)","channel":"cached","data":{}}"#)
  }

  @Test func `users of an empty channel of Reverb says that nobody is there`() throws {
    let server = try LocalServer(options: ["--dialect", "reverb"])
    let result = try PusherCLI.run(
      ["users"] + server.address + ["presence-desk"],
      environment: LocalServer.environment("local-secret"))
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == "pusher-cli: error: the server answered HTTP 404 (nobody is on presence-desk, or --host, --port, --path or the app id is wrong)\n"
    )
  }
}
