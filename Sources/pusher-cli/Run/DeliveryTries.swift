internal import PusherCore

/// The tries to deliver one event: when it is sent again, and when it is given up.
///
/// It is pure: time and chance are arguments.
struct DeliveryTries {
  /// The wait before each further try; its ceiling also bounds the wait that a receiver asks for.
  let backoff: Backoff
  /// When it is given up; `nil` for never.
  let deadline: Instant?
  /// How many have begun.
  private(set) var count = 0

  /// - Parameter patience: How long after `now`, its first try, the event is given up.
  init(backoff: Backoff, patience: Duration?, at now: Instant) {
    self.backoff = backoff
    deadline = patience.map(now.advanced)
  }

  mutating func begin() {
    count += 1
  }

  /// When the next try may begin after one that failed; `nil` when the event is given up before that.
  ///
  /// - Parameters:
  ///   - retryAfter: The wait that the receiver asks for.
  ///   - random: Where in its range the wait falls.
  func next(at now: Instant, retryAfter: Duration?, random: UInt64) -> Instant? {
    let next = now.advanced(by: wait(retryAfter: retryAfter, random: random))
    guard let deadline, next >= deadline else { return next }
    return nil
  }

  /// The wait after a try that failed, whether or not it is too long.
  func wait(retryAfter: Duration?, random: UInt64) -> Duration {
    let asked = min(retryAfter ?? .zero, backoff.ceiling)
    return max(backoff.delay(attempt: max(count - 1, 0), random: random), asked)
  }
}

/// Which failures people are told: the first of a receiver that fails, and that it works again.
///
/// Events that fail while that is known say nothing new; nor does one that is delivered while the told one still fails.
struct OutageReport {
  /// Whether a failure was told, and nothing delivered since.
  private var isOut = false
  /// How many of the events that still fail were told.
  private var told = 0

  /// An event has failed for the first time; answers whether to tell it.
  mutating func began() -> Bool {
    guard !isOut else { return false }
    isOut = true
    told += 1
    return true
  }

  /// An event was delivered; answers whether to tell it.
  mutating func delivered(wasTold: Bool) -> Bool {
    defer { isOut = false }
    guard wasTold else { return isOut && told == 0 }
    told -= 1
    return true
  }

  /// An event was given up, which is told in any case.
  mutating func gaveUp(wasTold: Bool) {
    if wasTold { told -= 1 }
  }
}
