import PusherCore

/// Figures of the library for `make bench`; each form prints one line of words and numbers.
///
///     library-figures clients COUNT PORT own|shared [CA-FILE]
///     library-figures calls COUNT
///     library-figures decode COUNT
///     library-figures cycles COUNT PORT own|shared
@main struct LibraryFigures {
  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count > 1, let count = Int(words[1]), count > 0 else { return usage() }
    switch words[0] {
    case "clients":
      guard let server = Server(words) else { return usage() }
      try await ManyClients.hold(count, server)
    case "cycles":
      guard let server = Server(words) else { return usage() }
      try await ManyClients.cycle(count, server)
    case "calls": try await ManyCalls.make(count)
    case "decode": try DecodeCost.measure(count)
    default: usage()
    }
  }

  private static func usage() {
    print("library-figures: clients|cycles COUNT PORT own|shared [CA-FILE], calls|decode COUNT")
  }
}

struct Server {
  let port: Int
  let isShared: Bool
  let authorities: String?

  init?(_ words: [String]) {
    guard words.count > 3, let port = Int(words[2]), ["own", "shared"].contains(words[3]) else {
      return nil
    }
    self.port = port
    isShared = words[3] == "shared"
    authorities = words.count > 4 ? words[4] : nil
  }

  /// Returns the options of one client, with the shared thread if the clients share one.
  func options() -> PusherClientOptions {
    PusherClientOptions(
      autoReconnect: false, host: .host("127.0.0.1"), port: port, useTLS: authorities != nil,
      caFile: authorities, runtime: isShared ? PusherRuntime(name: "shared") : nil)
  }
}
