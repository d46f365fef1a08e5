import PusherCore
import TestSupport
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

  @Test func `a random sequence of operations agrees with an array`() {
    var random = SeededGenerator(seed: 2)
    for _ in 0..<20 {
      let buffer = ByteBuffer(capacity: Int.random(in: 0...200, using: &random))
      var model: [UInt8] = []
      for _ in 0..<200 {
        perform(Int.random(in: 0..<8, using: &random), on: buffer, &model, &random)
        #expect(buffer.array == model)
        #expect(buffer.count == model.count && buffer.isEmpty == model.isEmpty)
      }
    }
  }

  private func perform(
    _ operation: Int, on buffer: ByteBuffer, _ model: inout [UInt8], _ random: inout SeededGenerator
  ) {
    let amount = Int.random(in: 0...100, using: &random)
    let bytes = (0..<amount).map { _ in UInt8.random(in: 0...255, using: &random) }
    switch operation {
    case 0:
      buffer.append(bytes)
      model += bytes
    case 1:
      buffer.append(UInt8(amount))
      model.append(UInt8(amount))
    case 2:
      let count = min(amount, model.count)
      buffer.consume(count)
      model.removeFirst(count)
    case 3:
      let count = max(0, model.count - amount)
      buffer.truncate(to: count)
      model.removeLast(model.count - count)
    case 4:
      let other = TestSupport.buffer(bytes)
      withExtendedLifetime(other) { buffer.append($0.view) }
      model += bytes
    case 5:
      _ = buffer.write(minimum: amount) { space in
        space.copyBytes(from: bytes)
        return bytes.count
      }
      model += bytes
    case 6:
      buffer.reserve(amount)
      #expect(buffer.writable >= amount)
    default:
      guard amount < 5 else { return }
      buffer.removeAll()
      model = []
    }
  }

  @Test func `a failing writer leaves the buffer as it was`() {
    struct Refusal: Error {}
    let buffer = buffer("kept")
    #expect(throws: Refusal.self) {
      try buffer.write(minimum: 10_000) { _ in throw Refusal() }
    }
    #expect(buffer.view.text == "kept")
  }

  @Test func `a queue of constant length does not grow for ever`() {
    let buffer = ByteBuffer(capacity: 64)
    for _ in 0..<10_000 {
      buffer.append([UInt8](repeating: 7, count: 50))
      buffer.consume(max(0, buffer.count - 60))
    }
    #expect(buffer.capacity <= 512)
  }

  @Test func `dropping everything gives back what a large message took`() {
    let buffer = ByteBuffer(capacity: 128)
    buffer.append([UInt8](repeating: 1, count: 100_000))
    #expect(buffer.capacity >= 100_000)
    buffer.removeAll()
    #expect(buffer.capacity == 128)
    buffer.append("again")
    #expect(buffer.view.text == "again")
  }

  @Test func `text, literals and single bytes are appended as UTF-8`() {
    let buffer = ByteBuffer()
    buffer.append("é" as StaticString)
    buffer.append("中" + String("文"))
    buffer.append(UInt8(ascii: "!"))
    buffer.append("")
    buffer.append([])
    #expect(buffer.view.text == "é中文!")
  }

  @Test(arguments: [0, 9, 10, 99, 100, 65_535, Int.max])
  func `a number is appended in decimal digits`(number: Int) {
    let buffer = ByteBuffer(capacity: 1)
    buffer.append(decimal: number)
    #expect(buffer.view.text == "\(number)")
  }
}
