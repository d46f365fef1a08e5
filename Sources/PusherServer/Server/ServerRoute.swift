package import PusherCore

/// The part of the server that a request is for.
///
/// ``Server`` answers by route, so that no path is reachable that has no audience here.
package enum ServerRoute: Sendable, Hashable, CaseIterable {
  /// A WebSocket at `/app/KEY`, with which the key decides.
  case socket
  /// The HTTP API, with which the signature decides, and the pages of the dialect.
  case api
  /// An application's endpoints, which sign for every connected socket.
  case authorization
  /// The staged faults.
  case faults
  /// The page that shows what happens, its stream and its calls.
  case console

  /// Who a route is for.
  package enum Audience: Sendable {
    /// Browsers and apps on all machines.
    case clients
    /// Applications on all machines.
    case publicAPI
    /// The developer on this machine, unless an option opens the route.
    case localDevelopment
  }

  package var audience: Audience {
    switch self {
    case .socket: .clients
    case .api: .publicAPI
    case .authorization, .faults, .console: .localDevelopment
    }
  }

  /// Paths that lead to a route for local development where the options have it; of the other routes none is fixed.
  package var paths: [String] {
    switch self {
    case .socket, .api: []
    case .authorization: AuthEndpoint.paths
    case .faults: [FaultControl.path]
    case .console: Console.paths
    }
  }

  /// The route of a request; a route that the options have for nobody is no route, and the API answers.
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
    if Console.isOwn(path) { return .console }
    if path.isSame(as: FaultControl.path) { return .faults }
    return AuthEndpoint.isOwn(path) ? .authorization : .api
  }

  /// The name in messages.
  package var name: String {
    switch self {
    case .socket: "sockets"
    case .api: "the HTTP API"
    case .authorization: "the authorisation endpoints"
    case .faults: FaultControl.path
    case .console: "the console"
    }
  }
}

extension ServerOptions {
  /// Who may use a route.
  package func reach(of route: ServerRoute) -> Reach {
    switch route {
    case .socket, .api: .everybody
    case .authorization: authEndpoints
    case .faults: .thisMachine
    case .console: console?.reach ?? .nobody
    }
  }
}
