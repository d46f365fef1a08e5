internal import PusherCore

/// An app as all its nodes serve it.
struct AppSetup: Sendable {
  let application: Application
  /// Those of the app where it has its own.
  let limits: ServerLimits
  let text: MessageText
  let naming: any ChannelNaming

  /// The app on so many nodes of this process.
  func app(nodes: Int = 1) -> LocalApp {
    LocalApp(application, limits: limits, text: text, naming: naming, nodes: nodes)
  }
}
