internal import PusherCore

/// Makes the requests of `--forward`; an event has the same request at every attempt.
struct ForwardRequests {
  private let url: HTTPURL
  private let headers: [NamedValue]
  /// Prefix of this run's keys.
  private let run: String
  /// URL of the stream, if events have ids.
  private var stream: String?
  /// The last id of the stream; events without their own id repeat it.
  private var lastID = ""

  /// Maximum size of a header value, in bytes; servers accept about 8 KiB of headers.
  private static let longestValue = 2048

  /// - Parameter random: Unique bytes for this run.
  init(_ settings: ForwardSettings, random: [UInt8]) {
    url = settings.url
    headers = settings.headers
    run = Hex.encode(random)
  }

  mutating func begin(_ stream: HTTPURL, after id: String) {
    self.stream = "\(stream.place)?\(stream.query ?? "")"
    lastID = id
  }

  /// Returns whether the event has its own id; call it once per event, in order.
  mutating func hasOwnID(_ event: HandedEvent) -> Bool {
    guard stream != nil, let id = event.id, !id.isEmpty, !id.isSame(as: lastID) else {
      return false
    }
    lastID = id
    return true
  }

  func request(_ event: HandedEvent, number: Int, hasOwnID: Bool) -> HTTPExchange.Request {
    var fields = HTTPHeaders([
      ("Content-Type", "application/json"), ("User-Agent", "pusher-cli/\(Version.current)"),
    ])
    for (name, text) in [("Pusher-Event", event.name), ("Pusher-Channel", event.channel ?? "")] {
      if let value = Self.value(text) { fields.append(name, value) }
    }
    fields.append("Idempotency-Key", key(of: event, number, hasOwnID: hasOwnID))
    for name in headers.map(\.name) { fields.remove(name) }
    for header in headers { fields.append(header.name, header.value) }
    var request = HTTPExchange.Request(
      method: "POST", url: url, headers: fields, body: Array(event.line.dropLast()))
    // The receiver detects duplicates by the key.
    request.isRepeatable = true
    request.wantsBody = false
    return request
  }

  private func key(of event: HandedEvent, _ number: Int, hasOwnID: Bool) -> String {
    guard hasOwnID else { return "\(run)-\(number)" }
    // The same in every run.
    let mark = "\(stream ?? "")\n\(event.id ?? "")\n"
    return Hex.encode(Digest.sha256(Array(mark.utf8) + Self.lasting(event.line)))
  }

  /// Returns the line without its receive time.
  private static func lasting(_ line: [UInt8]) -> ArraySlice<UInt8> {
    let mark = Array(#"{"received_at":"#.utf8)
    // Drop the brace, or the whole first member: mark, time, two quotes, comma.
    return line.dropFirst(line.starts(with: mark) ? mark.count + WallTime.textLength + 3 : 1)
  }

  /// Encodes a peer's text as a header value; `nil` if it is empty or too long.
  static func value(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= longestValue else { return nil }
    let value = PercentEncoding.encodeForField(text)
    return value.utf8.count <= longestValue ? value : nil
  }
}
