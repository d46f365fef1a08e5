package import PusherCore

package enum CallProgress {
  case answer(HTTPAnswer)
  /// The call waits for the hub's answer with this number.
  case waits(Hub, Int)
  /// The call continues in the loop's next turn, so that other connections are served.
  case pauses
}

package enum CallBeginning {
  case answer(HTTPAnswer)
  case call(any ServerCall, CallProgress)
}

package protocol ServerCall {
  mutating func take(_ answer: ClusterAnswer, at now: Instant) -> CallProgress
  mutating func proceed(at now: Instant) -> CallProgress
}

extension ServerCall {
  /// Asks a hub a question, and continues if the answer is available at once.
  package mutating func ask(_ hub: Hub, _ question: ClusterQuestion, at now: Instant)
    -> CallProgress
  {
    switch hub.ask(question, at: now) {
    case .answered(let answer): take(answer, at: now)
    case .later(let number): .waits(hub, number)
    }
  }
}

package struct CallTable<Asker> {
  private struct Key: Hashable {
    let hub: ObjectIdentifier
    let number: Int
  }

  private var waiting: [Key: (call: any ServerCall, caller: Asker)] = [:]
  private var paused: [(call: any ServerCall, caller: Asker)] = []

  package init() {}

  package var hasTurn: Bool { !paused.isEmpty }

  /// Stores a call until it can continue; returns its answer if there is one already.
  package mutating func keep(
    _ call: any ServerCall, _ progress: CallProgress, for caller: Asker
  ) -> HTTPAnswer? {
    switch progress {
    case .answer(let answer): return answer
    case .waits(let hub, let number):
      waiting[Key(hub: ObjectIdentifier(hub), number: number)] = (call, caller)
    case .pauses: paused.append((call, caller))
    }
    return nil
  }

  /// Passes answers of a hub to their calls; returns the answers of finished calls.
  package mutating func take(from hub: Hub, at now: Instant) -> [(Asker, HTTPAnswer)] {
    var done: [(Asker, HTTPAnswer)] = []
    for (number, answer) in hub.takeAnswers() {
      let key = Key(hub: ObjectIdentifier(hub), number: number)
      guard let (waiting, caller) = waiting.removeValue(forKey: key) else { continue }
      var call = waiting
      let progress = call.take(answer, at: now)
      if let answer = keep(call, progress, for: caller) { done.append((caller, answer)) }
    }
    return done
  }

  /// Gives each paused call a turn; returns the answers of finished calls.
  package mutating func takeTurns(at now: Instant) -> [(Asker, HTTPAnswer)] {
    let due = paused
    paused = []
    return due.compactMap { call, caller in
      var call = call
      let progress = call.proceed(at: now)
      return keep(call, progress, for: caller).map { (caller, $0) }
    }
  }
}
