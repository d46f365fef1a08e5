#if Redis
  internal import PusherCore

  // Counts of subscribers, and what is noted for the app's webhooks.
  extension RedisNode {
    /// The message with a channel's count, cut where the number stands; nothing where counts are not sent.
    func countText(_ name: String) -> (before: String, after: String) {
      guard setup.application.sendsSubscriptionCounts, setup.naming.kind(of: name) != .presence,
        !name.begins(with: "#")
      else { return ("", "") }
      let mark = 987_654_321_987
      let text = Array(setup.text.subscriptionCount(channel: name, count: mark).utf8)
      let digits = Array("\(mark)".utf8)
      // The last one, since a channel may have any digits in its name.
      let place = text.indices.last { text[$0...].starts(with: digits) } ?? 0
      return (
        String(decoding: text[..<place], as: UTF8.self),
        String(decoding: text[(place + digits.count)...], as: UTF8.self)
      )
    }

    /// The count of a channel has changed: small ones are told at once, by the script.
    func noteCount(_ name: String, _ count: Int) {
      guard !countText(name).before.isEmpty, count > 0 else { return }
      if counts.note(name, count: count) { noteTold(count, name) }
    }

    private func noteTold(_ count: Int, _ name: String) {
      note(.init(.subscriptionCount, name, details: [.init("subscription_count", .integer(count))]))
    }

    func tellDueCounts(at now: Instant) {
      for name in counts.takeDue(at: now) where isReady {
        let (before, after) = countText(name)
        let generation = generation
        link.run(
          RedisScripts.tellCount, keys: [keys.channel(name)[0], keys.counted(name)],
          arguments: [keys.bus(name)]
            + [name, before, after, "\(SubscriptionCounts.interval.components.seconds * 900)"]
            .map { Array($0.utf8) }
        ) { [weak self] result in
          self?.check(result, to: "the count of \(name)", since: generation)
          if case .success(.integer(let count)) = result, count > 0 {
            self?.noteTold(Int(count), name)
          }
        }
      }
    }

    func noteJoined(_ name: String, as member: Member?, isFirst: RedisChange, isNew: RedisChange) {
      note(.init(.channelOccupied, name), isFirst)
      if let member {
        note(.init(.memberAdded, name, userID: member.userID, userInfo: member.info), isNew)
      }
    }

    /// Notes a departure; one that is held back is remembered until it is told.
    func noteDeparture(_ notice: WebhookNotice, _ change: RedisChange) {
      note(notice, change)
      guard change == .held else { return }
      held.append(
        RedisHeldDeparture(
          channel: notice.channel, userID: notice.userID, due: loop.now.advanced(by: webhookDelay)))
      onHeld()
    }

    private func note(_ notice: WebhookNotice, _ change: RedisChange) {
      switch change {
      case .none: return
      case .told: note(notice)
      case .held:
        var notice = notice
        notice.audience = .console
        note(notice)
      }
    }

    func note(_ notice: WebhookNotice) {
      guard setup.notesChanges, !notice.channel.begins(with: "#") else { return }
      notices.append(notice)
    }

    func takeNotices() -> [WebhookNotice] {
      guard !notices.isEmpty else { return [] }
      defer { notices.removeAll(keepingCapacity: true) }
      return notices
    }
  }
#endif
