extension Flag {
  static let consoles: [Flag] = [.console, .record, .openRecording]

  static let console = Flag(
    "console", of: [.serve], in: .serve, isCommon: true,
    summary: "show what happens on a page for the browser",
    manual: """
      Serve a page at `/console` that shows events, connections, channels and members as they come and go, sends events,
      stages faults, and says what is wrong with an authorisation. The address that is printed at the start has a token of
      this run in it: without it nobody can see or do anything. It is the default on a terminal where no other machine can
      connect, and then for requests that begin on this machine alone; with --console, also for those that come through a
      proxy or from another machine. `--no-console` serves none. docs/console.md describes the calls of the page, which programs may use too.
      """)

  static let record = Flag(
    "record", .text("FILE"), of: [.serve], in: .serve,
    summary: "write all that happens to FILE as JSON lines",
    manual: """
      Add all that the console shows to FILE, one JSON object a line, with its time; see docs/console.md. FILE may be read
      by you alone, since it holds the data of private channels. A disk that is too slow leaves entries out, and says so.
      """)

  static let openRecording = Flag(
    "open-recording", .text("FILE"), of: [.serve], in: .serve,
    summary: "show the run of FILE on the console",
    manual: """
      Show the run that --record has written to FILE on the page of --console, in place of what happens now. FILE must be a
      regular file.
      """)
}
