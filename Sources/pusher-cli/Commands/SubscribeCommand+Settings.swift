internal import PusherCore

/// What SIGHUP asks of a run whose settings come from files.
extension SubscribeRun {
  func readSettingsAgain() -> Bool {
    guard !origin.files.isEmpty else { return false }
    if !reading.begin() {
      diagnostics.notice("SIGHUP: an earlier reading goes on; the files are read again after it")
    }
    return true
  }

  func takeRead(_ result: SecondReading<SubscribeSettings>.Answer) {
    guard !run.isEnding else { return }
    do {
      try take(try result.get())
    } catch let error as UsageError {
      keepSettings(error.message)
    } catch {
      keepSettings("\(error)")
    }
  }

  private func keepSettings(_ reason: String) {
    diagnostics.warning("SIGHUP: \(reason); the settings stay as they are")
  }

  /// Goes on with what has changed, and says so in one line.
  private func take(_ new: SubscribeSettings) throws {
    let files = origin.files.joined(separator: ", ")
    guard new.connection.service == settings.connection.service else {
      return keepSettings("another service needs a new start")
    }
    for warning in new.common.warnings where !settings.common.warnings.contains(warning) {
      diagnostics.warning(warning.text)
    }
    let changes = new.changes(since: settings)
    let moved = settings.moved(to: new)
    let rest = moved.isSame(as: new) ? "" : "other settings count from the next start"
    guard !changes.isEmpty else {
      return diagnostics.notice(
        "read \(files) again: \(rest.isEmpty ? "nothing has changed" : rest)")
    }
    try move(to: moved)
    let what = changes.joined(separator: ", ")
    let place = "\(new.connection.host):\(new.connection.port)"
    diagnostics.notice(
      "read \(files) again: \(what) changed; going on with \(place)"
        + (rest.isEmpty ? "" : "; \(rest)"))
  }

  private func move(to new: SubscribeSettings) throws {
    let signsIn = settings.userSignIn == .unwanted && new.userSignIn != .unwanted
    let discovery = try new.discovery.map {
      try Discovery($0, loop: run.loop, channels: members, diagnostics: diagnostics)
    }
    let isDiscoveryNew = new.discovery != settings.discovery
    try channels.move(to: new) {
      let former = feed.fieldSource
      feed.fieldSource = freshFields(new)
      do {
        try feed.move(
          to: new.destination(service: new.connection.service), settings: new.webSocket,
          options: new.sessionOptions(
            service: new.connection.service, longestSilence: run.readiness.manager.longestSilence),
          signer: try new.signer(loop: run.loop), tap: printer, reason: "the settings have changed")
        former?.cancel()
      } catch {
        feed.fieldSource = former
        throw error
      }
    }
    settings = new
    if isDiscoveryNew {
      self.discovery?.retire()
      self.discovery = discovery
      watchDiscovery()
    }
    if signsIn { feed.signIn() }
    run.readiness.manager.status("connecting to \(new.connection.host)")
  }
}
