import PusherCore

/// Prints events of a stream by the fast way and by the general one, and compares the lines.
final class StreamLines {
  private let fast = ByteBuffer()
  private let general = ByteBuffer()
  private let fastWriter: EventStreamLineWriter
  private let generalWriter: EventStreamLineWriter

  init(forTerminal: Bool) {
    var style = EventLineStyle()
    style.forTerminal = forTerminal
    fastWriter = EventStreamLineWriter(output: fast, style: style)
    generalWriter = EventStreamLineWriter(output: general, style: style, usesFastWay: false)
  }

  /// Requires the same line by both ways, one JSON value, and an event that is left as it was.
  func check(_ event: EventStreamEvent) {
    let before = event.data.array
    fast.removeAll()
    general.removeAll()
    fastWriter.write(event)
    generalWriter.write(event)
    require(fast.array == general.array, "\(text(fast.array)) instead of \(text(general.array))")
    require(event.data.array == before, "the input has changed")
    if let problem = StrictJSON.problem(in: Array(fast.array.dropLast())) {
      finding("\(problem): \(text(fast.array))")
    }
  }
}
