package import PusherCore

/// The console of a server, which the module PusherConsole provides.
package protocol ServerConsole: AnyObject {
  /// Returns the stream of entries that a request asks for; `nil` for other requests.
  func stream(
    for request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> (any ConnectionSocket)?
  /// Starts to answer a request for the page or for one of its calls.
  func begin(_ request: HTTPRequestReader.Request, at now: Instant) -> CallBeginning
  /// Sends the waiting entries to the streams.
  func flush(at now: Instant)
  /// Reports a changed list of apps to the streams.
  func appsChanged()
}

/// The server that a console shows.
package protocol ConsoleHost: AnyObject {
  var loop: EventLoop { get }
  var applications: Applications { get }
  var feed: ServerFeed { get }
  var faults: FaultScript { get }
  /// True if other processes share the channels.
  var isShared: Bool { get }
  /// True if the authorisation endpoints answer.
  var signsChannels: Bool { get }

  func connections(ofApp id: String) -> [ConnectionFacts]
  func disconnect(_ socketID: String, ofApp id: String) -> Bool
  /// Returns false if the app has no receivers.
  func sendWebhook(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool
  /// Applies faults to connections that already exist.
  func stageGreetings()
}

package struct ConnectionFacts: Sendable {
  package let socketID: String
  package let peer: SocketAddress?
  package let age: Duration
  package let userID: String?
  package let channels: NameSet
  /// Number of messages from and to the client.
  package let received: Int
  package let sent: Int
  /// Output that the client has not taken yet, in bytes.
  package let queuedBytes: Int
}
