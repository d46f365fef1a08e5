internal import PusherCore

/// What changes the staged faults while the server runs: `/faults`, for programs of this machine.
struct FaultControl {
  let script: FaultScript
  let peer: SocketAddress?

  static let path = "/faults"

  /// The answer to a request at the path, and whether faults were added that may end connections now.
  func answer(_ request: HTTPRequestReader.Request) -> (HTTPAnswer, addsFaults: Bool) {
    // A page of a browser must not reach what only the developer may.
    guard isLocal, request.head.headers["Origin"] == nil else {
      return (.refusal(403, "faults are staged by programs on the server's own machine"), false)
    }
    switch request.head.method {
    case "GET", "HEAD": return (state, false)
    case "DELETE":
      script.removeAll()
      return (state, false)
    case "POST": return add(request.body)
    default: return (.refusal(request.head.method, allow: "GET, POST, DELETE"), false)
    }
  }

  /// One fault a line; none is taken when one is wrong.
  private func add(_ body: [UInt8]) -> (HTTPAnswer, addsFaults: Bool) {
    guard let text = String(validating: body, as: UTF8.self) else {
      return (.refusal(400, "the body is not UTF-8"), false)
    }
    let lines = text.lines
    guard !lines.isEmpty, script.faults.count + lines.count <= 100 else {
      return (.refusal(400, "the body has one fault a line, and a server a hundred at most"), false)
    }
    var faults: [StagedFault] = []
    for line in lines {
      do throws(StagedFaultError) {
        faults.append(try StagedFault(parsing: String(line)))
      } catch {
        return (.refusal(400, error.description), false)
      }
    }
    script.add(faults)
    return (state, true)
  }

  private var state: HTTPAnswer {
    .json(
      .object([.init("faults", .array(script.faults.map { .string($0.description) }))]))
  }

  private var isLocal: Bool {
    guard let peer else { return false }
    switch peer.family {
    case .ipv4: return peer.octets[0] == 127
    case .ipv6:
      let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 127]
      return peer.octets == [UInt8](repeating: 0, count: 15) + [1]
        || peer.octets.starts(with: mapped)
    }
  }
}
