/// By which names the server may be asked for: against pages whose own name has been made to lead here (DNS rebinding).
///
/// Such a page asks its own server, so that the browser sends no `Origin` with what only reads; but the name in the
/// `Host` field is the page's.
package struct HostPolicy: Sendable, Equatable {
  /// Beside the local ones.
  package var allowed: Set<LocalHost>
  /// Whether other machines reach the server too, by names that are not known here; programs may use any of them.
  package var isPublic: Bool

  package init(allowed: Set<LocalHost> = [], isPublic: Bool = false) {
    self.allowed = allowed
    self.isPublic = isPublic
  }

  /// Whether the server may be asked for by this `Host`, which is empty where there is no name.
  package func allows(_ field: String) -> Bool {
    guard !isPublic, !field.isEmpty else { return true }
    guard let (host, _) = LocalHost.split(field) else { return false }
    return host.isLocal || allowed.contains(host)
  }
}
