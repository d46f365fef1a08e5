#if Redis
  internal import PusherCore

  /// How a change is told, as ``RedisScripts`` return it.
  enum RedisChange: Int64 {
    /// Nothing has changed.
    case none = 0
    /// Everybody is told.
    case told = 1
    /// A departure that webhooks do not tell yet, or an arrival that takes such a departure back.
    case held = 2

    init(_ reply: RedisReply) {
      guard case .integer(let number) = reply else {
        self = .none
        return
      }
      self = RedisChange(rawValue: number) ?? .none
    }

    init(_ field: String) {
      self = Int64(field).flatMap(RedisChange.init(rawValue:)) ?? .none
    }
  }

  /// A departure that webhooks do not tell yet.
  struct RedisHeldDeparture {
    let channel: String
    /// `nil` for the last subscriber of a channel.
    let userID: String?
    let due: Instant
  }

  // Departures that are held back for webhooks.
  //
  // They stand in Redis for all nodes of the app. An arrival on any node takes them out in the same step that counts it in; what is
  // due is taken out by one node, which tells it. So a receiver is told of arrivals and departures by turns.
  extension RedisNode {
    /// How long a departure is held back, in milliseconds; empty for an app that is told at once, or never.
    var delayText: String {
      guard !setup.application.webhooks.isEmpty, webhookDelay > .zero else { return "" }
      return "\(max(webhookDelay.wholeNanoseconds / 1_000_000, 1))"
    }

    /// When a departure of this node is due.
    var departureDue: Instant? { isReady ? held.first?.due : nil }

    func tellDueDepartures(at now: Instant) {
      if let departureDue, departureDue <= now { tellDepartures() }
    }

    /// Tells what is due, also what a node held back that is gone.
    func tellDepartures() {
      if isReady { takeDepartures(all: false) }
    }

    /// Takes departures out of Redis and tells them.
    ///
    /// - Parameter all: Whether to tell what is not due yet, since nobody is left to tell it later.
    func takeDepartures(all: Bool) {
      guard !delayText.isEmpty else { return }
      let (generation, now) = (generation, loop.now)
      link.run(
        RedisScripts.takeDepartures, keys: [keys.departed],
        arguments: [Array((all ? "all" : "").utf8)]
      ) { [weak self] result in
        guard let self else { return }
        guard case .success(.array(let values)) = result else {
          return check(result, to: "the list of departures", since: generation)
        }
        for value in values { tell(departure: value.content ?? []) }
        if !all, values.count >= RedisScripts.departurePortion { return tellDepartures() }
        held.removeAll { $0.due <= now }
      }
    }

    private func tell(departure bytes: [UInt8]) {
      guard let fields = RedisFields.decode(bytes), fields.count == 3 else { return }
      var notice =
        fields[1] == "m"
        ? WebhookNotice(.memberRemoved, fields[0], userID: fields[2])
        : WebhookNotice(.channelVacated, fields[0])
      notice.audience = .webhooks
      note(notice)
    }

    /// Holds back once more what an emptied Redis has forgotten, unless the user, or anybody, is there.
    func holdAgain() {
      let generation = generation
      for departure in held {
        let words = [
          departure.channel, departure.userID == nil ? "0" : "1", departure.userID ?? "", delayText,
        ]
        link.run(
          RedisScripts.holdAgain, keys: keys.channel(departure.channel),
          arguments: words.map { Array($0.utf8) }
        ) { [weak self] in
          self?.check($0, to: "the list of departures", since: generation)
        }
      }
    }
  }
#endif
