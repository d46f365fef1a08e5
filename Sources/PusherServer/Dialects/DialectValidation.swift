internal import PusherCore

// What Reverb says of an event field by field, in the words of Laravel's validation.
extension Dialect {
  /// Why an event is refused before anything else is looked at; `nil` where that is not this server's way.
  func eventRefusal(_ event: JSONValue) -> APIRefusal? {
    guard self == .reverb else { return nil }
    var report = FieldReport()
    report.requireText("name", event)
    report.requireText("data", event)
    report.require("channels", orElse: "channel", in: event, isArray: true)
    report.require("channel", orElse: "channels", in: event, isArray: false)
    report.allowText("socket_id", event)
    report.allowText("info", event)
    return report.refusal
  }

  /// Why a batch is refused before anything else is looked at; `nil` where that is not this server's way.
  func batchRefusal(_ body: JSONValue) -> APIRefusal? {
    guard self == .reverb else { return nil }
    var report = FieldReport()
    report.requireArray("batch", body)
    let events = body["batch"]?.elements ?? []
    for (index, event) in events.enumerated() {
      report.place = "batch.\(index)."
      report.requireText("name", event)
      report.requireText("data", event)
      report.require("channel", orElse: "channels", in: event, isArray: false)
      report.allowText("socket_id", event)
      report.allowText("info", event)
    }
    return report.refusal
  }
}

/// What is wrong with the fields of a body: one message for each, in the fields' order.
private struct FieldReport {
  /// What stands before the names of fields.
  var place = ""
  private var messages: [JSONValue.Member] = []

  var refusal: APIRefusal? {
    messages.isEmpty ? nil : APIRefusal(status: 422, json: .object(messages))
  }

  mutating func requireText(_ name: String, _ value: JSONValue) {
    guard let field = value[name], !Self.isEmpty(field) else { return add(name, "is required") }
    if field.text == nil { add(name, "must be a string") }
  }

  mutating func requireArray(_ name: String, _ value: JSONValue) {
    guard let field = value[name], !Self.isEmpty(field) else { return add(name, "is required") }
    if field.elements == nil, field.members == nil { add(name, "must be an array") }
  }

  /// Of two fields one must be there.
  mutating func require(
    _ name: String, orElse other: String, in value: JSONValue, isArray: Bool
  ) {
    let isMissing = value[name].map(Self.isEmpty) ?? true
    if isMissing, value[other].map(Self.isEmpty) ?? true {
      return add(name, "is required when \(other) is not present")
    }
    guard let field = value[name] else { return }
    if isArray {
      if field.elements == nil, field.members == nil { add(name, "must be an array") }
    } else if field.text == nil {
      add(name, "must be a string")
    }
  }

  mutating func allowText(_ name: String, _ value: JSONValue) {
    guard let field = value[name], field.text == nil else { return }
    add(name, "must be a string")
  }

  private mutating func add(_ name: String, _ what: String) {
    let shown = String((place + name).map { $0 == "_" ? " " : $0 })
    messages.append(
      .init(place + name, .array([.string("The \(shown) field \(what).")])))
  }

  /// `null`, blank text and arrays and objects without content count as not there.
  private static func isEmpty(_ value: JSONValue) -> Bool {
    switch value {
    case .null: true
    case .string(let text): text.utf8.allSatisfy { $0 == 0x20 || 9...13 ~= $0 }
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    case .bool, .number: false
    }
  }
}
