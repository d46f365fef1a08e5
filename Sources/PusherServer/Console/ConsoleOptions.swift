internal import PusherCore

/// The options of the page that shows what happens on a server.
package struct ConsoleOptions: Sendable, Equatable, CustomReflectable {
  /// What a browser has to show to use the page; never logged.
  package let token: String
  /// Of the program, to be shown.
  package let version: String
  /// The file of a past run, which is shown in place of what happens now.
  package let recording: String?
  /// Who may use the page.
  package let reach: Reach

  /// - Parameter token: Letters, digits, `-`, `.`, `_` and `~` alone; made for one run.
  package init(
    token: String, version: String, recording: String? = nil, reach: Reach = .thisMachine
  ) {
    (self.token, self.version, self.recording) = (token, version, recording)
    self.reach = reach
  }

  /// Empty, so that `dump` shows no secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The server that a console shows.
protocol ConsoleHost: AnyObject {
  var loop: EventLoop { get }
  var applications: Applications { get }
  var feed: ConsoleFeed { get }
  var faults: FaultScript { get }
  /// Whether nodes of other processes share the channels.
  var isShared: Bool { get }

  /// The sockets of an app on this server.
  func connections(ofApp id: String) -> [ConnectionFacts]
  /// Ends a socket of an app. Returns whether there was one.
  func disconnect(_ socketID: String, ofApp id: String) -> Bool
  /// Sends a webhook of an app, signed now. Returns whether the app has receivers.
  func sendWebhook(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool
  /// Lets the faults that end connections have those that are there.
  func stageGreetings()
}

/// A connected socket.
struct ConnectionFacts: Sendable {
  let socketID: String
  let peer: SocketAddress?
  /// For how long it has been there.
  let age: Duration
  /// The user that is signed in on it.
  let userID: String?
  let channels: NameSet
  /// Messages from the client, and to it.
  let received: Int
  let sent: Int
  /// What the client has not taken yet.
  let queuedBytes: Int
}
