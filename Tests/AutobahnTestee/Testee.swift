internal import PusherCore

/// What keeps the testee from going through the cases.
struct TesteeError: Error, CustomStringConvertible {
  let description: String
}

/// Goes through the cases of a fuzzing server, one connection each.
///
/// The server's own protocol: `/getCaseCount` answers with the number of cases in one text message,
/// `/runCase?case=N&agent=A` plays one case against an echo, `/updateReports?agent=A` ends the run.
final class Testee {
  private let loop: EventLoop
  private let address: String
  private let agent: String

  /// A testee for the server at `address`, such as `ws://127.0.0.1:9001`.
  init(loop: EventLoop, address: String, agent: String) {
    self.loop = loop
    self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
    self.agent = PercentEncoding.encode(agent)
  }

  /// Runs every case; throws when the server cannot be reached, or does not end a case in time.
  func run() throws {
    guard let text = try visit("/getCaseCount").firstText, let count = Int(text), count > 0 else {
      throw TesteeError(description: "the server does not tell how many cases it has")
    }
    for number in 1...count {
      _ = try visit("/runCase?case=\(number)&agent=\(agent)")
    }
    _ = try visit("/updateReports?agent=\(agent)")
  }

  private func visit(_ target: String) throws -> EchoConnection {
    let url = try HTTPURL(parsing: address + target)
    let connection = EchoConnection(loop: loop, url: url)
    loop.run()
    if let failure = connection.failure {
      throw TesteeError(description: "\(target): \(failure)")
    }
    return connection
  }
}
