import Foundation
import PusherCore

/// A headless Chromium whose pages a test drives through the DevTools protocol; it ends with the last page.
///
/// It belongs to the test's thread, and it hears what its pages report while it waits for an answer.
final class DevToolsBrowser {
  private let connection: DevToolsConnection
  private var lastCall = 0
  /// What each page said and did, by the page's id.
  private(set) var logs: [String: PageLog] = [:]
  /// The pages in the order in which they came, and the contexts they belong to.
  private var pages: [(id: String, context: String)] = []
  /// Which page a session belongs to: its own one, or one of its frames, workers and windows.
  private var owners: [String: String] = [:]
  /// The sessions of pages, by the page's id.
  private var sessions: [String: String] = [:]
  /// The context in which a page of the test's own is about to come.
  private var expecting: String?
  /// The calls that make that page tell us everything, as long as they are not answered.
  private var preparing: Set<Int> = []

  init() throws {
    connection = try DevToolsConnection()
    // Everything that a page starts waits until we hear what it does.
    try call("Target.setAutoAttach", Self.attaching)
  }

  private static let attaching: JSONValue = [
    "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
  ]

  /// The browser's process, which leads the group of all that it starts.
  var processID: pid_t { connection.processID }

  /// A new page, empty until it is opened.
  ///
  /// - Parameter other: A page with which it shall share storage and cookies; all its own unless given.
  func page(sharingStorageWith other: BrowserPage? = nil) throws -> BrowserPage {
    let context = try other?.context ?? newContext()
    expecting = context
    defer { expecting = nil }
    let answer = try call(
      "Target.createTarget", ["url": "about:blank", "browserContextId": .init(context)])
    guard let id = answer["targetId"]?.text else { throw Unexpected(answer.jsonText) }
    try listen(until: sessions[id] != nil, "the browser attached us to a new page")
    guard let session = sessions[id] else { throw Unexpected("a page without a session") }
    let page = BrowserPage(self, id: id, session: session, context: context)
    // A page that is opened earlier asks for things before it tells of them.
    try listen(until: preparing.isEmpty, "a new page was prepared")
    return page
  }

  private func newContext() throws -> String {
    let answer = try call("Target.createBrowserContext")
    guard let context = answer["browserContextId"]?.text else { throw Unexpected(answer.jsonText) }
    let permissions: JSONValue = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    try call(
      "Browser.grantPermissions",
      ["permissions": permissions, "browserContextId": .init(context)])
    return context
  }

  // MARK: Messages

  /// Calls a method, of the browser unless a session is given, and waits for its answer.
  ///
  /// - Throws: ``DevToolsError`` with what the browser says against it.
  @discardableResult
  func call(
    _ method: String, _ parameters: JSONValue = [:], session: String? = nil,
    within limit: Duration = patience
  ) throws -> JSONValue {
    let id = try post(method, parameters, session: session)
    var answer: JSONValue?
    try listen(until: answer != nil, "\(method) was answered", within: limit) { message in
      if message["id"]?.integer == id { answer = message }
    }
    if let error = answer?["error"] {
      throw DevToolsError(method: method, reason: error["message"]?.text ?? error.jsonText)
    }
    return answer?["result"] ?? [:]
  }

  /// Sends a call and does not wait; answers its number.
  @discardableResult
  private func post(
    _ method: String, _ parameters: JSONValue = [:], session: String?
  ) throws -> Int {
    lastCall += 1
    try connection.send(
      .object(present: [
        "id": .init(lastCall), "method": .init(method), "params": parameters,
        "sessionId": session.map { .init($0) },
      ]))
    return lastCall
  }

  /// Takes what the browser reports until something is so.
  ///
  /// - Parameters:
  ///   - what: What is waited for, as a sentence.
  ///   - other: Gets the messages that are no reports.
  func listen(
    until isSo: @autoclosure () -> Bool, _ what: @autoclosure () -> String,
    within limit: Duration = patience, other: (JSONValue) -> Void = { _ in }
  ) throws {
    let deadline = SystemClock.now().advanced(by: limit)
    while !isSo() {
      let left = SystemClock.now().duration(to: deadline)
      guard let message = try connection.message(within: max(.zero, left)) else {
        throw Late("in \(limit) it never was so: \(what())")
      }
      if let id = message["id"]?.integer { preparing.remove(id) }
      if let method = message["method"]?.text {
        try take(method, message["params"] ?? [:], session: message["sessionId"]?.text)
      } else {
        other(message)
      }
    }
  }

  private func take(_ method: String, _ parameters: JSONValue, session: String?) throws {
    if method == "Target.attachedToTarget" { return try attach(parameters, parent: session) }
    guard let session, let owner = owners[session] else { return }
    logs[owner]?.take(method, parameters)
    switch method {
    case "Page.javascriptDialogOpening":
      // Whoever leaves a page is not kept by its question.
      let leaves = parameters["type"] == "beforeunload"
      try post("Page.handleJavaScriptDialog", ["accept": .init(leaves)], session: session)
    case "Inspector.targetCrashed": throw Unexpected("the page crashed")
    default: break
    }
  }

  // MARK: Sessions

  /// Begins to hear what a page, or something that a page has started, says and does.
  private func attach(_ parameters: JSONValue, parent: String?) throws {
    guard let session = parameters["sessionId"]?.text, let target = parameters["targetInfo"],
      let id = target["targetId"]?.text
    else { throw Unexpected(parameters.jsonText) }
    let context = target["browserContextId"]?.text ?? ""
    let isPage = target["type"] == "page"
    let calls = try prepare(session, isDocument: isPage || target["type"] == "iframe")
    if isPage, target["openerId"] == nil, expecting == context {
      expecting = nil
      preparing = calls
      pages.append((id, context))
      sessions[id] = session
      logs[id] = PageLog(frame: id)
      owners[session] = id
    } else {
      // A worker that pages share has no parent; its context tells whose it is.
      let opener = target["openerId"]?.text.flatMap { logs[$0] == nil ? nil : $0 }
      let owner = parent.flatMap { owners[$0] } ?? opener
      owners[session] = owner ?? pages.first { $0.context == context }?.id
      if isPage, let owner = owners[session] { logs[owner]?.countWindow() }
    }
  }

  /// Makes a session tell everything, and lets what waits for that go on; answers the numbers of the calls.
  private func prepare(_ session: String, isDocument: Bool) throws -> Set<Int> {
    var calls: Set<Int> = []
    if isDocument {
      calls.insert(try post("Page.enable", session: session))
      calls.insert(
        try post("Page.setLifecycleEventsEnabled", ["enabled": true], session: session))
      calls.insert(try post("Audits.enable", session: session))
    }
    for domain in ["Runtime", "Log", "Network", "Inspector"] {
      calls.insert(try post("\(domain).enable", session: session))
    }
    calls.insert(try post("Target.setAutoAttach", Self.attaching, session: session))
    calls.insert(try post("Runtime.runIfWaitingForDebugger", session: session))
    return calls
  }
}

/// The browser did not do what it was asked for.
struct DevToolsError: Error, CustomStringConvertible {
  var method: String
  var reason: String

  var description: String { "\(method): \(reason)" }
}
