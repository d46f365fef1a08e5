/// Something the test waited for did not come in time.
struct Late: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    description = what
  }
}

/// The other side did something the test does not allow.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    description = what
  }
}

/// The other side ended the connection, or the test has; no failure by itself.
struct PeerLeft: Error {}

/// A call of the system failed.
struct SystemFailure: Error, CustomStringConvertible {
  let description: String

  init(_ call: String, _ code: Int32) {
    description = "\(call) failed with error \(code)"
  }
}
