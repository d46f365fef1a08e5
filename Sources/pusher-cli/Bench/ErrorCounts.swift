internal import PusherCore

/// Errors of a run by code, each with the words of the first.
struct ErrorCounts: Equatable {
  struct CodeCount: Equatable {
    let code: String
    /// The message of the first error.
    let example: String
    /// Cause of the first error; `nil` if it kept nothing away.
    let cause: Cause?
    var count: Int
  }

  private(set) var entries: [CodeCount] = []
  private(set) var total = 0

  /// Maximum number of codes, which a server could make up; a message has 4 KiB at most.
  private static let limit = 50
  private static let others = "other"

  mutating func note(_ code: String, _ example: String, _ cause: Cause? = nil) {
    note(CodeCount(code: code, example: Diagnostics.shortened(example), cause: cause, count: 1))
  }

  mutating func add(_ other: ErrorCounts) {
    for entry in other.entries { note(entry) }
  }

  private mutating func note(_ new: CodeCount) {
    total += new.count
    let known = place(of: new.code)
    let code = known == nil && entries.count >= Self.limit ? Self.others : new.code
    if let place = known ?? place(of: code) {
      entries[place].count += new.count
    } else {
      entries.append(
        CodeCount(code: code, example: new.example, cause: new.cause, count: new.count))
    }
  }

  /// The most frequent errors with a cause; the earlier code of two equal ones.
  var main: (entry: CodeCount, cause: Cause)? {
    var found: (entry: CodeCount, cause: Cause)?
    for entry in entries {
      if let cause = entry.cause, entry.count > found?.entry.count ?? 0 { found = (entry, cause) }
    }
    return found
  }

  func count(of code: String) -> Int { place(of: code).map { entries[$0].count } ?? 0 }

  private func place(of code: String) -> Int? {
    entries.firstIndex { $0.code.isSame(as: code) }
  }
}

extension ConnectionLoss {
  /// The code of the protocol, of the close frame or of HTTP, or a word for the kind of failure.
  func code(_ code: Int?) -> String {
    if let code { return "\(code)" }
    switch self {
    case .closed(let code?, _): return "\(code)"
    case .refused(let status, _, _): return "http \(status)"
    case .handshakeTimeout: return "timeout"
    case .noPong, .silent: return "no pong"
    case .untrusted: return "tls"
    case .violation, .limit, .notAnEventStream: return "protocol"
    case .closed, .ended, .endedUnmarked, .network, .dropped, .invalidRequest: return "network"
    }
  }
}
