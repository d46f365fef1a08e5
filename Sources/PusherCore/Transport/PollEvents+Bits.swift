internal import PusherPlatform

extension PollEvents {
  /// Bits for reading and writing; an end is always reported.
  var bits: Int32 {
    (contains(.read) ? Int32(POLLIN) : 0) | (contains(.write) ? Int32(POLLOUT) : 0)
  }

  /// Events of a descriptor; its end counts as all requested events.
  init(ready bits: Int32, asked: Int32) {
    let isOver = bits & Int32(POLLHUP | POLLERR | POLLNVAL) != 0
    self = isOver ? [.hangUp] : []
    let ready = isOver ? bits | asked : bits
    if ready & Int32(POLLIN) != 0 { insert(.read) }
    if ready & Int32(POLLOUT) != 0 { insert(.write) }
  }
}
