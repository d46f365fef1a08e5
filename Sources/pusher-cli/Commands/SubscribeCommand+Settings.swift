internal import PusherCore

extension SubscribeRun {
  func readSettingsAgain() -> Bool {
    guard !origin.files.isEmpty else { return false }
    reading.begin()
    return true
  }

  func take(_ new: SubscribeSettings) throws {
    let files = origin.files.joined(separator: ", ")
    guard new.connection.service == settings.connection.service else {
      return reading.reject("a change of --service needs a restart")
    }
    for warning in new.common.warnings where !settings.common.warnings.contains(warning) {
      diagnostics.warning(warning.text)
    }
    let changes = new.changes(since: settings)
    let moved = settings.moved(to: new)
    let rest = moved.isSame(as: new) ? "" : "other settings apply after a restart"
    trial?.cancel()
    trial = nil
    guard !changes.isEmpty else {
      return diagnostics.notice(
        "read \(files) again: \(rest.isEmpty ? "nothing has changed" : rest)")
    }
    let what = changes.joined(separator: ", ")
    let place = "\(new.connection.host):\(new.connection.port)"
    diagnostics.info("read \(files): \(what) changed; trying \(place)")
    try begin(moved) { [unowned self] in
      diagnostics.notice(
        "read \(files) again: \(what) changed; now using \(place)"
          + (rest.isEmpty ? "" : "; \(rest)"))
    }
  }

  /// Tries new settings on a second connection, and then ends the present one.
  private func begin(_ new: SubscribeSettings, onSuccess: @escaping () -> Void) throws {
    let discovery = try new.discovery.map {
      try Discovery($0, loop: run.loop, channels: members, diagnostics: diagnostics)
    }
    let isDiscoveryNew = new.discovery != settings.discovery
    let leaving = isDiscoveryNew ? self.discovery?.joined ?? NameSet() : NameSet()
    let trial = try SettingsTrial(
      new, channels: members.allowed.filter { !leaving.contains($0) }, printer: printer,
      loop: run.loop, longestSilence: run.readiness.manager.longestSilence,
      diagnostics: diagnostics)
    self.trial = trial
    trial.onFailure = { [unowned self] reason in
      self.trial = nil
      reading.reject(reason)
    }
    trial.onSuccess = { [unowned self] in
      if isDiscoveryNew { self.discovery?.retire() }
      changeOver(to: trial)
      if isDiscoveryNew {
        self.discovery = discovery
        watchDiscovery()
        discovery?.connected()
      }
      onSuccess()
    }
    trial.start()
  }

  private func changeOver(to trial: SettingsTrial) {
    self.trial = nil
    let now = run.loop.now
    let former = feed
    let start = former.session.startOfLoss(at: now)
    let wasConnected = former.session.isConnected
    let differsInPlace = trial.settings.differsInPlace(than: settings)
    former.retire()
    channels.move(to: trial.settings) {
      guard wasConnected else { return }
      let loss = ConnectionLoss.dropped("the settings have changed")
      feed(reports: .disconnected(loss, code: nil, retryIn: .zero, attempt: 0), at: now)
    }
    settings = trial.settings
    trial.feed.succeed(former)
    run.proceed(with: trial.feed)
    trial.handOver(to: self)
    take(trial.held, withEvents: differsInPlace)
    members.move(to: trial.feed)
    if let start { feed(reports: .gap(from: start, to: now), at: now) }
  }

  /// Handles events that the trial held; events of the same app also came on the former connection.
  private func take(_ held: HeldEvents, withEvents: Bool) {
    var rest = held
    let now = run.loop.now
    while let item = rest.take() {
      switch item {
      case .event(let bytes, let isDecrypted, let name):
        guard withEvents else { continue }
        Envelope.with(bytes, isDecrypted: isDecrypted) { feed(received: $0, named: name, at: now) }
      case .session(let event): feed(reports: event, at: now)
      case .connection(let event): feed(reports: event, at: now)
      }
    }
  }
}
