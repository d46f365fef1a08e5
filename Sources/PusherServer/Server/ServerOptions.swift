package import PusherCore

package struct ServerOptions: Sendable, Equatable {
  /// An address without brackets, or a name of this machine.
  package var host = "127.0.0.1"
  /// 0 lets the system pick a free port.
  package var port: UInt16 = 6001
  /// Lets other servers with this option share the port.
  package var reusesPort = false
  /// A listening socket that replaces host and port.
  package var handedSocket: HandedSocket?
  /// At least one app, with distinct IDs and keys.
  package var applications: [Application]
  /// PEM files; with a certificate the server speaks TLS only, and its file may hold the key too.
  package var certificateFile: String?
  package var keyFile: String?
  /// Accepts permessage-deflate; large events are then compressed once for all clients with it.
  package var acceptsCompression = false
  package var limits = ServerLimits()
  package var webhooks = WebhookPolicy()
  package var access = AccessPolicy()
  /// Access to ``AuthEndpoint``, which lets connected sockets subscribe to any channel.
  package var authEndpoints = Reach.nobody
  package var faults: [StagedFault] = []
  package var console = Reach.nobody
  package var dialect = Dialect.pusher
  package var service = PusherService.pusher

  package init(applications: [Application]) {
    self.applications = applications
  }
}
