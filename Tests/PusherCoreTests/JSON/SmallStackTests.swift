import TestSupport
import Testing

@testable import PusherCore

/// Handles the maximum nesting on a thread with a stack of 64 KiB.
@Suite struct SmallStackTests {
  @Test func `values are read, compared, written and let go`() {
    let text = SmallStack.nestedJSON(jsonDepthLimit)
    let result = SmallStack.run { () -> String? in
      guard let value = try? JSONParser.parse(text), let other = try? JSONParser.parse(text),
        value == other
      else { return nil }
      return JSONWriter.text(value)
    }
    #expect(result == text)
  }

  @Test func `one level more is refused by readers, and stays a string in an event`() {
    let text = SmallStack.nestedJSON(jsonDepthLimit + 1)
    let result = SmallStack.run { () -> [Bool] in
      let message = Array(#"{"event":"e","channel":"c","data":\#(text)}"#.utf8)
      let data = withView(message) { (try? Envelope($0))?.data }
      return [(try? JSONParser.parse(text)) == nil, data == .string(text)]
    }
    #expect(result == [true, true])
  }
}
