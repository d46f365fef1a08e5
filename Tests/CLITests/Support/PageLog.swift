import PusherCore

struct PageLog {
  struct Line: Equatable, CustomStringConvertible {
    var level: String
    var text: String

    var description: String { "\(level): \(text)" }
  }

  /// A dialog, which the tests dismiss at once.
  struct Dialog: Equatable, CustomStringConvertible {
    var kind: String
    var text: String

    var description: String { "\(kind): \(text)" }
  }

  private(set) var console: [Line] = []
  /// Uncaught exceptions and rejections.
  private(set) var exceptions: [String] = []
  /// Refusals by the Content Security Policy, in the browser's words.
  private(set) var violations: [String] = []
  private(set) var dialogs: [Dialog] = []
  private(set) var windows = 0
  /// Loader IDs of the page's own document, one per load.
  private(set) var loads: [String] = []
  private let frame: String
  private var sent: [(id: String, url: String)] = []

  init(frame: String) {
    self.frame = frame
  }

  var requests: [String] { sent.map(\.url) }

  /// Returns the requests to other places than these (host and port), except those that need no
  /// network.
  func requests(outside places: String...) -> [String] {
    requests.filter { url in
      let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count > 2, parts[1].isEmpty else { return false }
      return !places.contains(String(parts[2]))
    }
  }

  /// Everything that a sound page avoids: warnings, errors, exceptions, violations, dialogs.
  var complaints: [String] {
    console.filter { ["warning", "error", "assert"].contains($0.level) }.map(\.description)
      + exceptions.map { "exception: \($0)" } + violations.map { "violation: \($0)" }
      + dialogs.map(\.description)
  }

  mutating func countWindow() {
    windows += 1
  }

  /// Adds a report of the browser; irrelevant ones are ignored.
  mutating func take(_ method: String, _ parameters: JSONValue) {
    switch method {
    case "Runtime.consoleAPICalled":
      let texts = (parameters["args"]?.elements ?? []).map(Self.text)
      let line = Line(level: parameters["type"]?.text ?? "", text: texts.joined(separator: " "))
      console.append(line)
    case "Runtime.exceptionThrown":
      exceptions.append(Self.exception(parameters["exceptionDetails"] ?? [:]))
    case "Log.entryAdded": add(entry: parameters["entry"] ?? [:])
    case "Audits.issueAdded": add(issue: parameters["issue"]?["details"] ?? [:])
    case "Page.javascriptDialogOpening":
      let dialog = Dialog(
        kind: parameters["type"]?.text ?? "", text: parameters["message"]?.text ?? "")
      dialogs.append(dialog)
    case "Network.requestWillBeSent":
      add(request: parameters, url: parameters["request"]?["url"])
    case "Network.webSocketCreated": add(request: parameters, url: parameters["url"])
    case "Network.loadingFailed":
      // A redirect chain has one ID; the policy blocked its last request.
      guard parameters["blockedReason"] != nil,
        let last = sent.lastIndex(where: { $0.id == parameters["requestId"]?.text })
      else { break }
      sent.remove(at: last)
    case "Page.lifecycleEvent":
      guard parameters["name"] == "load", parameters["frameId"]?.text == frame else { break }
      loads.append(parameters["loaderId"]?.text ?? "")
    default: break
    }
  }

  private mutating func add(entry: JSONValue) {
    // A worker's entry arrives in its own session too.
    guard entry["source"] != "worker" else { return }
    let text = entry["text"]?.text ?? ""
    if entry["source"] == "security", text.contains("Content Security Policy") {
      violations.append(text)
    } else {
      let place = entry["url"]?.text.map { " (\($0))" } ?? ""
      console.append(Line(level: entry["level"]?.text ?? "", text: text + place))
    }
  }

  /// Adds a policy violation that the log lacks, such as `eval` whose error the page caught.
  private mutating func add(issue: JSONValue) {
    guard let details = issue["contentSecurityPolicyIssueDetails"],
      let kind = details["contentSecurityPolicyViolationType"]?.text,
      !["kInlineViolation", "kURLViolation"].contains(kind)
    else { return }
    let place = details["sourceCodeLocation"]?["url"]?.text ?? ""
    violations.append("\(kind): \(details["violatedDirective"]?.text ?? "") (\(place))")
  }

  private mutating func add(request: JSONValue, url: JSONValue?) {
    sent.append((request["requestId"]?.text ?? "", url?.text ?? ""))
  }

  static func text(of value: JSONValue) -> String {
    value["value"].map { $0.text ?? $0.jsonText } ?? value["unserializableValue"]?.text
      ?? value["description"]?.text ?? value["type"]?.text ?? ""
  }

  static func exception(_ details: JSONValue) -> String {
    details["exception"].map(text) ?? details["text"]?.text ?? details.jsonText
  }
}
