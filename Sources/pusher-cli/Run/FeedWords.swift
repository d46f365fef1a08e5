internal import PusherCore

/// A protocol's messages about its connections; makes texts and prints nothing.
protocol FeedWords: AnyObject {
  /// The second look at the address of a failed connection.
  var look: SecondLook { get }
  /// The fate of the events of a gap.
  var consequenceOfGap: String { get }
  /// Members of a gap's line besides its times.
  var membersOfGap: [JSONValue.Member] { get }

  func redirected(to place: String)
  /// Notes the event after which the stream begins, for the gap that follows.
  func resumed(after place: String, insteadOf asked: String)
  /// Resets the address after the end of a connection.
  func closed()
  /// Returns the reason for a loss; `code` explains it, if the protocol has codes.
  func cause(_ loss: ConnectionLoss, _ code: Int?) -> String
  func number(_ loss: ConnectionLoss, _ code: Int?) -> Int?
  /// Words a retry; `nil` if it needs no message.
  func retry(_ loss: ConnectionLoss, _ code: Int?, in delay: Duration, wasOpen: Bool) -> FeedNotice?
  /// Words the end of a gap.
  func back(after length: Duration) -> FeedNotice
  /// Words the gap itself.
  func nature(of length: Duration) -> String
  func problem(_ loss: ConnectionLoss, isFirst: Bool) -> NetworkProblem?
  /// Words the last loss and a remedy.
  ///
  /// - Parameters:
  ///   - isFirst: Whether there was no connection before. After a success the route is right.
  ///   - isFound: Whether a look found the other protocol.
  func explanation(_ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool) -> String
}

extension FeedWords {
  var membersOfGap: [JSONValue.Member] { [] }
  func resumed(after place: String, insteadOf asked: String) {}
  func nature(of length: Duration) -> String { "\(length.inWords) without a connection" }
}

enum FeedNotice {
  case warning(String)
  case info(String)

  func say(by diagnostics: Diagnostics) {
    switch self {
    case .warning(let text): diagnostics.warning(text)
    case .info(let text): diagnostics.info(text)
    }
  }
}
