/// One finding of a tidy rule, in the format of editors.
struct Finding: Equatable, CustomStringConvertible {
  var path: String
  var line: Int
  var message: String

  var description: String { "\(path):\(line): error: \(message)" }
}

struct TidySource {
  let path: String
  let text: String
  let tokens: [TidyToken]

  init(_ path: String, _ text: String) {
    self.path = path
    self.text = text
    self.tokens = TidyToken.scan(text)
  }

  /// Folder under `Sources`; `nil` outside.
  var target: String? {
    let parts = path.split(separator: "/")
    return parts.count >= 3 && parts[0] == "Sources" ? String(parts[1]) : nil
  }

  /// Folder within the target, or the file's name at the target's top.
  var room: String? {
    target == nil ? nil : String(path.split(separator: "/")[2])
  }

  /// Returns true if the file is in one of these rooms of the library.
  func isCore(_ rooms: String...) -> Bool {
    target == "PusherCore" && room.map(rooms.contains) == true
  }

  func finding(_ line: Int, _ message: String) -> Finding {
    Finding(path: path, line: line, message: message)
  }

  /// Returns the tokens where the words and signs of `pattern` follow each other; `!` and `(` count
  /// only without a space before them.
  func matches(_ pattern: [String]) -> [TidyToken] {
    guard tokens.count >= pattern.count else { return [] }
    return (0...(tokens.count - pattern.count)).filter { start in
      pattern.indices.allSatisfy { step in
        let token = tokens[start + step]
        guard token.text == pattern[step] else { return false }
        let glued = step > 0 && (token.text == "!" || token.text == "(")
        return !glued || tokens[start + step - 1].end == token.start
      }
    }.map { tokens[$0] }
  }
}

/// The rules, each a pure function of sources; CONTRIBUTING.md explains their purpose.
enum TidyRules {
  static let fileLimit = 400
  static let functionLimit = 50

  static func findings(in sources: [TidySource]) -> [Finding] {
    let rules: [(TidySource) -> [Finding]] = [
      { unknownRooms($0) }, imports, clocksAndRandomness, refusedCalls, unfinishedWork, longFile,
      longFunctions, namesByEquivalence, slowSearches,
    ]
    var found = roomOrder(sources) + roomCycles(sources)
    for source in sources {
      for rule in rules { found += rule(source) }
    }
    return found.sorted { ($0.path, $0.line) < ($1.path, $1.line) }
  }

  // MARK: Imports

  /// Returns the permitted imports of a source.
  static func allowedImports(_ source: TidySource) -> Set<String> {
    switch source.target {
    case "pusher-cli":
      let ours: Set = [
        "PusherCluster", "PusherConsole", "PusherCore", "PusherPlatform", "PusherServer",
        "Synchronization",
      ]
      return ours.union(source.room == "Run" ? ["CProgram"] : [])
    case "PusherPlatform": return ["Glibc", "Musl", "Darwin"]
    case "PusherTesting": return ["PusherCore", "PusherServer"]
    case "PusherServer": return ["PusherCore", "Synchronization"]
    case "PusherConsole": return ["PusherCore", "PusherServer"]
    case "PusherCluster":
      let fence: Set<String> = source.room == "Redis" ? ["CSystemHiredis"] : []
      return fence.union(["PusherCore", "PusherServer"])
    case "PusherCore": break
    default: return []
    }
    switch source.room {
    case "Bytes", "JSON": return ["CSystemVectors"]
    case "Crypto": return ["CSystemOpenSSL", "CSystemSodium"]
    // Checks kind and size of a certificate file before OpenSSL opens it.
    case "TLS": return ["CSystemOpenSSL", "PusherPlatform"]
    case "Compression": return ["CSystemZlib"]
    case "Transport": return ["CSystemEpoll", "PusherPlatform", "Synchronization"]
    case "Feed", "Signing", "Face", "API": return ["Synchronization"]
    default: return []
    }
  }

  /// Confines C to its modules, the system to Transport and the program, and keeps Foundation out.
  static func imports(_ source: TidySource) -> [Finding] {
    let allowed = allowedImports(source)
    let tokens = source.tokens
    return tokens.indices.dropLast().compactMap { index in
      guard tokens[index].text == "import" else { return nil }
      var name = tokens[index + 1]
      // `import struct Module.Name` has the module second.
      if (typeKeywords.union(["func", "let", "var"])).contains(name.text), index + 2 < tokens.count
      {
        name = tokens[index + 2]
      }
      guard name.isWord, !allowed.contains(name.text) else { return nil }
      return source.finding(name.line, "\(name.text) may not be imported here")
    }
  }

  // MARK: Calls

