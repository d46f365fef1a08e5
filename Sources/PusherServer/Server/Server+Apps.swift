internal import PusherCore

// The apps of a node: at the start, and when they change while it serves.
extension Server {
  /// The place of an app's hub, among nodes of other processes or of this one.
  func place(for setup: AppSetup, in apps: ServedApps) -> any HubNode {
    link?.place(for: setup) ?? apps.place(for: setup, node: index)
  }

  /// Whether this node sends webhooks.
  var sendsWebhooks: Bool { index == LocalApp.webhookNode || link != nil }

  /// Serves these apps from now on.
  func take(_ apps: ServedApps) {
    guard !isStopping else { return }
    let now = loop.now
    let gone = applications.renew(apps.setups) { place(for: $0, in: apps) }
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
    for hub in deserted where !applications.hubs.contains(where: { $0.node === hub.node }) {
      link?.giveUp(hub.node)
    }
    renewWebhooks()
  }

  private func renewWebhooks() {
    guard sendsWebhooks else { return }
    do throws(TLSError) {
      try webhooks.renew(applications.hubs + applications.leaving)
    } catch {
      // Before any node got the apps it was seen that certificates can be checked: the trust has gone since.
      report(.dropped(reason: "webhooks over TLS: \(error)"))
    }
  }
}
