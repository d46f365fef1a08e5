package import PusherCore

// The apps of a server: at the start, and when they change while it serves.
extension Server {
  /// Serves these apps from now on.
  ///
  /// An app that has changed keeps its sockets, unless it is not enabled any more (4003). The sockets of one that is gone
  /// are closed (4001).
  ///
  /// - Throws: ``TLSError`` when the webhooks cannot be sent over TLS; then nothing has changed.
  package func renew(_ apps: [Application]) throws(TLSError) -> AppChanges {
    try WebhookDesk.check(apps, options.webhooks)
    let changes = AppChanges(from: served, to: apps)
    served = apps
    if !isStopping { take(setups(of: apps), at: loop.now) }
    return changes
  }

  func setups(of apps: [Application]) -> [AppSetup] {
    apps.map {
      AppSetup(
        $0, limits: options.limits, service: options.service, dialect: options.dialect,
        watch: feed.watch)
    }
  }

  private func take(_ setups: [AppSetup], at now: Instant) {
    let gone = applications.renew(setups, in: cluster)
    renewWebhooks()
    console?.appsChanged()
    for session in clients {
      session.renewLimits()
      if gone.contains(where: { $0 === session.hub }) {
        session.close(.unknownApplication, reason: "the app is not served any more", at: now)
      } else if !session.hub.application.isEnabled {
        session.close(.applicationDisabled, reason: "The app is disabled", at: now)
      }
    }
  }

  /// Forgets the apps that are gone and whose last socket has left.
  func forgetDeserted() {
    let deserted = applications.forgetDeserted()
    guard !deserted.isEmpty else { return }
    for hub in deserted where !applications.hubs.contains(where: { $0.member === hub.member }) {
      cluster?.giveUp(hub.member)
    }
    renewWebhooks()
  }

  private func renewWebhooks() {
    do throws(TLSError) {
      try webhooks.renew(applications.all)
    } catch {
      // Before any node got the apps it was seen that certificates can be checked: the trust has gone since.
      report(.dropped(reason: "webhooks over TLS: \(error)"))
    }
  }
}

extension ServerOptions {
  /// The certificate for accepted connections; `nil` for plain ones.
  func incomingTLS() throws(TLSError) -> TLSContext? {
    guard let certificateFile else { return nil }
    return try TLSContext.server(
      certificateFile: certificateFile, keyFile: keyFile ?? certificateFile)
  }
}
