package import PusherCore

/// The apps that all nodes of a process serve.
package struct ServedApps: Sendable {
  /// As the options or the file have them.
  let applications: [Application]
  let setups: [AppSetup]
  /// What the nodes have in common, in the order of the apps.
  private let shared: [LocalApp]

  package init(
    _ applications: [Application], limits: ServerLimits, service: PusherService, dialect: Dialect,
    group: NodeGroup, watch: Watch? = nil
  ) {
    self.applications = applications
    setups = applications.map {
      AppSetup($0, limits: limits, service: service, dialect: dialect, watch: watch)
    }
    shared = group.renew(setups)
  }

  /// The place of an app's hub on a node of this process.
  func place(for setup: AppSetup, node index: Int) -> LocalNode {
    let number = setups.firstIndex { $0.application.id.isSame(as: setup.application.id) }
    return LocalNode(number.map { shared[$0] } ?? LocalApp(setup), index: index)
  }
}

extension Applications {
  /// Serves these apps from now on, on a node of this process; answers the hubs of those that are gone.
  @discardableResult
  package func renew(_ apps: ServedApps, node index: Int) -> [Hub] {
    renew(apps.setups) { apps.place(for: $0, node: index) }
  }
}
