/// Writes the messages of an event stream, as an ``EventStreamParser`` reads them.
///
/// Source: the HTML standard, section "Server-sent events", "Interpreting an event stream".
package enum EventStreamWriter {
  package static let contentType = "text/event-stream"

  /// `event` and `id` have no line ends; those of `data`, LF, CR or both, become LF.
  package static func write(event: String, id: String? = nil, data: String, to output: ByteBuffer) {
    if let id { output.append("id: \(id)\n") }
    output.append("event: \(event)\ndata: ")
    defer { output.append("\n\n") }
    // JSON is always one line.
    guard data.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
      return output.append(data)
    }
    var hasReturn = false
    for byte in data.utf8 {
      let isLineFeed = byte == 0x0A
      defer { hasReturn = byte == 0x0D }
      if isLineFeed, hasReturn { continue }
      if isLineFeed || byte == 0x0D { output.append("\ndata: ") } else { output.append(byte) }
    }
  }

  /// Appends a comment, which readers drop; it shows that the connection lives.
  package static func writeComment(to output: ByteBuffer) { output.append(":\n\n") }
}
