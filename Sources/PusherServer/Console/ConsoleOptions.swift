internal import PusherCore

package struct ConsoleOptions: Sendable, Equatable, CustomReflectable {
  /// Secret that a browser must send; never logged.
  package let token: String
  package let version: String
  /// File of a past run, shown instead of current events.
  package let recording: String?
  package let reach: Reach

  /// - Parameter token: Only letters, digits, `-`, `.`, `_` and `~`; new for each run.
  package init(
    token: String, version: String, recording: String? = nil, reach: Reach = .thisMachine
  ) {
    (self.token, self.version, self.recording) = (token, version, recording)
    self.reach = reach
  }

  /// Empty, so that `dump` shows no secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

protocol ConsoleHost: AnyObject {
  var loop: EventLoop { get }
  var applications: Applications { get }
  var feed: ConsoleFeed { get }
  var faults: FaultScript { get }
  /// True if other processes share the channels.
  var isShared: Bool { get }

  func connections(ofApp id: String) -> [ConnectionFacts]
  func disconnect(_ socketID: String, ofApp id: String) -> Bool
  /// Returns false if the app has no receivers.
  func sendWebhook(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool
  /// Applies faults to connections that already exist.
  func stageGreetings()
}

struct ConnectionFacts: Sendable {
  let socketID: String
  let peer: SocketAddress?
  let age: Duration
  let userID: String?
  let channels: NameSet
  /// Number of messages from and to the client.
  let received: Int
  let sent: Int
  /// Output that the client has not taken yet, in bytes.
  let queuedBytes: Int
}
