package import PusherCore

/// What a server is made of.
package struct ServerOptions: Sendable, Equatable {
  /// An address without brackets, or a name of this machine.
  package var host = "127.0.0.1"
  /// 0 lets the system pick a free one.
  package var port: UInt16 = 6001
  /// The apps that are served; at least one, with distinct ids and keys.
  package var applications: [Application]
  /// "" or a path that begins with a slash and does not end with one, before `/app` and `/apps`.
  package var pathPrefix = ""
  /// PEM files; with both of them the server speaks TLS only.
  package var certificateFile: String?
  package var keyFile: String?
  /// Whether clients that offer permessage-deflate may compress what they send; what they get stays plain.
  package var acceptsCompression = false
  package var limits = ServerLimits()
  package var webhooks = WebhookPolicy()
  /// Which pages may speak to the server, and by which names it may be asked for.
  package var access = AccessPolicy()
  /// Whether ``AuthEndpoint`` answers: the sockets that are connected may then join any channel.
  package var hasAuthEndpoints = false
  /// What goes wrong on purpose from the beginning.
  package var faults: [StagedFault] = []
  /// Whose answers it gives.
  package var dialect = Dialect.pusher
  /// What clients and server call things.
  package var service = Service.pusher

  package init(applications: [Application]) {
    self.applications = applications
  }
}
