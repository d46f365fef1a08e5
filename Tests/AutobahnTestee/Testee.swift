internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

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

/// `autobahn-testee URL AGENT`: runs every case of the Autobahn fuzzing server at `URL` as the client `AGENT`.
///
/// The status is 0 when every case was gone through and the server was told to write its report; what the cases
/// came to stands in that report.
@main
struct Main {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    guard words.count == 2, let address = words.first, let agent = words.last else {
      complain("usage: autobahn-testee URL AGENT")
      exit(2)
    }
    // A peer that is gone is seen by the write that fails.
    signal(SIGPIPE, SIG_IGN)
    do {
      try Testee(loop: EventLoop(), address: address, agent: agent).run()
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  private static func complain(_ text: String) {
    let line = [UInt8]("autobahn-testee: \(text)\n".utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
