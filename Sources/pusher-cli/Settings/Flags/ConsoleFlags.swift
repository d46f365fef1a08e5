extension Flag {
  static let consoles: [Flag] = [
    .console, .consoleTokenFile, .consoleHistory, .record, .openRecording,
  ]

  static let console = Flag(
    "console", of: [.serve], in: .serve, isCommon: true,
    summary: "serve a web page that shows what happens",
    manual: """
      Serve a page at `/console` that shows what happens on the server. It shows events, connections, channels and
      members as they come and go. It also sends events, stages faults and explains a wrong authorisation. The address
      that is printed at the start contains a token of this run. Without the token, nobody can see or do anything. The
      page is the default on a terminal if no other machine can connect. It then answers only requests that begin on
      this machine. With --console, it also answers requests through a proxy or from another machine. The address of
      the server without a path then leads to the page. `--no-console` turns it off. docs/console.md describes the
      calls of the page, which programs may use too.
      """)

  static let consoleTokenFile = Flag(
    "console-token-file", .text("FILE"), of: [.serve], in: .serve,
    summary: "keep the token, and so the address, in FILE",
    manual: """
      Read the token of the console from FILE; a missing FILE is made. So the address of the page stays the same, and
      an open page continues after a restart of the server. FILE holds only the token, on one line: 16 to 256 letters,
      digits, `-`, `.`, `_` or `~`. A FILE that other users can read or change is refused, because the token opens the
      data of private channels. A FILE on a read-only file system, such as a secret of Kubernetes, is taken. The
      option turns the page on; without --console, the page answers only this machine.
      """)

  static let consoleHistory = Flag(
    "console-history", .integer(0...100_000), of: [.serve], in: .serve, default: "1000",
    summary: "keep the last N entries, up to 4 MiB",
    manual: """
      Keep the last N entries for later pages of the console, by default {default}. Together they take at most 4 MiB of
      memory; the oldest ones go first. So a page that is loaded again begins with them, and a page that lost its
      connection misses none of them. With 0, `serve` keeps no entries, and does no work for the console while no page
      is open.
      """)

  static let record = Flag(
    "record", .text("FILE"), of: [.serve], in: .serve,
    summary: "record everything in FILE, as JSON lines",
    manual: """
      Append everything that the console shows to FILE, as JSON lines. Each line has its time; see docs/console.md.
      Only you can read a new FILE, because it holds the data of private channels. If the disk is too slow, entries are
      left out, and a warning says so.
      """)

  static let openRecording = Flag(
    "open-recording", .text("FILE"), of: [.serve], in: .serve,
    summary: "show the recording FILE on the console",
    manual: """
      Show the recording FILE of --record on the page of --console. The recording replaces the live events. FILE must
      be a regular file.
      """)
}
