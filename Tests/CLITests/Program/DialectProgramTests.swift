import Foundation
import PusherCore
import Testing

@Suite("subscribe and trigger with each server's ways", .runsPrograms) struct DialectProgramTests {
  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `a wrong key and a wrong secret end the run with 3`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    try server.run(["subscribe", "--key", "other", "news"]).expect(3)
    try server.run(["subscribe", "private-x"], secret: "wrong").expect(3)
    try server.trigger("news", "e", "{}", secret: "wrong").expect(3)
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
