/// The rules for event names.
package enum EventName {
  /// Why a text cannot be an event's name; `nil` when it can.
  package static func problem(in name: String) -> String? {
    if name.isEmpty { return "an event name cannot be empty" }
    let length = name.utf8.count
    guard length <= TriggerRequest.maximumNameLength else {
      return
        "an event name has at most \(TriggerRequest.maximumNameLength) bytes, this one \(length)"
    }
    return nil
  }
}
