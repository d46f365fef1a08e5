struct Late: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    description = what
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    description = what
  }
}

/// The other side or the test ended the connection; not a failure by itself.
struct PeerLeft: Error {}

struct SystemFailure: Error, CustomStringConvertible {
  let description: String

  init(_ call: String, _ code: Int32) {
    description = "\(call) failed with error \(code)"
  }
}
