import PusherCore
import Testing

@Suite("Refused subscriptions, in the words of servers that nobody here wrote", .runsPrograms)
struct RefusalTests {
  private func run(
    _ answers: [String], _ options: String..., channel: String = "private-a"
  ) throws -> ProgramResult {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.subscription()
      for answer in answers { try connection.send(text: answer) }
      try connection.stay()
    }
    return try PusherCLI.run(
      ["subscribe"] + server.address + [channel] + options,
      environment: ["PUSHER_APP_SECRET": "wrong"])
  }

  @Test(arguments: [
    #"{"event":"pusher_internal:subscription_error","channel":"private-a","data":{}}"#,
    #"{"event":"pusher_internal:subscription_error","channel":"private-a"}"#,
    #"{"event":"pusher_internal:subscription_error","channel":"private-a","data":"{}"}"#,
  ])
  func `pusher-fake's refusal is one, and no event`(answer: String) throws {
    let result = try run([answer], "-n", "1")
    #expect(result.ending == .exited(3))
    #expect(result.output.isEmpty)
    #expect(
      result.errorText
        == "pusher-cli: error: private-a refused: the server gives no reason (does the secret belong to key test…?)\n"
    )
  }

  @Test func `Reverb's answer to a sign-in leads to leaving it out`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.message()
      try connection.send(
        text:
          #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#
      )
      try connection.stay()
    }
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + ["--sign-in", "--user-id", "7"],
      environment: ["PUSHER_APP_SECRET": "s"])
    #expect(
      result.errorText
        == "pusher-cli: error: sign-in refused: Invalid message format (the server knows no sign-in, as Reverb: leave out --sign-in)\n"
    )
  }

  @Test func `ipe's refusal is one at once, by the channel in its text`() throws {
    let result = try run(
      [
        #"{"event":"pusher:error","data":{"code":null,"message":"Auth value for subscription to private-a is invalid"}}"#
      ], "--connect-timeout", "1h")
    #expect(result.ending == .exited(3))
    #expect(
      result.errorText
        == "pusher-cli: error: private-a refused: Auth value for subscription to private-a is invalid (does the secret belong to key test…?)\n"
    )
  }

  @Test(arguments: [
    ("private-a", "Kanal private-a: nein"), ("news", "there is no room for news"),
    ("private-a", "nein"),
  ])
  func `an answer about the channel that cannot be read for sure ends with 3 all the same`(
    channel: String, message: String
  ) throws {
    let result = try run(
      [#"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#],
      "--connect-timeout", "500ms", channel: channel)
    #expect(result.ending == .exited(3))
    #expect(
      result.errorLines.last.map(String.init)
        == "pusher-cli: error: \(channel) refused: no confirmation within 0.5 s; the server said: \(message)"
        + (channel == "news" ? "" : " (does the secret belong to key test…?)"))
  }

  @Test func `silence about a channel is no refusal, and is 4`() throws {
    let result = try run([], "--connect-timeout", "500ms")
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText == "pusher-cli: error: private-a refused: no answer within 0.5 s\n")
  }
}

@Suite("Events under the service's internal names", .runsPrograms)
struct InternalEventTests {
  private static let event =
    #"{"event":"order","channel":"news","data":"{\"id\":1}"}"#
  private static let line = #"{"event":"order","channel":"news","data":{"id":1}}"# + "\n"

  private func run(_ messages: [String], _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for message in messages { try connection.send(text: message) }
    }
    return try PusherCLI.run(["subscribe"] + server.address + ["news"] + options)
  }

  @Test(arguments: [
    #"{"event":"pusher_internal:news","channel":"news","data":"{}"}"#,
    #"{"event":"pusher_internal:news","data":{}}"#,
    #"{"channel":"news","data":"{}","event":"pusher_internal:news"}"#,
    #"{"event":"pusher\u005finternal:news","channel":"news","data":"{}"}"#,
  ])
  func `an unknown internal event is neither printed nor counted, but named`(message: String) throws
  {
    let result = try run([message, Self.event], "-n", "1")
    #expect(result.ending == .exited(0))
    #expect(result.outputText == Self.line)
    let place = message.contains("\"channel\"") ? " on news" : ""
    #expect(
      result.errorText
        == "pusher-cli: warning: skipped pusher_internal:news\(place): this version does not know this internal event\n"
    )
  }

  @Test func `a name that was told of is told of again only with -v`() throws {
    let message = #"{"event":"pusher_internal:news","channel":"news","data":"{}"}"#
    let messages = [message, message, message, Self.event]
    let told = { (result: ProgramResult) in
      result.errorLines.filter { $0.contains("pusher_internal:news") }.count
    }
    #expect(told(try run(messages, "-n", "1")) == 1)
    #expect(told(try run(messages, "-n", "1", "-v")) == 3)
  }

  @Test func `a combining mark after the colon makes no name of the application's`() throws {
    let result = try run(
      [#"{"event":"pusher_internal:\#u{301}x","channel":"news","data":"{}"}"#, Self.event],
      "-n", "1")
    #expect(result.outputText == Self.line)
  }
}
