internal import PusherCore

/// What connects a server with nodes of other processes.
protocol NodeLink: AnyObject {
  /// The places of the apps' hubs, in the order of the apps.
  var places: [any HubNode] { get }
  /// Why the others cannot be reached; `nil` while they can.
  var failure: String? { get }
  /// Takes leave of the others, and calls `done` when they can know it, at once where they cannot be reached.
  func resign(_ done: @escaping () -> Void)
  func close()
}
