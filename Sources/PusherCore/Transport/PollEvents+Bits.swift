internal import PusherPlatform

/// As poll(2) writes them; those of epoll(7) have the same numbers.
extension PollEvents {
  /// The bits that ask for reading and writing; an end is reported without being asked for.
  var bits: Int32 {
    (contains(.read) ? Int32(POLLIN) : 0) | (contains(.write) ? Int32(POLLOUT) : 0)
  }

  /// What is ready of a descriptor; its end counts as ready for all that was asked for.
  init(ready bits: Int32, asked: Int32) {
    let isOver = bits & Int32(POLLHUP | POLLERR | POLLNVAL) != 0
    self = isOver ? [.hangUp] : []
    let ready = isOver ? bits | asked : bits
    if ready & Int32(POLLIN) != 0 { insert(.read) }
    if ready & Int32(POLLOUT) != 0 { insert(.write) }
  }
}
