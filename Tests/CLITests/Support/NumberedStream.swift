import Foundation
import PusherCore
import Testing

/// An event stream numbered by event IDs that continues after the requested ID.
enum NumberedStream {
  static func event(_ number: Int) -> String { "id: \(number)\ndata: \(data(number))\n\n" }

  static func line(_ number: Int) -> String {
    #"{"event":"message","id":"\#(number)","data":\#(data(number))}"#
  }

  /// Data of many lengths, so that writes end at every position.
  private static func data(_ number: Int) -> String {
    #"{"n":\#(number),"x":"\#(String(repeating: "x", count: number * 7919 % 300))"}"#
  }

  /// Starts a server of the events up to `last`, in bursts with `pause` microseconds between them;
  /// without a pause, a flood.
  static func server(last: Int = .max, pause: UInt32? = nil) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let question = try connection.beginStream()
      var next = (question.head.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0) + 1
      while next <= last {
        let end = min(next + (pause == nil ? 200 : 4), last == .max ? .max : last + 1)
        try connection.send(stream: (next..<end).map(event).joined())
        next = end
        if let pause {
          usleep(pause)
          try connection.checkPeer()
        }
      }
      try connection.remain()
    }
  }

  /// Returns the number of a line, with or without the time; nil for an incomplete line.
  static func number(of line: Substring) -> Int? {
    let bare = bare(line)
    guard let start = bare.firstRange(of: #""id":""#)?.upperBound,
      let number = Int(bare[start...].prefix { $0.isNumber }), bare == Self.line(number)
    else { return nil }
    return number
  }

  static func time(of line: Substring) -> Double? {
    guard line.hasPrefix(stamp) else { return nil }
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return try? format.parse(String(line.dropFirst(stamp.count).prefix { $0 != "\"" }))
      .timeIntervalSince1970
  }

  static func isTorn(_ line: Substring) -> Bool {
    let bare = bare(line)
    let head = #"{"event":"message","id":""#
    return line.hasPrefix(stamp) || bare.hasPrefix(head) || head.hasPrefix(bare)
      || stamp.hasPrefix(bare)
  }

  private static let stamp = #"{"received_at":""#

  private static func bare(_ line: Substring) -> Substring {
    guard line.hasPrefix(stamp), let comma = line.firstIndex(of: ",") else { return line }
    return "{" + line[comma...].dropFirst()
  }
}

enum StateText {
  static func id(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.isEmpty else {
      return nil
    }
    let last = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).last ?? ""
    return last.hasPrefix("id ") ? String(last.dropFirst(3)) : String(last)
  }

  static func await(_ id: String, in path: String) throws {
    try waitUntil("the state file has \(id), not \(self.id(path) ?? "nothing")") {
      self.id(path) == id
    }
  }
}
