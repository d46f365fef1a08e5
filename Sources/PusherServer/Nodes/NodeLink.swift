internal import PusherCore

/// What connects a server with nodes of other processes.
protocol NodeLink: AnyObject {
  /// The place of an app's hub; that of a former hub of the app, if it has not been given up.
  func place(for setup: AppSetup) -> any HubNode
  /// An app is not served any more, and all its sockets have left.
  func giveUp(_ place: any HubNode)
  /// Why the others cannot be reached; `nil` while they can.
  var failure: String? { get }
  /// Calls `done` once it is known whether the others can be reached: they are, or they could not be.
  func whenSettled(_ done: @escaping () -> Void)
  /// Takes leave of the others, and calls `done` when they can know it, at once where they cannot be reached.
  func resign(_ done: @escaping () -> Void)
  func close()
}
