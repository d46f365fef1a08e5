import Foundation
import PusherCore
import Testing

enum Hooked {
  static func server(_ events: (name: String, channel: String, data: String)...) throws
    -> ScriptedServer
  {
    let channels = Set(events.map(\.channel)).count
    return try ScriptedServer.joined(channels) { connection in
      for event in events {
        try connection.send(event: event.name, channel: event.channel, data: event.data)
      }
    }
  }

  static func counting(_ count: Int) throws -> ScriptedServer {
    try ScriptedServer.joined { connection in
      for number in 1...count { try connection.send(event: "e", data: "\(number)") }
    }
  }

  static func line(_ number: Int) -> String {
    #"{"event":"e","channel":"news","data":\#(number)}"#
  }

  /// Returns the output of these events.
  static func lines(_ numbers: ClosedRange<Int>) -> String {
    numbers.map { line($0) + "\n" }.joined()
  }

  static func create(_ file: String) throws {
    try "".write(toFile: file, atomically: true, encoding: .utf8)
  }

  static func awaiting(_ file: String) -> String { "until [ -e \(file) ]; do sleep 0.05; done" }

  static func isGone(_ id: pid_t) -> Bool { kill(id, 0) != 0 && errno == ESRCH }
}
