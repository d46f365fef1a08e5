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
      try server.trigger(channel, "e", #"{"n":1}"#).expect()
      #expect(try program.line() == #"{"event":"e","channel":"\#(channel)","data":{"n":1}}"#)
    }
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `a wrong key and a wrong secret end the run with 3`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    try server.run(["subscribe", "--key", "other", "news"]).expect(3)
    try server.run(["subscribe", "private-x"], secret: "wrong").expect(3)
    try server.trigger("news", "e", "{}", secret: "wrong").expect(3)
  }

  @Test(arguments: [("pusher", false), ("reverb", true), ("soketi", false)])
  func `Reverb keeps the last event of a channel that only begins like a cache channel`(
    dialect: String, isKept: Bool
  ) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    for event in ["first", "second"] {
      try server.trigger("cached", event, "{}").expect()
    }
    let program = try server.subscribe(["cached"], "-L")
    try server.trigger("cached", "third", "{}").expect()
    let expected = isKept ? "second" : "third"
    #expect(try program.line() == #"{"event":"\#(expected)","channel":"cached","data":{}}"#)
  }

  @Test func `users of an empty channel of Reverb says that nobody is there`() throws {
    let server = try LocalServer(options: ["--dialect", "reverb"])
    try server.run(["users", "presence-desk"]).expect(
      5,
      says:
        "pusher-cli: error: the server answered HTTP 404 (nobody is on presence-desk, or --host, --port, --path or the app id is wrong)\n"
    )
  }
}
