/// What a state machine has for its owner, handed out one by one in the order in which it came about.
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
