/// What the client's own thread tells about the user.
extension ClientDriver {
  /// Reports the result of a sign-in and changes of the watchlist.
  func reportUser(_ event: SessionEvent, _ run: ClientRun) {
    switch event {
    case .signedIn(let userID, let userData): signedIn(run, userID, userData)
    case .signInFailed(let failure): userFailed(failure, run)
    case .signInDelayed(let reason, let delay):
      log("the user is asked for again in \(delay.inWords): \(reason)")
    case .watchlist(let isOnline, let userIDs):
      let change = PusherWatchlistEvent(name: isOnline ? "online" : "offline", userIds: userIDs)
      run.dispatcher.dispatch(
        change.name, to: connection.userState.watchlist,
        data: [
          "name": .string(change.name), "user_ids": .array(userIDs.map(JSONValue.string)),
        ])
      delegate?.watchlistChanged(change)
    default: break
    }
  }

  private func signedIn(_ run: ClientRun, _ userID: String, _ userData: JSONValue) {
    log("signed in as user \(userID)")
    let name = UserChannel.name(userID: userID)
    for former in run.dispatcher.channels.names
    where !former.isSame(as: name) && UserChannel.userID(channelName: former) != nil {
      run.dispatcher.channels[former] = nil
    }
    if run.dispatcher.channels[name] == nil {
      run.dispatcher.channels[name] = PusherChannel(
        name: name, connection: connection, bindings: connection.userState.bindings)
    }
    connection.userState.noteSignedIn(userID, userData)
    run.dispatcher.dispatch(publicName("signin_success"), channel: nil) {
      ["user_data": .string(userData.jsonText)]
    }
    delegate?.signedIn(userId: userID, userData: userData)
  }

  /// The user is not signed in, or gets no events of the user's own.
  func userFailed(_ failure: SubscriptionFailure, _ run: ClientRun) {
    log("signing in failed: \(failure.message)")
    connection.userState.noteFailed(failure)
    let answer = run.signer.takeUserAnswer()
    delegate?.failedToSignIn(response: answer?.response, data: answer?.body, error: failure)
  }
}
