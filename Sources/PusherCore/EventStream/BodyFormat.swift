/// The ways to find events in the body of an answer.
package enum BodyFormat: Sendable, Equatable {
  /// Server-sent events (HTML section 9.2).
  case eventStream
  /// One event per line, as in NDJSON and JSON Lines.
  case lines
  /// One event per JSON text, each after a record separator (RFC 7464).
  case textSequence
  /// One event, the whole body.
  case document

  /// Types that servers give JSON lines, of which none is registered.
  ///
  /// In order: NDJSON, the same without `x-`, JSON Lines, Amazon SageMaker, older JSON Lines,
  /// Zalando Nakadi, Spring.
  private static let lineTypes = [
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines",
    "application/x-jsonlines", "application/x-json-stream", "application/stream+json",
  ]

  /// Returns the format of a Content-Type, whose parameters do not count; `nil` for other types.
  package init?(contentType: String) {
    let essence = Self.essence(of: contentType)
    func isNamed(_ type: String) -> Bool { ASCII.equalIgnoringCase(essence, type) }
    if isNamed("text/event-stream") {
      self = .eventStream
    } else if Self.lineTypes.contains(where: isNamed) {
      self = .lines
    } else if isNamed("application/json-seq") || isNamed("application/geo+json-seq") {
      self = .textSequence
    } else {
      return nil
    }
  }

  package static func isJSON(contentType: String) -> Bool {
    ASCII.equalIgnoringCase(essence(of: contentType), "application/json")
  }

  /// Returns the type without parameters.
  ///
  /// A proxy that joins two fields makes a list. Its last type counts (Fetch, "extract a MIME
  /// type").
  private static func essence(of contentType: String) -> String {
    let types = contentType.split(separator: ",").map { ASCII.trimmed($0.prefix { $0 != ";" }) }
    return types.last { !$0.isEmpty } ?? ""
  }
}

/// The answers that are read, and how.
package enum AcceptedAnswers: Sendable, Equatable {
  /// Only `text/event-stream`, as browsers do.
  case eventStream
  /// Also the types of JSON lines and JSON text sequences.
  case namedTypes
  /// Also `application/json`, as one event.
  case namedTypesAndDocuments
  /// Any type, as lines or as the JSON text sequence that the type names.
  case lines

  /// Returns the way to read an answer of this Content-Type; `nil` to refuse the answer.
  package func format(of contentType: String?) -> BodyFormat? {
    let named = contentType.flatMap { BodyFormat(contentType: $0) }
    switch self {
    case .eventStream: return named == .eventStream ? named : nil
    case .namedTypes: return named
    case .namedTypesAndDocuments:
      let isDocument = contentType.map { BodyFormat.isJSON(contentType: $0) } ?? false
      return isDocument ? .document : named
    case .lines: return named == .textSequence ? named : .lines
    }
  }

  /// The value of the Accept field.
  ///
  /// Kubernetes refuses a request that names no type it knows, so lines are asked for in all their
  /// names, and as any type at last.
  var accept: String {
    switch self {
    case .eventStream, .namedTypes: "text/event-stream"
    case .namedTypesAndDocuments: "application/json, text/event-stream"
    case .lines:
      "application/x-ndjson, application/jsonl, application/json-seq, application/json, */*;q=0.1"
    }
  }
}

/// The beginning of a body, for a message if the body holds no event.
package struct BodySample: Sendable, Equatable, CustomStringConvertible {
  /// Bytes that are kept, and characters that are shown.
  private static let (sizeLimit, textLimit) = (256, 60)

  private let contentType: String?
  private let format: BodyFormat
  /// Size of the body, in bytes.
  private var count = 0
  private var beginning: [UInt8] = []

  package init(contentType: String?, format: BodyFormat) {
    (self.contentType, self.format) = (contentType, format)
  }

  /// Takes the next bytes of the body.
  package mutating func note(_ bytes: ByteView) {
    count &+= bytes.count
    let room = Self.sizeLimit - beginning.count
    if room > 0 { beginning += bytes[0..<min(room, bytes.count)].array }
  }

  /// True if an event stream was expected, and the first line is none of an event stream.
  package var isForeign: Bool {
    guard format == .eventStream, let first = text.first else { return false }
    let isField = ["data", "event", "id", "retry"].contains { Self.begins(text, with: $0) }
    return first != 0x3A && first != 0x0A && first != 0x0D && !isField
  }

  /// True if the body looks like JSON, which is read as something else.
  package var isForeignJSON: Bool {
    isForeign && (text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "["))
  }

  /// The kept bytes without a byte order mark.
  private var text: ArraySlice<UInt8> {
    beginning.starts(with: [0xEF, 0xBB, 0xBF]) ? beginning.dropFirst(3) : beginning[...]
  }

  /// Returns true for the name of a field, alone or with a colon (HTML section 9.2.6).
  private static func begins(_ text: ArraySlice<UInt8>, with name: String) -> Bool {
    guard text.starts(with: name.utf8) else { return false }
    let next = text.dropFirst(name.utf8.count).first ?? 0x3A
    return next == 0x3A || next == 0x0A || next == 0x0D
  }

  package var description: String {
    let type = contentType.map { ErrorText.shown($0, limit: 100) } ?? ""
    let named = type.isEmpty ? "without a Content-Type" : "of \(type)"
    guard count > 0 else { return "the answer ended without an event: an empty body \(named)" }
    let words = ErrorText.shown(String(decoding: text, as: UTF8.self), limit: Self.textLimit)
    let isCut = count > beginning.count || words.unicodeScalars.count >= Self.textLimit
    let size = count == 1 ? "1 byte" : "\(count) bytes"
    let start = words.isEmpty ? "" : ", beginning with '\(words)\(isCut ? "…" : "")'"
    return "the answer ended without an event: \(size) \(named)\(start)"
  }
}
