internal import PusherCore

/// One app on the nodes of one process: its state, and a queue of messages for each node, under one lock.
///
/// A change and the messages that it causes are one step, so that all nodes see all changes in one order. Any thread may
/// use it.
final class LocalApp: Sendable {
  private struct AppOnNodes {
    var app: AppState
    /// The messages that wait for each node.
    var queues: [MessageQueue]
    /// What wakes each node; `nil` until it says.
    var wakeUps: [WakeUp?]
    /// The nodes that get nothing any more.
    var ended: Set<Int> = []

    mutating func post(_ message: BusMessage, from sender: Int) -> [WakeUp] {
      var woken: [WakeUp] = []
      for node in queues.indices where !ended.contains(node) && app.concerns(message, node) {
        let isFirst = queues[node].isEmpty
        queues[node].add(message)
        if isFirst, node != sender, let wakeUp = wakeUps[node] { woken.append(wakeUp) }
      }
      return woken
    }
  }

  /// The node that sends the webhooks.
  static let webhookNode = 0

  let nodes: Int
  let text: MessageText
  private let state: Locked<AppOnNodes>

  /// The app on so many nodes of this process.
  init(_ setup: AppSetup, nodes: Int = 1) {
    (self.nodes, text) = (nodes, setup.text)
    state = Locked(
      AppOnNodes(
        app: AppState(setup, nodes: nodes), queues: Array(repeating: MessageQueue(), count: nodes),
        wakeUps: Array(repeating: nil, count: nodes)))
  }

  /// Has `wakeUp` signalled when messages wait for a node, or notices for its webhooks.
  func wake(_ node: Int, with wakeUp: WakeUp) {
    state.withLock { $0.wakeUps[node] = wakeUp }
  }

  /// A node has ended, and takes no messages any more.
  func end(_ node: Int) {
    state.withLock { state in
      state.ended.insert(node)
      _ = state.queues[node].takeAll()
    }
  }

  /// Asks the state something.
  func ask<Answer: Sendable>(_ body: (AppState) -> Answer) -> Answer {
    state.withLock { body($0.app) }
  }

  /// Changes the state for a node: answers what waited for it before, and what `body` answers.
  ///
  /// - Parameter takesQueue: Whether the waiting messages are taken, so that they come before what the change causes.
  func change<Answer: Sendable>(
    by node: Int, takesQueue: Bool = false, _ body: (inout AppState) -> Answer
  ) -> (waiting: [BusMessage], answer: Answer) {
    let (waiting, answer, wakeUps) = state.withLock { state in
      let waiting = takesQueue ? state.queues[node].takeAll() : []
      let answer = body(&state.app)
      var wakeUps: [WakeUp] = []
      for message in state.app.takeMessages() {
        wakeUps += state.post(message, from: node)
      }
      // Who sends the webhooks may have nothing else to do.
      let hasNotices = node != Self.webhookNode && !state.app.notices.isEmpty
      if hasNotices, let wakeUp = state.wakeUps[Self.webhookNode] { wakeUps.append(wakeUp) }
      return (waiting, answer, wakeUps)
    }
    for wakeUp in wakeUps { wakeUp.signal() }
    return (waiting, answer)
  }

  /// Posts a message from a node to all that it concerns.
  func post(_ message: BusMessage, from node: Int) {
    let wakeUps = state.withLock { $0.post(message, from: node) }
    for wakeUp in wakeUps { wakeUp.signal() }
  }

  /// The messages for a node.
  func take(_ node: Int) -> [BusMessage] {
    state.withLock { $0.queues[node].takeAll() }
  }

  /// Whether more waits for another node than may.
  func isFull(besides node: Int) -> Bool {
    state.withLock { state in
      state.queues.indices.contains {
        $0 != node && state.queues[$0].bytes > NodeGroup.queueLimit
      }
    }
  }

  /// The webhook notices of all nodes.
  func takeNotices() -> [WebhookNotice] {
    state.withLock { $0.app.takeNotices() }
  }
}

/// Messages that wait for a node, and the memory that they hold.
private struct MessageQueue {
  private var messages: [BusMessage] = []
  private(set) var bytes = 0

  var isEmpty: Bool { messages.isEmpty }

  mutating func add(_ message: BusMessage) {
    messages.append(message)
    bytes += message.size
  }

  mutating func takeAll() -> [BusMessage] {
    guard !messages.isEmpty else { return [] }
    defer { (messages, bytes) = ([], 0) }
    return messages
  }
}
