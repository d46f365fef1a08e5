import PusherCore
import PusherServer
import TestSupport

/// Checks heads and bodies of HTTP/1.1 (RFC 9112), as a client and as a server.
///
/// Input: a byte of choices, a byte that cuts, then the peer's bytes. The cuts must change nothing.
/// No part exceeds its limit. A parsed head must be written as a head that parses alike.
func fuzzHTTP(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let (choices, cut) = input.choicesAndCut()
  let bytes = input.bytes
  if choices & 1 == 0 {
    let whole = ResponseReading(choices, [bytes])
    whole.compare(ResponseReading(choices, pieces(of: bytes, cut: cut)))
    whole.check()
  } else {
    checkRequests(bytes, cut: cut)
  }
  return 0
}

private let wide = HTTPHeadLimits(bytes: 1 << 20)

private struct ResponseReading {
  private let input = ByteBuffer()
  private let body = ByteBuffer()
  private let method: String
  private let limits: HTTPHeadLimits
  private var heads: HTTPHeadParser
  private var head: HTTPResponseHead?
  private var reader: HTTPBodyReader?
  private var error: HTTPError?
  private static let bodyLimit = 600

  init(_ choices: UInt8, _ pieces: [[UInt8]]) {
    method = choices & 2 == 0 ? "GET" : "HEAD"
    limits = choices & 4 == 0 ? HTTPHeadLimits() : HTTPHeadLimits(bytes: 200, headers: 4)
    heads = HTTPHeadParser(limits: limits)
    do throws(HTTPError) {
      for piece in pieces {
        input.append(piece)
        try read()
      }
      try reader?.inputEnded()
    } catch { self.error = error }
  }

  private mutating func read() throws(HTTPError) {
    if head == nil {
      head = try heads.response(from: input)
      guard let head else { return }
      reader = try HTTPBodyReader(head, requestMethod: method, limit: Self.bodyLimit)
    }
    _ = try reader?.read(from: input, into: body)
  }

  func compare(_ other: ResponseReading) {
    require(error == other.error, "the error differs with the cut")
    require(head == other.head, "the head differs with the cut")
    require(reader?.isComplete == other.reader?.isComplete, "completeness differs with the cut")
    guard error == nil else { return }
    require(body.array == other.body.array, "the body differs with the cut")
    require(input.array == other.input.array, "what is left differs with the cut")
  }

  func check() {
    require(body.count <= Self.bodyLimit, "a body beyond the limit")
    guard let head else { return }
    require(head.headers.count <= limits.headers, "more fields than the limit")
    guard let again = try? head.encode() else { finding("a head that cannot be written") }
    let parsed = try? HTTPHeadParser.response(from: buffer(again), limits: wide)
    require(parsed == head, "written and read again: \(head)")
    _ = try? Self.handshake?.accept(head)
  }

  private static let handshake: ClientHandshake? = {
    guard let url = try? HTTPURL(parsing: "ws://localhost/app/k") else { return nil }
    return ClientHandshake(
      url: url, subprotocols: ["a"], deflate: true, key: Array("the sample nonce".utf8))
  }()
}

/// Reads requests one after the other on one connection, like the local server.
private func checkRequests(_ bytes: [UInt8], cut: UInt8) {
  let (whole, wholeError) = requests([bytes])
  let (cutUp, cutError) = requests(pieces(of: bytes, cut: cut))
  require(wholeError == cutError, "the error differs with the cut")
  require(whole == cutUp, "the requests differ with the cut")
  for request in whole {
    require(request.body.count <= 600, "a body beyond the limit")
    guard let again = try? request.head.encode() else { finding("a head that cannot be written") }
    let parsed = try? HTTPHeadParser.request(from: buffer(again), limits: wide)
    require(parsed == request.head, "written and read again: \(request.head)")
    checkUpgrade(request.head)
  }
}

private func requests(_ pieces: [[UInt8]]) -> ([HTTPRequestReader.Request], HTTPError?) {
  var reader = HTTPRequestReader(bodyLimit: 600)
  let input = ByteBuffer()
  var requests: [HTTPRequestReader.Request] = []
  do throws(HTTPError) {
    for piece in pieces {
      input.append(piece)
      while let request = try reader.next(from: input) {
        requests.append(request)
        // Frames follow an upgrade.
        if ServerHandshake.isUpgrade(request.head) { return (requests, nil) }
      }
    }
  } catch { return (requests, error) }
  return (requests, nil)
}

/// Checks that a client can parse the server's answer to an upgrade.
private func checkUpgrade(_ head: HTTPRequestHead) {
  let answer: HTTPResponseHead
  do throws(HTTPResponseHead) {
    answer = try ServerHandshake.respond(
      to: head, supportedSubprotocol: { $0.hasPrefix("a") }, deflate: true
    ).0
  } catch { answer = error }
  guard let bytes = try? answer.encode() else { finding("an answer that cannot be written") }
  let parsed = try? HTTPHeadParser.response(from: buffer(bytes))
  require(parsed == answer, "an answer that reads differently: \(answer)")
}
