import Foundation
import Testing

@testable import PusherCore

struct `The signals of the library's threads` {
  private static let numbers = Int32(1)..<32

  /// The signals that the calling thread blocks.
  private static func blocked() -> Set<Int32> {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return Set(numbers.filter { sigismember(&mask, $0) == 1 })
  }

  /// Runs `body` on a new thread that blocks SIGUSR2 alone.
  private static func onThread(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
      var mask = sigset_t()
      sigemptyset(&mask)
      sigaddset(&mask, SIGUSR2)
      pthread_sigmask(SIG_SETMASK, &mask, nil)
      body()
    }
  }

  @Test func `a thread without code of the user takes no signal but those of a crash`() async {
    typealias Masks = (ofThread: Set<Int32>?, ofStarter: Set<Int32>)
    let masks: Masks = await withCheckedContinuation { continuation in
      Self.onThread {
        let seen = Locked<Set<Int32>?>(nil)
        let isStarted = DetachedThread.start(name: "test") { seen.withLock { $0 = Self.blocked() } }
        while isStarted, seen.withLock({ $0 == nil }) { sched_yield() }
        continuation.resume(returning: (seen.withLock(\.self), Self.blocked()))
      }
    }
    let crashes: Set = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]
    let blockable = masks.ofThread?.union([SIGKILL, SIGSTOP])
    #expect(blockable == Set(Self.numbers).subtracting(crashes))
    #expect(masks.ofStarter == [SIGUSR2])
  }

  @Test func `handlers, their tasks and child processes have the mask of their client`() async {
    let seen: Set<Int32> = await withCheckedContinuation { continuation in
      Self.onThread {
        let thread = LoopThread(name: "test")
        thread.join {
          continuation.resume(returning: Self.blocked())
          return Passer(thread, $0)
        } failed: { _ in
          continuation.resume(returning: [])
        }
      }
    }
    #expect(seen == [SIGUSR2])
  }
}

/// Leaves the thread in its first round.
private final class Passer: LoopMember {
  private let thread: LoopThread
  private let loop: EventLoop

  init(_ thread: LoopThread, _ loop: EventLoop) { (self.thread, self.loop) = (thread, loop) }

  func beginRound() { thread.leave(self, loop) }
  func end() {}
}
