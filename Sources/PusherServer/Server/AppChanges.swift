internal import PusherCore

package struct AppChanges: Sendable, Equatable, CustomStringConvertible {
  /// IDs in the order of the apps.
  package let new: [String]
  package let gone: [String]
  package let changed: [String]

  init(from former: [Application], to applications: [Application]) {
    func app(_ id: String, in apps: [Application]) -> Application? {
      apps.first { $0.id.isSame(as: id) }
    }
    new = applications.map(\.id).filter { app($0, in: former) == nil }
    gone = former.map(\.id).filter { app($0, in: applications) == nil }
    changed = applications.filter { new in app(new.id, in: former).map { $0 != new } ?? false }.map(
      \.id)
  }

  /// A summary for a message; "nothing has changed" if there is no difference.
  package var description: String {
    func part(_ ids: [String], _ one: String, _ several: String) -> String? {
      guard let first = ids.first else { return nil }
      return ids.count == 1
        ? "app '\(first)' \(one)"
        : "apps " + ids.map { "'\($0)'" }.joined(separator: ", ") + " \(several)"
    }
    let parts = [
      part(new, "is new", "are new"), part(changed, "has changed", "have changed"),
      part(gone, "is gone", "are gone"),
    ].compactMap(\.self)
    return parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; ")
  }
}
