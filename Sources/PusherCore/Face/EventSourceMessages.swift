internal import Synchronization

/// The events of an ``EventSource`` as a sequence, for one reader.
///
/// It has a buffer of its own: when that is full the oldest event is dropped for a new one, and ``droppedCount`` tells
/// how many were. It ends when the source is closed.
public struct EventSourceMessages: AsyncSequence, Sendable {
  private let stream: AsyncStream<EventSourceMessage>
  private let buffer: Buffer

  /// How many events were dropped because they were not taken in time.
  public var droppedCount: Int { buffer.dropped.load(ordering: .relaxed) }

  /// Where the source's thread puts events.
  final class Buffer: Sendable {
    fileprivate let dropped = Atomic<Int>(0)
    private let continuation: AsyncStream<EventSourceMessage>.Continuation

    fileprivate init(_ continuation: AsyncStream<EventSourceMessage>.Continuation) {
      self.continuation = continuation
    }

    func add(_ message: EventSourceMessage) {
      if case .dropped = continuation.yield(message) {
        dropped.wrappingAdd(1, ordering: .relaxed)
      }
    }

    func finish() {
      continuation.finish()
    }
  }

  init(_ core: EventSourceCore, limit: Int) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: EventSourceMessage.self, bufferingPolicy: .bufferingNewest(Swift.max(limit, 1)))
    let buffer = Buffer(continuation)
    let key = ObjectIdentifier(buffer)
    // Set before the buffer is known to anybody: the sequence may be released at once.
    continuation.onTermination = { [weak core] _ in
      _ = core?.state.withLock { $0.streams.removeValue(forKey: key) != nil }
    }
    core.state.withLock { $0.streams[key] = buffer }
    self.stream = stream
    self.buffer = buffer
  }

  /// Takes the events one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<EventSourceMessage>.Iterator

    /// The next event, once there is one; `nil` at the end and when the task is cancelled.
    public mutating func next() async -> EventSourceMessage? {
      await base.next()
    }
  }

  /// A reader of the events.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: stream.makeAsyncIterator())
  }
}
