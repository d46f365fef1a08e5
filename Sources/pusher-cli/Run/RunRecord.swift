internal import PusherCore
internal import PusherServer

/// The file of `serve --record`: all console entries as JSON lines.
///
/// A slow disk does not block the server: entries above the limit are dropped, with a warning.
final class RunRecord {
  private let server: Server
  private let output: OutputQueue
  private let path: String
  private let diagnostics: Diagnostics
  private let reader: Int
  private(set) var failure: ExitStatus?
  private let loop: EventLoop

  init(
    _ path: String, of server: Server, loop: EventLoop, diagnostics: Diagnostics
  ) throws(FileFault) {
    (self.path, self.server, self.diagnostics, self.loop) = (path, server, diagnostics, loop)
    let file = try OutputFile(path, terminator: 0x0A) { diagnostics.warning("--record: \($0)") }
    output = OutputQueue(descriptor: OutputDescriptor(file), limit: ServerFeed.queueLimit)
    guard let reader = server.feed.open(loop.wakeUp) else {
      throw FileFault(reason: "the server has too many observers")
    }
    self.reader = reader
    output.onFailure = { [weak self] in self?.outputFailed($0) }
    loop.add(output)
    loop.beforeWait { [weak self] in self?.flush() }
  }

  func flush() {
    guard failure == nil else { return }
    if output.buffer.count < ServerFeed.queueLimit {
      for line in server.feed.take(reader) { add(line) }
    }
    output.flush()
  }

  private func add(_ line: ServerFeed.Line) {
    switch line {
    case .entry(_, let text):
      output.buffer.append(text)
      output.buffer.append(UInt8(ascii: "\n"))
    case .dropped(let loss):
      diagnostics.warning("--record: '\(path)' is slow: \(loss.count) entries were dropped")
    }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    self.failure = diagnostics.cannotPrint(failure.reason, to: path)
    loop.stop()
  }
}
