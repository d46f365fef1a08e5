// The flags that shape the request of an event stream.
extension Flags {
  static let requesting = [
    Flag(
      name: .header, letter: "H", value: .text, metavariable: "HEADER", isRepeatable: true,
      commands: [.sse], group: .request, isCommon: true,
      summary: "send 'NAME: VALUE', or the lines of @FILE"),
    Flag(
      name: .method, letter: "X", value: .text, metavariable: "METHOD",
      commands: [.sse], group: .request,
      summary: "GET, or POST when there is data"),
    Flag(
      name: .data, letter: "d", value: .text, metavariable: "DATA", allowsEmpty: true,
      commands: [.sse], group: .request, isCommon: true,
      summary: "send DATA, @FILE, or @- for standard input"),
    Flag(
      name: .lastEventID, value: .text, metavariable: "ID",
      commands: [.sse], group: .request, isCommon: true,
      summary: "begin behind this event"),
    Flag(
      name: .stateFile, value: .text, metavariable: "FILE",
      commands: [.sse], group: .request, isCommon: true,
      summary: "keep the last event's id in FILE, and begin there"),
    Flag(
      name: .netrcFile, value: .text, metavariable: "FILE",
      commands: [.sse], group: .request,
      summary: "user name and password of the server (netrc)"),
  ]
}
