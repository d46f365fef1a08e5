import PusherCore
import TestSupport
import Testing

struct ByteBufferTests {
  @Test func `a random sequence of operations agrees with an array`() {
    var random = SeededGenerator(seed: 2)
    for _ in 0..<20 {
      let buffer = ByteBuffer(capacity: random.below(201))
      var model: [UInt8] = []
      for _ in 0..<200 {
        perform(random.below(8), on: buffer, &model, &random)
        #expect(buffer.array == model)
        #expect(buffer.count == model.count && buffer.isEmpty == model.isEmpty)
      }
    }
  }

  private func perform(
    _ operation: Int, on buffer: ByteBuffer, _ model: inout [UInt8], _ random: inout SeededGenerator
  ) {
    let bytes = random.some(Array(0...255 as ClosedRange<UInt8>), most: 100)
    let amount = bytes.count
    switch operation {
    case 0: buffer.append(bytes)
    case 1: withView(bytes) { buffer.append($0) }
    case 2:
      _ = buffer.write(minimum: amount) { space in
        space.copyBytes(from: bytes)
        return amount
      }
    case 3:
      buffer.append(UInt8(amount))
      model.append(UInt8(amount))
    case 4:
      let count = min(amount, model.count)
      buffer.consume(count)
      model.removeFirst(count)
    case 5:
      let count = max(0, model.count - amount)
      buffer.truncate(to: count)
      model.removeLast(model.count - count)
    case 6:
      buffer.reserve(amount)
      #expect(buffer.writable >= amount)
    default:
      guard amount < 5 else { return }
      buffer.removeAll()
      model = []
    }
    if operation < 3 { model += bytes }
  }

  @Test func `a failing writer leaves the buffer as it was`() {
    struct Refusal: Error {}
    let buffer = buffer("kept")
    #expect(throws: Refusal.self) { try buffer.write(minimum: 10_000) { _ in throw Refusal() } }
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
