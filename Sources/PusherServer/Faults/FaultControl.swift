internal import PusherCore

/// Changes the staged faults while the server runs: `/faults`, for programs of this machine.
struct FaultControl {
  let script: FaultScript
  let peer: SocketAddress?

  static let path = "/faults"

  /// The answer to a request at the path.
  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    // Only the developer may change faults, not a page in a browser.
    guard let peer, LocalHost.split(peer.description)?.host.isLocal == true,
      request.head.headers["Origin"] == nil
    else { return .refusal(403, "faults are staged by programs on the server's own machine") }
    switch request.head.method {
    case "GET", "HEAD": return state
    case "DELETE":
      script.removeAll()
      return state
    case "POST": return add(request.body)
    default: return .refusal(request.head.method, allow: "GET, POST, DELETE")
    }
  }

  /// One fault a line; none is taken when one is wrong.
  private func add(_ body: [UInt8]) -> HTTPAnswer {
    guard let text = String(validating: body, as: UTF8.self) else {
      return .refusal(400, "the body is not UTF-8")
    }
    let lines = text.lines
    guard !lines.isEmpty, script.faults.count + lines.count <= 100 else {
      return .refusal(400, "the body has one fault a line, and a server a hundred at most")
    }
    do throws(StagedFaultError) {
      var faults: [StagedFault] = []
      for line in lines { faults.append(try StagedFault(parsing: String(line))) }
      script.add(faults)
    } catch {
      return .refusal(400, error.description)
    }
    return state
  }

  private var state: HTTPAnswer {
    .json(["faults": .array(script.faults.map { .string($0.description) })])
  }
}
