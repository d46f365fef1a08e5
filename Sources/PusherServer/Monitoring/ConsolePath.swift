internal import PusherCore

/// The paths of the console.
package enum ConsolePath {
  package static let page = "/console"

  /// Returns whether the path is the page's or one below it.
  static func isOwn(_ path: String) -> Bool {
    path.isSame(as: page) || path.begins(with: page + "/")
  }
}
