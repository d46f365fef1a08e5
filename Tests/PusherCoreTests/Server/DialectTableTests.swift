import PusherCore
import PusherServer
import Testing

/// The known differences of the three servers, row by row.
@Suite struct `The servers side by side` {
  /// Form of the `data` member.
  enum Shape: Sendable {
    /// A string that holds JSON.
    case text
    case object
    case none
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    /// Shapes of Pusher, Reverb and soketi; `nil` if a server never sends the message.
    let shapes: [Shape?]
    let message: @Sendable (MessageText) -> String

    var testDescription: String { name }
  }

  private static let member = Member(userID: "7", info: nil)

  static let rows: [Row] = [
    Row(name: "connection_established", shapes: [.text, .text, .text]) {
      $0.connectionEstablished(socketID: "1.1", activityTimeout: .seconds(120))
    },
    Row(name: "subscription_succeeded", shapes: [.text, .text, Shape.none]) {
      $0.subscriptionSucceeded(channel: "c", members: nil)
    },
    Row(name: "subscription_succeeded, presence", shapes: [.text, .text, .text]) {
      $0.subscriptionSucceeded(channel: "presence-c", members: MemberList())
    },
    Row(name: "member_added", shapes: [.text, .text, .text]) {
      $0.memberAdded(channel: "presence-c", member: member)
    },
    Row(name: "member_removed", shapes: [.text, .text, .text]) {
      $0.memberRemoved(channel: "presence-c", userID: "7")
    },
    Row(name: "error", shapes: [.object, .text, .object]) {
      $0.error(code: nil, message: "m")
    },
    Row(name: "pong", shapes: [.text, Shape.none, .object]) { $0.pong },
    Row(name: "ping", shapes: [.text, Shape.none, nil]) { $0.ping },
    Row(name: "signin_success", shapes: [.object, nil, .object]) {
      $0.signInSuccess(userData: "{}", auth: "a:b")
    },
  ]

  @Test func `the names are those of the servers, in their order`() {
    #expect(Dialect.names == Dialect.allCases.map(\.rawValue))
  }

  @Test(arguments: rows)
  func `data has its server's shape`(row: Row) throws {
    for (dialect, shape) in zip(Dialect.allCases, row.shapes) {
      guard let shape else { continue }
      let message = try JSONParser.parse(row.message(MessageText(dialect: dialect)))
      let name = row.name.split(separator: ",")[0]
      #expect(message["event"]?.text?.hasSuffix(":" + name) == true)
      switch shape {
      case .text:
        let text = try #require(message["data"]?.text, "\(dialect)")
        #expect((try? JSONParser.parse(text))?.members != nil, "\(dialect)")
      case .object: #expect(message["data"]?.members != nil, "\(dialect)")
      case .none: #expect(message["data"] == nil, "\(dialect)")
      }
    }
  }

  @Test(
    arguments: [
      ("bytes of an event's data", \.sizes.eventData, [10_240, 10_000, 102_400]),
      ("bytes of a client's message", \.sizes.clientMessage, [102_400, 10_000, 1 << 20]),
      ("bytes of an API call", \.sizes.apiBody, [1 << 20, 10_000, 4 << 20]),
      ("channels of an event", \.channelsOfEvent, [100, .max, 100]),
      ("events of a batch", \.batch, [10, .max, 10]),
      ("members of a presence channel", \.presenceMembers, [100, .max, 100]),
      ("characters of a user's id", \.sizes.userID, [128, .max, .max]),
      ("bytes of a user object", \.sizes.channelData, [1024, .max, 2048]),
    ] as [(String, KeyPath<ServerLimits, Int> & Sendable, [Int])])
  func `limits are those of each server`(
    what: String, limit: KeyPath<ServerLimits, Int> & Sendable, expected: [Int]
  ) {
    #expect(Dialect.allCases.map { $0.limits[keyPath: limit] } == expected, "\(what)")
  }

  @Test func `only Pusher limits client events, and soketi alone its own silence`() {
    #expect(Dialect.allCases.map(\.limits.clientEventsPerSecond) == [10, nil, nil])
    #expect(Dialect.allCases.map(\.limits.times.ownSilence) == [nil, nil, .seconds(120)])
    #expect(Dialect.allCases.map(\.limits.times.ping) == [nil, .seconds(60), nil])
    #expect(
      Dialect.allCases.map(\.limits.times.activity) == [.seconds(120), .seconds(30), .seconds(30)])
  }
}
