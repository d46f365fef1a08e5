internal import PusherCore

extension Dialect {
  package static let soketi: Dialect = {
    var dialect = Dialect.compatible(
      "soketi", name: "soketi",
      [
        .sendsWebhooks, .knowsSignIn, .sendsCloseFrames, .checksTimestamps, .countsEmptyChannels,
        .countsMembersTwice, .tellsUserInfo, .acceptsEveryData, .readsBinary,
      ])
    dialect.limits.times.ownSilence = .seconds(120)
    // Room for the longest data with its envelope, and for a batch of such events.
    dialect.limits.sizes.clientMessage = 1 << 20
    dialect.limits.sizes.apiBody = 4 << 20
    dialect.limits.sizes.eventData = 102_400
    dialect.limits.sizes.channelData = 2048
    dialect.limits.times.cachedEvent = .seconds(3600)
    dialect.text.pongData = .object([])
    dialect.text.subscriptionData = nil
    dialect.text.returnsSignature = true
    dialect.text.omitsMissingInfo = true
    dialect.text.explainsRefusals = false
    dialect.mistakes[.uselessMessage] = .silence
    dialect.mistakes[.clientEvent] = .code(.clientEventRate)
    dialect.mistakes[.notMember] = .silence
    dialect.connectionQuota = .overCapacity
    dialect.done = ["ok": true]
    dialect.batchDone = dialect.done
    dialect.refused = soketiRefusal
    dialect.worded = { answer in
      guard answer.status >= 400, !answer.isJSON else { return answer }
      return .json(
        ["error": .string(answer.body), "code": .integer(answer.status)],
        status: answer.status, allow: answer.allow)
    }
    dialect.page = { ["/", "/ready"].contains($0) ? .text("OK") : nil }
    dialect.attributes = { channel in
      let isPresence = ChannelKind(channelName: channel.name) == .presence
      return soketiAttributes(channel)
        + (isPresence ? [.init("user_count", .integer(channel.memberCount))] : [])
    }
    // A list has no user counts.
    dialect.listed = soketiAttributes
    // soketi treats values that are false in JavaScript as missing.
    dialect.dataRefusal = { data in
      switch data {
      case nil, .null, .bool(false), .string(""): break
      case .number(let digits) where Double(digits) == 0: break
      default: return nil
      }
      return .refusal(400, "the event has no data")
    }
    return dialect
  }()

  @Sendable private static func soketiAttributes(_ channel: ChannelFacts) -> [JSONValue.Member] {
    [
      .init("subscription_count", .integer(channel.subscriptions)),
      .init("occupied", .bool(channel.subscriptions > 0)),
    ]
  }

  /// soketi sends its own event for a refused subscription, with `type` first if there is one.
  @Sendable private static func soketiRefusal(
    _ text: MessageText, _ refusal: ProtocolRefusal, _ channel: String
  ) -> String {
    let (type, words, status): (String?, String, Int) =
      switch refusal.cause {
      case .unauthorized: ("AuthError", refusal.reason, 401)
      case .longName:
        (
          "LimitReached",
          "The channel name is longer than the allowed \(ChannelName.maximumLength) characters.",
          4009
        )
      case .name: (nil, refusal.reason, 4009)
      case .fullChannel:
        ("LimitReached", "The maximum members per presence channel limit was reached", 4100)
      case .longMember: ("LimitReached", refusal.reason, 4301)
      case .malformedMember, .other: ("ServerError", refusal.reason, 4302)
      }
    let data = JSONValue.object(present: [
      "type": type.map(JSONValue.string), "error": .string(words), "status": .integer(status),
    ])
    return text.subscriptionError(channel: channel, data: data)
  }
}
