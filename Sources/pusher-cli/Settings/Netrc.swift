internal import PusherCore

/// Logins by machine, as curl and ftp read them from a netrc file.
enum Netrc {
  /// The user information for the host of `url`, percent-encoded; `nil` when the file has none for it.
  ///
  /// A user name in the URL asks for that login's password. `default` counts for every host; macros are skipped.
  static func userInfo(for url: HTTPURL, in text: String) -> String? {
    let wanted = url.userInfo.flatMap { PercentEncoding.decode($0) }
    for entry in entries(text) where entry.machine == nil || entry.machine == url.host {
      guard wanted == nil || wanted == entry.login, let login = entry.login else { continue }
      return "\(PercentEncoding.encode(login)):\(PercentEncoding.encode(entry.password))"
    }
    return nil
  }

  private struct Entry {
    /// `nil` for `default`.
    var machine: String?
    var login: String?
    var password = ""
  }

  private static func entries(_ text: String) -> [Entry] {
    var entries: [Entry] = []
    var words = words(text)[...]
    while let word = words.popFirst() {
      switch word {
      case "machine": entries.append(Entry(machine: words.popFirst()?.lowercased() ?? ""))
      case "default": entries.append(Entry())
      case "login" where !entries.isEmpty: entries[entries.count - 1].login = words.popFirst()
      case "password" where !entries.isEmpty:
        entries[entries.count - 1].password = words.popFirst() ?? ""
      case "account": _ = words.popFirst()
      default: break
      }
    }
    return entries
  }

  /// The words without comments and macros; a word in double quotes may hold blanks.
  private static func words(_ text: String) -> [String] {
    var words: [String] = []
    var isMacro = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.allSatisfy(\.isWhitespace) { isMacro = false }
      guard !isMacro else { continue }
      var rest = line.drop(while: \.isWhitespace)
      while let first = rest.first, first != "#" {
        if rest.hasPrefix("macdef ") {
          isMacro = true
          break
        }
        words.append(first == "\"" ? quoted(&rest) : String(rest.prefix { !$0.isWhitespace }))
        rest = first == "\"" ? rest : rest.drop { !$0.isWhitespace }
        rest = rest.drop(while: \.isWhitespace)
      }
    }
    return words
  }

  private static func quoted(_ rest: inout Substring) -> String {
    rest = rest.dropFirst()
    var word = ""
    while let next = rest.popFirst(), next != "\"" {
      word.append(next == "\\" ? rest.popFirst() ?? next : next)
    }
    return word
  }
}
