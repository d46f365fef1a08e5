import Foundation
import Testing

@testable import PusherCore

/// Nesting as deep as is allowed, on a thread with a stack of 64 KiB.
@Suite struct SmallStackTests {
  /// Arrays in objects in arrays, so many.
  private static func nested(_ depth: Int) -> String {
    let openings = (0..<depth).map { $0 % 2 == 0 ? "[" : #"{"a":"# }
    let closings = (0..<depth).reversed().map { $0 % 2 == 0 ? "]" : "}" }
    return openings.joined() + "1" + closings.joined()
  }

  /// Runs `body` on such a thread and answers what it gave.
  private func onSmallStack<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value
  ) -> Value? {
    let done = DispatchSemaphore(value: 0)
    let result = Locked<Value?>(nil)
    let thread = Thread {
      let value = body()
      result.withLock { $0 = value }
      done.signal()
    }
    thread.stackSize = 64 << 10
    thread.start()
    done.wait()
    return result.withLock { $0 }
  }

  @Test func `values are read, compared, written and let go`() {
    let text = Self.nested(jsonDepthLimit)
    let result = onSmallStack { () -> String? in
      guard let value = try? JSONParser.parse(text), let other = try? JSONParser.parse(text),
        value == other
      else { return nil }
      return JSONWriter.text(value)
    }
    #expect(result == text)
  }

  @Test func `one level more is refused by readers, and stays a string in an event`() {
    let text = Self.nested(jsonDepthLimit + 1)
    let result = onSmallStack { () -> [Bool] in
      let message = Array(#"{"event":"e","channel":"c","data":\#(text)}"#.utf8)
      let data = withView(message) { (try? Envelope($0))?.data }
      return [(try? JSONParser.parse(text)) == nil, data == .string(text)]
    }
    #expect(result == [true, true])
  }

  @Test func `events are embedded`() {
    let text = Self.nested(jsonDepthLimit)
    let line = onSmallStack { () -> String in
      let output = ByteBuffer()
      let writer = EventLineWriter(output: output, service: .pusher, style: EventLineStyle())
      withView(Array(#"{"event":"e","channel":"c","data": \#(text)}"#.utf8)) {
        if let envelope = try? Envelope($0) { writer.write(envelope) }
      }
      return output.view.text
    }
    #expect(line == #"{"event":"e","channel":"c","data":\#(text)}"# + "\n")
  }
}
