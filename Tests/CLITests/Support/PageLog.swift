import PusherCore

/// What a page said and did, its frames, workers and windows included, in the order in which it came.
struct PageLog {
  /// A line of the console, by the page or by the browser.
  struct Line: Equatable, CustomStringConvertible {
    /// `log`, `info`, `warning`, `error` and the like.
    var level: String
    var text: String

    var description: String { "\(level): \(text)" }
  }

  /// A dialog that was opened, and dismissed at once.
  struct Dialog: Equatable, CustomStringConvertible {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    var kind: String
    var text: String

    var description: String { "\(kind): \(text)" }
  }

  private(set) var console: [Line] = []
  /// Exceptions and rejections that nobody caught.
  private(set) var exceptions: [String] = []
  /// What the Content Security Policy refused, in the browser's words.
  private(set) var violations: [String] = []
  private(set) var dialogs: [Dialog] = []
  /// How many windows the page has opened.
  private(set) var windows = 0
  /// The ids under which the page's own document was loaded, one for each time.
  private(set) var loads: [String] = []
  private let frame: String
  private var sent: [(id: String, url: String)] = []

  /// - Parameter frame: The id of the page's own frame.
  init(frame: String) {
    self.frame = frame
  }

  /// The URLs that were asked for, WebSockets too; what a policy kept back is not among them.
  var requests: [String] { sent.map(\.url) }

  /// The requests that went to none of these places, each a host with its port; what needs no network is left out.
  func requests(outside places: String...) -> [String] {
    requests.filter { url in
      let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count > 2, parts[1].isEmpty else { return false }
      return !places.contains(String(parts[2]))
    }
  }

  /// Everything that a sound page does not do: warnings and errors, exceptions, violations, dialogs.
  var complaints: [String] {
    console.filter { ["warning", "error", "assert"].contains($0.level) }.map(\.description)
      + exceptions.map { "exception: \($0)" } + violations.map { "violation: \($0)" }
      + dialogs.map(\.description)
  }

  mutating func countWindow() {
    windows += 1
  }

  /// Takes a report of the browser; those that say nothing here are passed over.
  mutating func take(_ method: String, _ parameters: JSONValue) {
    switch method {
    case "Runtime.consoleAPICalled":
      let texts = (parameters["args"]?.elements ?? []).map(Self.text)
      let line = Line(
        level: parameters["type"]?.text ?? "", text: texts.joined(separator: " "))
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
      // Of a chain of redirects, which have one id, it is the last that was kept back.
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
    // What a worker says comes from its own session too.
    guard entry["source"] != "worker" else { return }
    let text = entry["text"]?.text ?? ""
    if entry["source"] == "security", text.contains("Content Security Policy") {
      violations.append(text)
    } else {
      let place = entry["url"]?.text.map { " (\($0))" } ?? ""
      console.append(Line(level: entry["level"]?.text ?? "", text: text + place))
    }
  }

  /// Adds what a policy refused and the log does not tell, as `eval` that a page has caught.
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

  /// A value of JavaScript as the console shows it.
  static func text(of value: JSONValue) -> String {
    value["value"].map { $0.text ?? $0.jsonText } ?? value["unserializableValue"]?.text
      ?? value["description"]?.text ?? value["type"]?.text ?? ""
  }

  /// What an exception says, with its stack where it has one.
  static func exception(_ details: JSONValue) -> String {
    details["exception"].map(text) ?? details["text"]?.text ?? details.jsonText
  }
}
