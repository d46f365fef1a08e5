#if Redis
  internal import PusherCore

  /// Result of a change, as ``RedisScripts`` return it.
  enum RedisChange: Int64 {
    /// Nothing has changed.
    case none = 0
    /// The change is reported to clients and webhooks.
    case told = 1
    /// The webhook of a departure is delayed, or an arrival cancels a delayed departure.
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

  /// A departure whose webhook is delayed.
  struct RedisHeldDeparture {
    let channel: String
    /// `nil` for the last subscriber of a channel.
    let userID: String?
    let due: Instant
  }

  // Departures whose webhooks are delayed.
  //
  // Redis holds them for all nodes of the app. An arrival on any node removes its departure in the step that counts the
  // arrival. One node removes a departure that is due, and reports it. So webhooks report arrivals and departures by turns.
  extension RedisNode {
    /// Delay of a departure in milliseconds, as text; empty for an app without webhooks or without a delay.
    var delayText: String {
      guard !setup.application.webhooks.isEmpty, webhookDelay > .zero else { return "" }
      return "\(max(webhookDelay.wholeNanoseconds / 1_000_000, 1))"
    }

    /// When the first delayed departure of this node is due.
    var departureDue: Instant? { isReady ? held.first?.due : nil }

    func tellDueDepartures(at now: Instant) {
      if let departureDue, departureDue <= now { tellDepartures() }
    }

    /// Reports all departures that are due, those of dead nodes too.
    func tellDepartures() {
      if isReady { takeDepartures(all: false) }
    }

    /// Removes departures from Redis and reports them.
    ///
    /// - Parameter all: Whether to report departures that are not due yet, because this is the last node.
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

    /// Stores the delayed departures again after Redis was emptied, except where the user or a subscriber is back.
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
