import PusherCore
import PusherLines

/// Prints events of a stream by the fast way and by the general one, and compares the lines.
final class StreamLines {
  private let fast = ByteBuffer()
  private let general = ByteBuffer()
  private let styled = ByteBuffer()
  private let style: EventLineStyle
  private let fastMaker: LineMaker
  private let generalMaker: LineMaker

  init(forTerminal: Bool) {
    style = EventLineStyle(forTerminal: forTerminal)
    fastMaker = LineMaker(output: fast, service: nil)
    generalMaker = LineMaker(output: general, service: nil, usesFastWay: false)
  }

  /// Requires the same line by both ways, one JSON value, and an event that is left as it was.
  func check(_ event: EventStreamEvent) {
    let before = event.data.array
    fast.removeAll()
    general.removeAll()
    fastMaker.write(event)
    generalMaker.write(event)
    require(fast.array == general.array, "\(text(fast.array)) instead of \(text(general.array))")
    require(event.data.array == before, "the input has changed")
    styled.removeAll()
    style.write(EventLine(fast.view), to: styled)
    for line in [fast, styled] {
      if let problem = StrictJSON.problem(in: Array(line.array.dropLast())) {
        finding("\(problem): \(text(line.array))")
      }
    }
  }
}
