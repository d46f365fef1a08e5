extension Flag {
  static let consoles: [Flag] = [.console, .record, .openRecording]

  static let console = Flag(
    "console", of: [.serve], in: .serve, isCommon: true,
    summary: "serve a web page that shows what happens",
    manual: """
      Serve a page at `/console` that shows what happens on the server. It shows events, connections, channels and
      members as they come and go. It also sends events, stages faults and explains a wrong authorisation. The address
      that is printed at the start contains a token of this run. Without the token, nobody can see or do anything. The
      page is the default on a terminal if no other machine can connect. It then answers only requests that begin on
      this machine. With --console, it also answers requests through a proxy or from another machine. `--no-console`
      turns it off. docs/console.md describes the calls of the page, which programs may use too.
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
