import Foundation
import PusherCore
import Testing

/// PyPI's `pusher`, the official server library of Python, call by call.
@Suite(
  "With the official server library", .serialized,
  .enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)), .runsProgramsFirst)
struct ServerLibraryTests {
  private static let joined =
    #"{"event":"pusher_internal:subscription_succeeded","channel":"CHANNEL","data":"{}"}"#

  // MARK: Events

  @Test func `trigger reaches one channel, several channels and all but one connection`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news", "private-orders"], "-L")
    let peer = try WebSocketPipe(server)
    _ = try peer.join("news")
    let library = try ServerLibrary(server.port)
    let events = [
      #""channels":"news","event_name":"one","data":{"text":"Grüße ✓","total":1.5}"#,
      #""channels":["news","private-orders"],"event_name":"two","data":"plain""#,
      #""channels":"news","event_name":"three","data":[],"socket_id":"\#(peer.socketID)""#,
      #""channels":["news"],"event_name":"four","data":null"#,
    ]
    for event in events { #expect(try library.call("trigger", "{\(event)}") == "{}") }
    #expect(
      try program.lines(5) == [
        #"{"event":"one","channel":"news","data":{"text":"Grüße ✓","total":1.5}}"#,
        #"{"event":"two","channel":"news","data":"plain"}"#,
        #"{"event":"two","channel":"private-orders","data":"plain"}"#,
        #"{"event":"three","channel":"news","data":[]}"#,
        #"{"event":"four","channel":"news","data":null}"#,
      ])
    #expect(
      try [peer.message(), peer.message(), peer.message()] == [
        #"{"event":"one","channel":"news","data":"{\"text\": \"Grüße ✓\", \"total\": 1.5}"}"#,
        #"{"event":"two","channel":"news","data":"plain"}"#,
        #"{"event":"four","channel":"news","data":"null"}"#,
      ])
  }

  @Test func `trigger_batch reaches each event's channel, and answers what was asked`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news", "private-orders"], "-L")
    let peer = try WebSocketPipe(server)
    _ = try peer.join("news")
    let library = try ServerLibrary(server.port)
    let batch = #"""
      {"batch":[{"channel":"news","name":"a","data":{"n":1},"info":"subscription_count"},
      {"channel":"private-orders","name":"b","data":"2"},
      {"channel":"news","name":"c","data":"3","socket_id":"\#(peer.socketID)"}]}
      """#.replacing("\n", with: "")
    #expect(
      try library.call("trigger_batch", batch) == #"{"batch":[{"subscription_count":2},{},{}]}"#)
    #expect(
      try library.call(
        "trigger_batch", #"{"batch":[{"channel":"news","name":"d","data":"4"}]}"#) == "{}")
    #expect(
      try program.lines(4) == [
        #"{"event":"a","channel":"news","data":{"n":1}}"#,
        #"{"event":"b","channel":"private-orders","data":2}"#,
        #"{"event":"c","channel":"news","data":3}"#,
        #"{"event":"d","channel":"news","data":4}"#,
      ])
    #expect(try peer.message() == #"{"event":"a","channel":"news","data":"{\"n\": 1}"}"#)
    #expect(try peer.message() == #"{"event":"d","channel":"news","data":"4"}"#)
  }

  // MARK: Questions

  @Test func `channels_info, channel_info and users_info tell who is where`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news", "presence-lobby"], "--user-id", "1", "-L")
    let others = try ["2", "2"].map {
      try server.subscribe(["presence-lobby"], "--user-id", $0, "-L")
    }
    let library = try ServerLibrary(server.port)
    for (call, arguments, answer) in [
      ("channels_info", "{}", #"{"channels":{"news":{},"presence-lobby":{}}}"#),
      (
        "channels_info", #"{"attributes":["subscription_count"]}"#,
        #"{"channels":{"news":{"subscription_count":1},"#
          + #""presence-lobby":{"subscription_count":3}}}"#
      ),
      (
        "channels_info", #"{"prefix_filter":"presence-","attributes":["user_count"]}"#,
        #"{"channels":{"presence-lobby":{"user_count":2}}}"#
      ),
      ("channels_info", #"{"prefix_filter":"private-"}"#, #"{"channels":{}}"#),
      (
        "channel_info",
        #"{"channel":"presence-lobby","attributes":["user_count","subscription_count"]}"#,
        #"{"occupied":true,"subscription_count":3,"user_count":2}"#
      ),
      ("channel_info", #"{"channel":"news"}"#, #"{"occupied":true}"#),
      ("channel_info", #"{"channel":"other"}"#, #"{"occupied":false}"#),
    ] { #expect(try library.call(call, arguments) == answer, "\(arguments)") }
    let users = try JSONValue(
      parsing: try library.call("users_info", #"{"channel":"presence-lobby"}"#))
    #expect(Set(users["users"]?.elements?.compactMap { $0["id"]?.text } ?? []) == ["1", "2"])
    withExtendedLifetime((program, others)) {}
  }

  // MARK: Signatures

  @Test func `what authenticate signs lets a client in, and nobody else`() throws {
    let server = try LocalServer()
    let key = Base64.encode((0..<32).map { UInt8($0 * 7) })
    let library = try ServerLibrary(server.port, masterKey: key)
    let peer = try WebSocketPipe(server)
    let stranger = try WebSocketPipe(server)
    func question(_ channel: String, _ rest: String = "") -> String {
      #"{"channel":"\#(channel)","socket_id":"\#(peer.socketID)"\#(rest)}"#
    }

    let auth = try library.call("authenticate", question("private-orders"))
    let refused = try stranger.join("private-orders", auth)
    #expect(refused.contains("Invalid signature"), "\(refused)")
    #expect(
      try peer.join("private-orders", auth)
        == Self.joined.replacing("CHANNEL", with: "private-orders"))

    let encrypted = "private-encrypted-orders"
    let answer = try library.call("authenticate", question(encrypted))
    #expect(
      try JSONParser.parse(answer)["shared_secret"]?.text
        == EncryptionMasterKey(base64: key).sharedSecret(channel: encrypted))
    #expect(try peer.join(encrypted, answer) == Self.joined.replacing("CHANNEL", with: encrypted))

    let data = #","custom_data":{"user_id":"7","user_info":{"name":"Grüße"}}"#
    let member = try library.call("authenticate", question("presence-lobby", data))
    let changed = member.replacing(#"\"7\""#, with: #"\"8\""#)
    #expect(changed != member)
    #expect(try peer.join("presence-lobby", changed).contains("Invalid signature"))
    let roster = try JSONParser.parse(try peer.join("presence-lobby", member))
    #expect(roster["event"]?.text == "pusher_internal:subscription_succeeded")
    #expect(
      roster["data"]?.text
        == #"{"presence":{"ids":["7"],"hash":{"7":{"name":"Grüße"}},"count":1}}"#)
  }

  @Test func `a user signs in, gets what is sent to the user alone, and is let go`() throws {
    let server = try LocalServer()
    let library = try ServerLibrary(server.port)
    func signedIn(_ userID: String) throws -> WebSocketPipe {
      let peer = try WebSocketPipe(server)
      let answer = try library.call(
        "authenticate_user",
        #"{"socket_id":"\#(peer.socketID)","user_data":{"id":"\#(userID)"}}"#)
      let success = try JSONParser.parse(try peer.ask("pusher:signin", answer))
      #expect(success["event"]?.text == "pusher:signin_success")
      #expect(success["data"]?["user_data"]?.text == #"{"id": "\#(userID)"}"#)
      let channel = "#server-to-user-\(userID)"
      #expect(try peer.join(channel) == Self.joined.replacing("CHANNEL", with: channel))
      return peer
    }
    let peers = try ["7", "7", "8"].map(signedIn)

    for (user, event) in [("7", "first"), ("8", "second")] {
      let arguments = #"{"user_id":"\#(user)","event_name":"\#(event)","data":{"n":1}}"#
      #expect(try library.call("send_to_user", arguments) == "{}")
    }
    let received = try peers.map { try $0.message() }
    #expect(
      received
        == [("7", "first"), ("7", "first"), ("8", "second")].map {
          ##"{"event":"\##($0.1)","channel":"#server-to-user-\##($0.0)","data":"{\"n\": 1}"}"##
        })

    #expect(try library.call("terminate_user_connections", #"{"user_id":"7"}"#) == "{}")
    for peer in peers[..<2] {
      #expect(try peer.message() == #"[4009, "the app has ended the user's connections"]"#)
      #expect(try peer.end() == .exited(0))
    }
    #expect(try peers[2].ask("pusher:ping") == #"{"event":"pusher:pong","data":"{}"}"#)
  }

  @Test func `authenticate_user with another secret is refused with 4009`() throws {
    let server = try LocalServer()
    let library = try ServerLibrary(server.port, secret: "wrong")
    let peer = try WebSocketPipe(server)
    let answer = try library.call(
      "authenticate_user", #"{"socket_id":"\#(peer.socketID)","user_data":{"id":"7"}}"#)
    let error = try JSONParser.parse(try peer.ask("pusher:signin", answer))
    #expect(error["event"]?.text == "pusher:error")
    #expect(error["data"]?["code"] == .integer(4009))
    #expect(try peer.message().hasPrefix("[4009, "))
  }

  @Test func `validate_webhook with another secret is None, and serve says so`() throws {
    let receiver = try PythonPeer.start("receive_webhooks.py", [LocalServer.key, "wrong", "1"])
    let port = try receiver.line()
    let server = try LocalServer(options: ["--webhook", "http://127.0.0.1:\(port)/hook"])
    let program = try server.subscribe(["news"], "-L")
    #expect(try receiver.result().ending == .exited(1))
    #expect(try server.errorLine(containing: "webhook channel_occupied").contains("401"))
    program.send(SIGTERM)
  }

  // MARK: Refusals

  @Test func `what serve refuses is raised with its reason`() throws {
    let server = try LocalServer()
    let library = try ServerLibrary(server.port)
    let event = #""channels":"news","event_name":"e","data":"x""#
    let long = String(repeating: "x", count: 10_241)
    let entry = #"{"channel":"news","name":"e","data":"x"}"#
    let batch = Array(repeating: entry, count: 11).joined(separator: ",")
    let bad = "PusherBadRequest: "
    for (call, arguments, reason) in [
      ("trigger", #"{\#(event),"clock":-700}"#, "PusherBadAuth: Timestamp expired: "),
      (
        "trigger", #"{"channels":"news","event_name":"e","data":"\#(long)"}"#,
        "PusherBadStatus: 413: The data content of this event has 10241 bytes and exceeds "
      ),
      (
        "trigger_batch",
        #"{"batch":[{"channel":"a b","name":"e","data":"x"}],"already_encoded":true}"#,
        bad + "event 1: Invalid channel 'a b': "
      ),
      (
        "trigger_batch", #"{"batch":[\#(batch)]}"#,
        bad + "a batch has at most 10 events; this one has 11"
      ),
      (
        "channels_info", #"{"attributes":["user_count"]}"#,
        bad + "user_count needs a filter_by_prefix"
      ),
    ] {
      let raised = try library.refusal(call, arguments)
      #expect(raised.hasPrefix(reason), "\(raised)")
    }
    #expect(try library.call("trigger", "{\(event)}") == "{}")
  }

  @Test func `a wrong secret, key or app and a disabled app are told apart`() throws {
    let file = try TemporaryFolder.shared.file(
      "apps",
      holding: #"[{"id":"17","key":"local-key","secret":"local-secret"},"#
        + #"{"id":"18","key":"other-key","secret":"local-secret","enabled":false}]"#)
    let server = try LocalServer(options: ["--apps", file])
    let event = #"{"channels":"news","event_name":"e","data":"x"}"#
    let wrongSecret = try ServerLibrary(server.port, secret: "wrong")
    for (call, arguments, words) in [
      ("trigger", event, ": you should have sent HmacSHA256Hex("), ("channels_info", "{}", ""),
      ("terminate_user_connections", #"{"user_id":"7"}"#, ""),
    ] {
      let refusal = try wrongSecret.refusal(call, arguments)
      #expect(refusal.hasPrefix("PusherBadAuth: Invalid signature" + words), "\(refusal)")
    }
    for (library, refusal) in [
      (
        try ServerLibrary(server.port, key: "k"),
        "PusherBadAuth: Unknown auth_key: this is not the key of app 17"
      ),
      (try ServerLibrary(server.port, appID: "99"), "PusherBadStatus: 404: Unknown app: 99"),
      (
        try ServerLibrary(server.port, appID: "18", key: "other-key"),
        "PusherForbidden: The app is disabled"
      ),
    ] { #expect(try library.refusal("trigger", event) == refusal) }
  }

  // MARK: A new user

  @Test func `the library takes the credentials that serve announces`() throws {
    let (server, port) = try PusherCLI.listening(["serve"])
    let said = try server.errorLine(containing: "app id '")
    let words = said.split(separator: "'").map(String.init)
    #expect(said.contains("app id '1', key 'local', secret 'local'"))
    let library = try ServerLibrary("\(port)", appID: words[1], key: words[3], secret: words[5])
    #expect(try library.call("channels_info") == #"{"channels":{}}"#)
  }
}
