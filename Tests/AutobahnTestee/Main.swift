internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

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
