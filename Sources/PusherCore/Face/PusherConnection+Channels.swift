extension PusherConnection {
  var wantedChannels: NameTable<PusherChannel> { state.withLock { $0.channels } }

  func channel(_ name: String) -> PusherChannel? { state.withLock { $0.channels[name] } }

  struct SubscribeArguments {
    var auth: PusherAuth?
    var handlers = PusherPresenceChannel.Handlers()
    weak var delegate: (any PusherPresenceChannelDelegate)?
  }

  func subscribe(_ name: String, _ arguments: SubscribeArguments) -> PusherChannel {
    if let failure = Self.failure(name) {
      let channel = make(name, failure)
      post(.refuse(channel, failure))
      return channel
    }
    let channel = state.withLock { state in
      if let channel = state.channels[name] { return channel }
      let channel = make(name, nil)
      if !state.isShutDown { state.channels[name] = channel }
      return channel
    }
    channel.renew(auth: arguments.auth)
    if let presence = channel as? PusherPresenceChannel {
      presence.renew(arguments.handlers)
      if let delegate = arguments.delegate { presence.delegate = delegate }
    }
    post(.subscribe(channel))
    return channel
  }

  /// Returns a presence channel; a name with another prefix gives a failed channel.
  func subscribePresence(_ name: String, _ arguments: SubscribeArguments) -> PusherPresenceChannel {
    // A channel of another kind must not be requested.
    if ChannelKind(channelName: name) == .presence,
      let channel = subscribe(name, arguments) as? PusherPresenceChannel
    {
      return channel
    }
    let failure = SubscriptionFailure.invalidName(
      "'\(name)' is not a presence channel: its name does not begin with presence-")
    let channel = PusherPresenceChannel(name: name, connection: self, failure: failure)
    post(.refuse(channel, failure))
    return channel
  }

  private func make(_ name: String, _ failure: SubscriptionFailure?) -> PusherChannel {
    ChannelKind(channelName: name) == .presence
      ? PusherPresenceChannel(name: name, connection: self, failure: failure)
      : PusherChannel(name: name, connection: self, failure: failure)
  }

  private static func failure(_ name: String) -> SubscriptionFailure? {
    if UserChannel.userID(channelName: name) != nil {
      return .invalidName("sign in to subscribe to the channel of a user")
    }
    return ChannelName.problem(in: name).map(SubscriptionFailure.invalidName)
  }

  func unsubscribe(_ channel: PusherChannel) {
    let isKnown = state.withLock { state in
      guard state.channels[channel.name] === channel else { return false }
      state.channels[channel.name] = nil
      return true
    }
    guard isKnown else { return }
    channel.end()
    post(.unsubscribe(channel))
  }

  func unsubscribeAll() {
    let channels = state.withLock { state in
      defer { state.channels = NameTable() }
      return state.channels
    }
    for channel in channels.elements {
      channel.end()
      post(.unsubscribe(channel))
    }
  }
}

extension SubscriptionFailure {
  fileprivate static func invalidName(_ message: String) -> SubscriptionFailure {
    SubscriptionFailure(type: "InvalidName", message: message)
  }
}
