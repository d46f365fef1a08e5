internal import PusherCore

/// An app as all its nodes serve it.
package struct AppSetup: Sendable {
  package let application: Application
  /// Those of the app where it has its own.
  let limits: ServerLimits
  let text: MessageText
  let naming: any ChannelNaming
  /// Who looks on; `nil` where nobody can.
  var watch: Watch?

  /// Whether comings and goings are to be noted.
  var notesChanges: Bool { !application.webhooks.isEmpty || watch?.isWatched == true }
}