  /// Forbids clocks and randomness outside Transport and Crypto; elsewhere they are arguments.
  static func clocksAndRandomness(_ source: TidySource) -> [Finding] {
    if source.isCore("Transport", "Crypto") { return [] }
    let refused: [[String]] = [
      ["SystemRandomNumberGenerator"], [".", "random", "("], [".", "randomElement", "("],
      [".", "shuffled", "("], [".", "shuffle", "("], ["arc4random"], ["ContinuousClock"],
      ["SuspendingClock"], ["clock_gettime"], ["gettimeofday"], ["sleep", "("], ["usleep", "("],
      ["nanosleep", "("],
    ]
    let message = "clocks and random numbers come from Transport and Crypto, as arguments"
    var found = refused.flatMap { source.matches($0) }
    // Rooms after Transport may ask its clock, and no other.
    let calls = source.matches([".", "now", "("]).filter { dot in
      guard let before = source.tokens.last(where: { $0.end <= dot.start }) else { return true }
      return before.text != "SystemClock"
    }
    found += calls
    return found.map { source.finding($0.line, message) }
  }

  /// Forbids calls that end the program or bypass the writer.
  static func refusedCalls(_ source: TidySource) -> [Finding] {
    guard source.path.hasPrefix("Sources/") else { return [] }
    // A file's own `print` hides the library's.
    let hasOwn = !source.matches(["func", "print"]).isEmpty
    let prints = source.matches(["print", "("]).filter { word in
      !hasOwn && source.tokens.last { $0.end <= word.start }?.text != "."
    }
    let refused: [([TidyToken], String)] = [
      (prints, "print( loses errors and waits in a buffer: write through the line writer"),
      (source.matches(["try", "!"]), "try! ends the program: handle the error"),
      (source.matches(["as", "!"]), "as! ends the program: use as? and handle nil"),
      (source.matches(["fatalError", "(", ")"]), "fatalError() says nothing: throw, or say why"),
    ]
    return refused.flatMap { tokens, message in tokens.map { source.finding($0.line, message) } }
  }

  // MARK: Text

  /// Forbids marks of unfinished work; issues are the place for it.
  static func unfinishedWork(_ source: TidySource) -> [Finding] {
    lines(source).flatMap { number, line -> [Finding] in
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
      return words.filter { ["TODO", "FIXME", "XXX"].contains($0) }.map {
        source.finding(number, "\($0): finish it, or write it down outside the source")
      }
    }
  }

  private static func lines(_ source: TidySource) -> [(Int, Substring)] {
    var lines = source.text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    return lines.enumerated().map { ($0.offset + 1, $0.element) }
  }

  static func longFile(_ source: TidySource) -> [Finding] {
    let count = lines(source).count
    guard count > fileLimit else { return [] }
    return [source.finding(fileLimit + 1, "\(count) lines; a file has \(fileLimit) at most")]
  }

  /// Measures functions, initializers and subscripts from their first word to their last brace.
  static func longFunctions(_ source: TidySource) -> [Finding] {
    let tokens = source.tokens
    return tokens.indices.compactMap { index in
      guard startsFunction(tokens, index), let body = bodyStart(tokens, after: index),
        let end = closingBrace(tokens, from: body)
      else { return nil }
      let count = tokens[end].line - tokens[index].line + 1
      guard count > functionLimit else { return nil }
      let name = tokens[index].text == "func" ? tokens[index + 1].text : tokens[index].text
      return source.finding(
        tokens[index].line, "\(name) has \(count) lines; a function has \(functionLimit) at most")
    }
  }

  private static func startsFunction(_ tokens: [TidyToken], _ index: Int) -> Bool {
    let isCall = index > 0 && tokens[index - 1].text == "."
    guard !isCall, index + 1 < tokens.count else { return false }
    switch tokens[index].text {
    case "func": return true
    case "init", "subscript": return ["(", "?", "<"].contains(tokens[index + 1].text)
    case "deinit": return tokens[index + 1].text == "{"
    default: return false
    }
  }

  /// Returns the brace that opens the body, or nil if another declaration comes first, as in a
  /// protocol.
  private static func bodyStart(_ tokens: [TidyToken], after start: Int) -> Int? {
    let others: Set<String> = [
      "func", "init", "deinit", "subscript", "var", "let", "case", "static", "associatedtype",
      "package", "public", "private", "internal", "mutating", "}",
    ]
    var depth = 0
    for index in tokens.indices.dropFirst(start + 1) {
      switch tokens[index].text {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "{" where depth == 0: return index
      case let text where depth == 0 && index > start + 1 && others.contains(text): return nil
      default: break
      }
    }
    return nil
  }

  private static func closingBrace(_ tokens: [TidyToken], from open: Int) -> Int? {
    var depth = 0
    for index in tokens.indices.dropFirst(open) {
      if tokens[index].text == "{" { depth += 1 }
      if tokens[index].text == "}" { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }
}
