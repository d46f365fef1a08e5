package import PusherCore

/// How far a call of the server has come.
package enum CallProgress {
  case answer(HTTPAnswer)
  /// Until the hub has an answer with this number.
  case waits(Hub, Int)
  /// Until the loop's next turn, so that others are served.
  case pauses
}

/// What comes of a request at first: its answer, or the call that waits.
package enum CallBeginning {
  case answer(HTTPAnswer)
  case call(any ServerCall, CallProgress)
}

/// A call whose answer may come later.
package protocol ServerCall {
  /// Takes the answer that the call has waited for.
  mutating func take(_ answer: ClusterAnswer, at now: Instant) -> CallProgress
  /// Goes on after a pause.
  mutating func goOn(at now: Instant) -> CallProgress
}

extension ServerCall {
  /// Asks a hub something, and goes on with the answer if it is there.
  mutating func ask(_ hub: Hub, _ question: ClusterQuestion, at now: Instant) -> CallProgress {
    switch hub.ask(question, at: now) {
    case .answered(let answer): take(answer, at: now)
    case .later(let number): .waits(hub, number)
    }
  }
}

/// The calls that wait, each with the recipient of its answer.
package struct CallTable<Asker> {
  private struct Key: Hashable {
    let hub: ObjectIdentifier
    let number: Int
  }

  private var waiting: [Key: (call: any ServerCall, caller: Asker)] = [:]
  private var paused: [(call: any ServerCall, caller: Asker)] = []

  package init() {}

  /// Whether a call has a turn now.
  package var hasTurn: Bool { !paused.isEmpty }

  /// Keeps a call until it goes on.
  ///
  /// Returns its answer, if it is there already.
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

  /// Gives calls the answers of a hub.
  ///
  /// Returns the answers of the calls that are done.
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

  /// Gives each paused call a turn.
  ///
  /// Returns the answers of the calls that are done.
  package mutating func takeTurns(at now: Instant) -> [(Asker, HTTPAnswer)] {
    let due = paused
    paused = []
    return due.compactMap { call, caller in
      var call = call
      let progress = call.goOn(at: now)
      return keep(call, progress, for: caller).map { (caller, $0) }
    }
  }
}
