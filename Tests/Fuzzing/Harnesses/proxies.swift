import PusherCore
import TestSupport

/// Checks answers of proxies: CONNECT (RFC 9110 section 9.3.6), SOCKS 5 (RFC 1928, RFC 1929).
///
/// Input: a byte of choices, a byte that cuts, a line with the server's name, then the proxy's
/// bytes. The cuts must change nothing. The bytes after the proxy's answer stay for the server.
/// Requests are well formed.
func fuzzProxies(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let (choices, cut) = input.choicesAndCut()
  let parts = input.bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
  let host = text(parts[0])
  let answers = parts.count > 1 ? Array(parts[1]) : []
  guard var whole = Talk(choices: choices, host: host),
    var other = Talk(choices: choices, host: host)
  else { return 0 }
  whole.checkQuestion()
  whole.feed(answers)
  for piece in pieces(of: answers, cut: cut) { other.feed(piece) }
  whole.compare(other, answers)
  return 0
}

private struct Talk {
  private enum Outcome: Equatable {
    case waiting
    case open
    case failed(ProxyError)
  }

  private let proxy: Proxy
  private let host: String
  private let input = ByteBuffer()
  private let negotiation: ProxyNegotiation
  private var outcome = Outcome.waiting

  /// Starts the negotiation; `nil` for a refused name.
  init?(choices: UInt8, host: String) {
    let credentials = ProxyCredentials(user: "user", password: "pass word")
    proxy = Proxy(
      kind: choices & 1 == 0 ? .http : .socks5h, host: "proxy",
      credentials: choices & 2 == 0 ? nil : credentials)
    self.host = host
    let addresses = [
      nil, SocketAddress(family: .ipv4, octets: [192, 0, 2, 1], port: 443),
      SocketAddress(family: .ipv6, octets: [UInt8](repeating: 7, count: 16), port: 443), nil,
    ]
    do throws(ProxyError) {
      negotiation = try ProxyNegotiation(
        proxy: proxy, host: host, port: 443, address: addresses[Int(choices >> 2 & 3)])
    } catch { return nil }
  }

  /// Checks that the first request is one request, or one greeting, and nothing else.
  func checkQuestion() {
    let bytes = negotiation.output.array
    guard proxy.kind == .http else {
      require(bytes == [5, UInt8(bytes.count - 2)] + bytes.dropFirst(2), "a greeting: \(bytes)")
      return
    }
    let question = buffer(bytes)
    let head = try? HTTPHeadParser.request(from: question)
    let isName = host.contains(":") ? "[\(host)]:443" : "\(host):443"
    require(head?.method == "CONNECT" && head?.target == isName, "a request: \(text(bytes))")
    require(question.isEmpty && head?.headers.all("Host") == [isName], "a request and more")
  }

  mutating func feed(_ bytes: [UInt8]) {
    input.append(bytes)
    guard outcome == .waiting else { return }
    do throws(ProxyError) {
      if try negotiation.receive(from: input) { outcome = .open }
    } catch { outcome = .failed(error) }
  }

  func compare(_ other: Talk, _ answers: [UInt8]) {
    require(outcome == other.outcome, "cut: \(outcome), \(other.outcome)")
    require(negotiation.output.array == other.negotiation.output.array, "the questions differ")
    require(negotiation.output.count <= 2048, "the questions grow")
    guard outcome == .open else { return }
    require(input.array == other.input.array, "what is left differs with the cut")
    require(input.array == answers.suffix(input.count), "what is left is not the rest")
    if case .failed(let error) = outcome {
      require(error.description.utf8.count < 1000, "an endless message")
    }
  }
}
