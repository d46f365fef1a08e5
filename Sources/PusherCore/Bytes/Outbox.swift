/// The outputs of a state machine, handed to its owner one by one in their order.
struct Outbox<Output> {
  private var outputs: [Output] = []
  private var next = 0

  mutating func append(_ output: Output) {
    outputs.append(output)
  }

  /// The next output; `nil` when all is handed out.
  mutating func take() -> Output? {
    guard next < outputs.count else {
      outputs.removeAll(keepingCapacity: true)
      next = 0
      return nil
    }
    next += 1
    return outputs[next - 1]
  }
}
