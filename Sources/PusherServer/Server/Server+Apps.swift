package import PusherCore

extension Server {
  /// Replaces the apps.
  ///
  /// A changed app keeps its sockets, unless it is disabled (4003). Sockets of removed apps are
  /// closed (4001).
  ///
  /// - Throws: ``TLSError`` if webhooks cannot be sent over TLS; then nothing has changed.
  package func renew(_ apps: [Application]) throws(TLSError) -> AppChanges {
    try WebhookRouter.check(apps, options.webhooks)
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
        session.close(.unknownApplication, reason: "this server no longer serves the app", at: now)
      } else if !session.hub.application.isEnabled {
        session.close(.applicationDisabled, reason: "The app is disabled", at: now)
      }
    }
  }

  func forgetUnusedApps() {
    let deserted = applications.forgetUnusedApps()
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
      // The certificates could be checked before the nodes got the apps, but not any more.
      report(.dropped(reason: "webhooks over TLS: \(error)"))
    }
  }
}
