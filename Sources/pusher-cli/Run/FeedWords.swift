internal import PusherCore

/// The words of a protocol about its connections; it makes texts and says nothing itself.
protocol FeedWords: AnyObject {
  /// The place of a failed connection, for a second look.
  var look: SecondLook { get }
  /// What has become of the events of a gap.
  var consequenceOfGap: String { get }
  /// What to do after a first connection that failed.
  var advice: String? { get }

  /// The server sent the request elsewhere.
  func redirected(to place: String)
  /// The connection is gone; the next begins at the first place again.
  func closed()
  /// Why a connection ended; `code` explains it where the protocol has codes.
  func cause(_ loss: ConnectionLoss, _ code: Int?) -> String
  /// The number that explains a loss.
  func number(_ loss: ConnectionLoss, _ code: Int?) -> Int?
  /// A new attempt follows; `nil` where that is known.
  func retry(_ loss: ConnectionLoss, _ code: Int?, in delay: Duration, wasOpen: Bool) -> Remark?
  /// Events come again after so long.
  func back(after length: Duration) -> Remark
  /// Whether the end of the connection is the end that was wanted.
  func isGoodEnd(_ loss: ConnectionLoss) -> Bool
  /// What a look at the port may explain about the last loss.
  func problem(_ loss: ConnectionLoss, isFirst: Bool) -> NetworkProblem?
  /// Why the last connection ended, and what to do.
  ///
  /// - Parameters:
  ///   - isFirst: Whether there was no connection before; after a success the route is right.
  ///   - isFound: Whether a look has found the other protocol.
  func explanation(_ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool) -> String
}

/// A message, and how much it matters.
enum Remark {
  case warning(String)
  case info(String)

  func say(by diagnostics: Diagnostics) {
    switch self {
    case .warning(let text): diagnostics.warning(text)
    case .info(let text): diagnostics.info(text)
    }
  }
}
