package import PusherCore

package struct ServerOptions: Sendable, Equatable {
  package var listen = ListenAddress(port: 6001)
  /// At least one app, with distinct IDs and keys.
  package var applications: [Application]
  /// With a certificate the server speaks TLS only.
  package var certificate: CertificateFiles?
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

  package init(applications: [Application]) { self.applications = applications }
}

package struct CertificateFiles: Sendable, Equatable {
  /// PEM file of the certificate, and of its key unless there is a file for that.
  package let file: String
  package let key: String?

  /// Holds the texts of files that can be read only once.
  package let tls: TLSConfiguration

  package init(_ file: String, key: String? = nil, tls: TLSConfiguration = TLSConfiguration()) {
    (self.file, self.key, self.tls) = (file, key, tls)
  }

  /// Returns true if the certificate can be read again.
  package var canChange: Bool { tls.kept[file] == nil }

  func context() throws(TLSError) -> TLSContext {
    try .server(certificateFile: file, keyFile: key ?? file, kept: tls.kept)
  }
}
