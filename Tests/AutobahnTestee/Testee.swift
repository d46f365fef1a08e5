internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

struct TesteeError: Error, CustomStringConvertible {
  let description: String
}

/// Runs the cases of a fuzzing server, one connection each.
///
/// The server's own protocol: `/getCaseCount` returns the number of cases in one text message,
/// `/runCase?case=N&agent=A` runs one case against an echo, `/updateReports?agent=A` ends the run.
final class Testee {
  private let loop: EventLoop
  private let address: String
  private let agent: String

  /// - Parameter address: Address of the server, such as `ws://127.0.0.1:9001`.
  init(loop: EventLoop, address: String, agent: String) {
    self.loop = loop
    self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
    self.agent = PercentEncoding.encode(agent)
  }

  /// Runs every case; throws an error if the server cannot be reached or a case takes too long.
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

/// `autobahn-testee URL AGENT`: runs every case of the Autobahn fuzzing server at `URL` as the
/// client `AGENT`.
///
/// The status is 0 after all cases ran and the server wrote its report, which contains the results.
@main
struct Main {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    guard words.count == 2, let address = words.first, let agent = words.last else {
      complain("usage: autobahn-testee URL AGENT")
      exit(2)
    }
    // A write to a closed peer fails with an error instead of a signal.
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
