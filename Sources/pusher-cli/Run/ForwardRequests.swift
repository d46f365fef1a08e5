internal import PusherCore

/// Makes the requests of `--forward`: of each event the same one, however often it is sent.
struct ForwardRequests {
  private let url: HTTPURL
  private let headers: [NamedValue]
  /// Begins the keys of one run's events.
  private let run: String
  private let keyRule: ForwardSettings.KeyRule
  /// The URL of a stream, whose events have ids.
  private var stream: String?
  /// The last id of the stream, which events without one of their own carry too.
  private var lastID = ""

  /// The longest value of a field that a peer's text may have; servers take some 8 KiB of fields.
  private static let longestValue = 2048

  /// - Parameter random: Bytes that no other run has.
  init(_ settings: ForwardSettings, random: [UInt8]) {
    url = settings.url
    headers = settings.headers
    run = Hex.encode(random)
    keyRule = settings.keyRule
  }

  /// The events are those of a stream, which begins after `id`.
  mutating func begin(_ stream: HTTPURL, after id: String) {
    self.stream = "\(stream.place)?\(stream.query ?? "")"
    lastID = id
  }

  /// Whether the event has an id of its own; asked once for each, in the order in which they came.
  mutating func hasOwnID(_ event: HandedEvent) -> Bool {
    guard stream != nil, let id = event.id, !id.isEmpty, !id.isSame(as: lastID) else {
      return false
    }
    lastID = id
    return true
  }

  /// The request for an event.
  ///
  /// - Parameter number: Which event of the run it is.
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
    // The receiver can tell by the key.
    request.isRepeatable = true
    request.wantsBody = false
    return request
  }

  private func key(of event: HandedEvent, _ number: Int, hasOwnID: Bool) -> String {
    if hasOwnID { return key(of: event, "\(stream ?? "")\n\(event.id ?? "")") }
    switch keyRule {
    case .run: return "\(run)-\(number)"
    // RFC 3339 up to the second.
    case .content: return key(of: event, "\(stream ?? "")\n\(event.receivedAt.prefix(19))")
    }
  }

  /// The same in every run that gets the event and has this mark for it.
  private func key(of event: HandedEvent, _ mark: String) -> String {
    Hex.encode(Digest.sha256(Array("\(mark)\n".utf8) + Self.lasting(event.line)))
  }

  /// The line without the time when it came.
  private static func lasting(_ line: [UInt8]) -> ArraySlice<UInt8> {
    let mark = Array(#"{"received_at":"#.utf8)
    // The brace, and with the time its quotes and the comma.
    return line.dropFirst(line.starts(with: mark) ? mark.count + WallTime.textLength + 3 : 1)
  }

  /// A peer's text as the value of a field; `nil` for none, and for one that is too long.
  static func value(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= longestValue else { return nil }
    let value = PercentEncoding.encodeForField(text)
    return value.utf8.count <= longestValue ? value : nil
  }
}
