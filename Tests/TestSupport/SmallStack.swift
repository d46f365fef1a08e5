import Foundation
internal import PusherCore

/// A thread with a stack of 64 KiB, and JSON for it.
package enum SmallStack {
  /// Returns arrays and objects in turn, nested to this depth.
  package static func nestedJSON(_ depth: Int) -> String {
    let openings = (0..<depth).map { $0 % 2 == 0 ? "[" : #"{"a":"# }
    let closings = (0..<depth).reversed().map { $0 % 2 == 0 ? "]" : "}" }
    return openings.joined() + "1" + closings.joined()
  }

  package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
    let done = DispatchSemaphore(value: 0)
    let result = Locked<Value?>(nil)
    let thread = Thread {
      let value = body()
      result.withLock { $0 = value }
      done.signal()
    }
    thread.stackSize = 64 << 10
    thread.start()
    done.wait()
    return result.withLock { $0 }
  }
}
