package import PusherCore

/// The options of a server.
package struct ServerOptions: Sendable, Equatable {
  /// An address without brackets, or a name of this machine.
  package var host = "127.0.0.1"
  /// 0 lets the system pick a free one.
  package var port: UInt16 = 6001
  /// Whether other servers may listen on the port at the same time, if they say so too.
  package var reusesPort = false
  /// A socket that counts in place of host and port.
  package var handedSocket: HandedSocket?
  /// The apps that are served; at least one, with distinct ids and keys.
  package var applications: [Application]
  /// "" or a path that begins with a slash and does not end with one, before `/app` and `/apps`.
  package var pathPrefix = ""
  /// PEM files; with both of them the server speaks TLS only.
  package var certificateFile: String?
  package var keyFile: String?
  /// Whether clients that offer permessage-deflate may compress what they send; what is large and for many is compressed for them.
  package var acceptsCompression = false
  package var limits = ServerLimits()
  package var webhooks = WebhookPolicy()
  /// The allowed origins and hosts.
  package var access = AccessPolicy()
  /// Who may use ``AuthEndpoint``: the connected sockets may then subscribe to any channel.
  package var authEndpoints = Reach.nobody
  /// The staged faults at the start.
  package var faults: [StagedFault] = []
  /// The page that shows what happens; `nil` for none.
  package var console: ConsoleOptions?
  /// The dialect of its answers.
  package var dialect = Dialect.pusher
  /// The names of the protocol.
  package var service = PusherService.pusher

  package init(applications: [Application]) {
    self.applications = applications
  }
}
