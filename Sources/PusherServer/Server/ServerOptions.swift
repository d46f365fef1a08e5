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

/// The part of the server that a request is for.
///
/// ``Server`` answers by route, so that the options decide here who reaches each path.
package enum ServerRoute: Sendable, Hashable, CaseIterable {
  /// WebSocket at `/app/KEY`; the key gives access.
  case socket
  /// HTTP API, where the signature gives access, and pages of the dialect.
  case api
  /// Endpoints of an application, which sign for every connected socket.
  case authorization
  case faults
  case console

  /// Paths of a route for local development; the other routes have no fixed paths.
  package var paths: [String] {
    switch self {
    case .socket, .api: []
    case .authorization: AuthEndpoint.paths
    case .faults: [FaultScript.path]
    case .console: ["/console"]
    }
  }

  /// Returns the route of a request; the API answers for routes that the options disable.
  package init(_ head: HTTPRequestHead, _ options: ServerOptions) {
    if ServerHandshake.isUpgrade(head) {
      self = .socket
    } else {
      let path = RequestTarget.path(of: head.target)
      let owner = Self.owner(of: path)
      self = options.reach(of: owner) == .nobody ? .api : owner
    }
  }

  private static func owner(of path: String) -> ServerRoute {
    if path.begins(with: "/apps/") { return .api }
    if isOfConsole(path) { return .console }
    if path.isSame(as: FaultScript.path) { return .faults }
    return AuthEndpoint.isOwn(path) ? .authorization : .api
  }

  /// Returns whether the path is the console's page or one below it.
  static func isOfConsole(_ path: String) -> Bool {
    let page = console.paths[0]
    return path.isSame(as: page) || path.begins(with: page + "/")
  }

  package var name: String {
    switch self {
    case .socket: "sockets"
    case .api: "the HTTP API"
    case .authorization: "the authorisation endpoints"
    case .faults: FaultScript.path
    case .console: "the console"
    }
  }
}

extension HTTPRequestHead {
  var isForRoot: Bool {
    (method == "GET" || method == "HEAD") && RequestTarget.path(of: target).isSame(as: "/")
  }
}

extension ServerOptions {
  package func reach(of route: ServerRoute) -> Reach {
    switch route {
    case .socket, .api: .everybody
    case .authorization: authEndpoints
    case .faults: .thisMachine
    case .console: console
    }
  }
}
