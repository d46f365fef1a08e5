import PusherCore
import Testing

/// The HTML standard, section "Server-sent events".
@Suite("Event streams: what is written is what is read")
struct EventStreamWriterTests {
  private func written(_ body: (ByteBuffer) -> Void) -> String {
    let buffer = ByteBuffer()
    body(buffer)
    return buffer.view.text
  }

  @Test func `a message has its id, its type and its data`() {
    let text = written { EventStreamWriter.write(event: "entry", id: "7", data: "{}", to: $0) }
    #expect(text == "id: 7\nevent: entry\ndata: {}\n\n")
  }

  @Test func `each line of the data is a field of its own, whatever ends it`() {
    let text = written {
      EventStreamWriter.write(event: "e", data: "a\nb\r\nc\rd\n\nevent: x", to: $0)
    }
    #expect(
      text == "event: e\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: event: x\n\n")
  }

  @Test func `a comment is a line that readers drop`() {
    #expect(written { EventStreamWriter.writeComment(to: $0) } == ":\n\n")
  }
}
