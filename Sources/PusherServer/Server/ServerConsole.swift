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
