import PusherCore
import Testing

@Suite struct ByteBufferTests {
  @Test func `bytes come out in the order they went in, across growth and consumption`() {
    let buffer = ByteBuffer(capacity: 64)
    var expected: [UInt8] = []
    var taken: [UInt8] = []
    for round in 0..<200 {
      let chunk = (0..<(round % 37)).map { UInt8(truncatingIfNeeded: round &* 31 &+ $0) }
      buffer.append(chunk)
      expected += chunk
      let take = min(buffer.count, round % 29)
      taken += buffer.view[0..<take].array
      buffer.consume(take)
    }
    #expect(taken + buffer.array == expected)
  }
}
