import PusherCore
import Testing

/// What servers that nobody here wrote answer to a subscription or to a sign-in.
struct Refusal: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let answer: String?
  let arguments: [String]
  let status: Int32
  /// The last message.
  let message: String

  private init(
    _ name: String, _ answer: String?, _ arguments: [String], status: Int32 = 3, _ message: String
  ) {
    (testDescription, self.answer, self.arguments) = (name, answer, arguments)
    (self.status, self.message) = (status, message)
  }

  private static let doubt = " (does the secret belong to key test…?)"
  private static let brief = ["--connect-timeout", "500ms"]

  private static func error(_ message: String) -> String {
    #"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#
  }

  private static func fake(_ name: String, _ data: String) -> Refusal {
    Refusal(
      "pusher-fake, \(name)",
      #"{"event":"pusher_internal:subscription_error","channel":"private-a"\#(data)}"#,
      ["private-a", "-n", "1"], "private-a refused: the server gives no reason" + doubt)
  }

  /// An answer about the channel that cannot be read for sure.
  private static func unsure(_ channel: String, _ message: String, _ doubt: String) -> Refusal {
    Refusal(
      "\(channel): \(message)", error(message), [channel] + brief,
      "\(channel) refused: no confirmation within 0.5 s; the server said: \(message)\(doubt)")
  }

  static let all = [
    fake("an object", #","data":{}"#), fake("a string", #","data":"{}""#), fake("no data", ""),
    Refusal(
      "Reverb, to a sign-in",
      #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#,
      ["--sign-in", "--user-id", "7"], status: 5,
      "sign-in refused: Invalid message format "
        + "(the server knows no sign-in, as Reverb: leave out --sign-in)"),
    Refusal(
      "ipe, by the channel in its text",
      error("Auth value for subscription to private-a is invalid"),
      ["private-a", "--connect-timeout", "1h"],
      "private-a refused: Auth value for subscription to private-a is invalid" + doubt),
    unsure("private-a", "Kanal private-a: nein", doubt),
    unsure("news", "there is no room for news", ""), unsure("private-a", "nein", doubt),
    Refusal(
      "silence, which is no refusal", nil, ["private-a"] + brief, status: 4,
      "private-a refused: no answer within 0.5 s"),
  ]
}

@Suite("Refusals in the words of foreign servers", .runsPrograms) struct RefusalTests {
  @Test(arguments: Refusal.all)
  func `a refusal in any words ends the run with its status and no event`(refusal: Refusal) throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.message()
      if let answer = refusal.answer { try connection.send(text: answer) }
      try connection.stay()
    }
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + refusal.arguments,
      environment: ["PUSHER_APP_SECRET": "wrong"])
    result.expect(refusal.status, prints: "", lastError: refusal.message)
    let isRead = !refusal.message.contains("the server said")
    #expect(result.errorLines.count == 1 || !isRead, "\(result.errorText)")
  }
}

@Suite("Events under the service's internal names", .runsPrograms) struct InternalEventTests {
  private static let event = #"{"event":"order","channel":"news","data":"{\"id\":1}"}"#
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
  func `an unknown internal event is not printed or counted, but named`(message: String) throws {
    let place = message.contains("\"channel\"") ? " on news" : ""
    try run([message, Self.event], "-n", "1").expect(
      0, prints: Self.line,
      says: "pusher-cli: warning: skipped pusher_internal:news\(place): "
        + "this version does not know this internal event\n")
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
}
