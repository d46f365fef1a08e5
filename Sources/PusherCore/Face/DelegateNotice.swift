enum DelegateNotice: Sendable {
  case changed(from: ConnectionState, to: ConnectionState)
  case subscribed(channel: String)
  case subscriptionFailed(
    channel: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)
  /// Of the client's delegates only the asynchronous one gets these.
  case memberAdded(PusherPresenceChannelMember, PusherPresenceChannel)
  case memberRemoved(PusherPresenceChannelMember, PusherPresenceChannel)
  case signedIn(userID: String, userData: JSONValue)
  case signInFailed(response: AuthResponse?, data: String?, error: SubscriptionFailure)
  case watchlist(PusherWatchlistEvent)
  case subscriptionCount(channel: String, Int)
  case log(String)
  case error(PusherError)
  case undecrypted(event: String, channel: String, data: String?)
  case connected
  case disconnected(ConnectionLoss?, willRetry: Bool)
  case failed(any Error, willRetry: Bool)
  case gap(PusherGap, length: Duration)
  case dropped(Int)

  func tell(_ delegate: any PusherDelegate, of connection: PusherConnection) {
    switch self {
    case .changed(let old, let new): delegate.changedConnectionState(from: old, to: new)
    case .subscribed(let channel): delegate.subscribedToChannel(name: channel)
    case .subscriptionFailed(let channel, let response, let data, let error):
      delegate.failedToSubscribeToChannel(
        name: channel, response: response, data: data, error: error)
    case .memberAdded, .memberRemoved: break
    case .signedIn(let userID, let userData): delegate.signedIn(userId: userID, userData: userData)
    case .signInFailed(let response, let data, let error):
      delegate.failedToSignIn(response: response, data: data, error: error)
    case .watchlist(let event): delegate.watchlistChanged(event)
    case .subscriptionCount(let channel, let count):
      delegate.subscriptionCountChanged(channelName: channel, count: count)
    case .log(let message): delegate.debugLog(message: message)
    case .error(let error): delegate.receivedError(error: error)
    case .undecrypted(let event, let channel, let data):
      delegate.failedToDecryptEvent(eventName: event, channelName: channel, data: data)
    case .connected: delegate.connectionDidConnect(connection)
    case .disconnected(let loss, let willRetry):
      delegate.connectionDidDisconnect(connection, error: loss, willAttemptReconnect: willRetry)
    case .failed(let error, let willRetry):
      delegate.connectionDidFail(connection, error: error, willAttemptReconnect: willRetry)
    case .gap(_, let length): delegate.connectionMayHaveMissedEvents(connection, during: length)
    case .dropped(let count): delegate.connectionDroppedEvents(connection, count: count)
    }
  }

  func tell(_ delegate: any PusherAsyncDelegate, of connection: PusherConnection) async {
    switch self {
    case .changed(let old, let new): await delegate.changedConnectionState(from: old, to: new)
    case .subscribed(let channel): await delegate.subscribedToChannel(name: channel)
    case .subscriptionFailed(let channel, let response, let data, let error):
      await delegate.failedToSubscribeToChannel(
        name: channel, response: response, data: data, error: error)
    case .memberAdded(let member, let channel): await delegate.memberAdded(member, to: channel)
    case .memberRemoved(let member, let channel):
      await delegate.memberRemoved(member, from: channel)
    case .signedIn(let userID, let userData):
      await delegate.signedIn(userId: userID, userData: userData)
    case .signInFailed(let response, let data, let error):
      await delegate.failedToSignIn(response: response, data: data, error: error)
    case .watchlist(let event): await delegate.watchlistChanged(event)
    case .subscriptionCount(let channel, let count):
      await delegate.subscriptionCountChanged(channelName: channel, count: count)
    case .log(let message): await delegate.debugLog(message: message)
    case .error(let error): await delegate.receivedError(error: error)
    case .undecrypted(let event, let channel, let data):
      await delegate.failedToDecryptEvent(eventName: event, channelName: channel, data: data)
    case .connected: await delegate.connectionDidConnect(connection)
    case .disconnected(let loss, let willRetry):
      await delegate.connectionDidDisconnect(
        connection, error: loss, willAttemptReconnect: willRetry)
    case .failed(let error, let willRetry):
      await delegate.connectionDidFail(connection, error: error, willAttemptReconnect: willRetry)
    case .gap(let gap, _): await delegate.connectionMayHaveMissedEvents(connection, in: gap)
    case .dropped(let count): await delegate.connectionDroppedEvents(connection, count: count)
    }
  }
}

/// Queue of an asynchronous delegate, with the task that calls it.
final class DelegateQueue: Sendable {
  private let queue: EventQueue<DelegateNotice>
  private let task: Task<Void, Never>

  init(of connection: PusherConnection) {
    let queue = EventQueue<DelegateNotice>(.suspending) { [weak connection] in
      connection?.hold(reading: $0)
    } whenCancelled: { _, _ in
    }
    self.queue = queue
    task = Task { [weak connection] in
      while let notice = await queue.next()?.event {
        guard let connection, let delegate = connection.asyncDelegate else { continue }
        await notice.tell(delegate, of: connection)
      }
    }
  }

  func add(_ notice: DelegateNotice) { queue.add(notice) }

  /// Drops all notices and ends the task.
  func end() {
    queue.cancel()
    task.cancel()
  }
}
