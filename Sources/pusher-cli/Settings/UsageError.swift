/// A mistake of the caller: what was wrong, where, and what to do.
///
/// It ends the program with status 2.
/// Messages follow the program's voice: lower case, one line, no full stop. They never hold a secret.
struct UsageError: Error, Equatable {
  /// What was wrong and what to do.
  let message: String
  /// A second line that points to the help; only mistakes in the command line's form have one.
  let pointer: String?

  /// A setting that is missing or wrong.
  init(_ message: String) {
    self.message = message
    self.pointer = nil
  }

  /// A word the command line's grammar has no place for.
  init(_ message: String, helpFor command: Command?) {
    self.message = message
    let words = ["pusher-cli", command?.rawValue, "--help"].compactMap { $0 }
    self.pointer = "Try '\(words.joined(separator: " "))'."
  }
}

/// What the caller should know before the run begins.
struct Caution: Equatable, Sendable, ExpressibleByStringLiteral {
  let text: String
  /// Whether `-q` leaves it out.
  let isSilenced: Bool

  init(_ text: String, isSilenced: Bool = true) {
    self.text = text
    self.isSilenced = isSilenced
  }

  init(stringLiteral text: String) {
    self.init(text)
  }
}

/// Finds what a mistyped word was probably meant to be.
enum Suggestion {
  /// The longest word that is compared, in bytes: comparing costs the product of the lengths.
  private static let longestWord = 256

  /// The nearest candidate within two edits, else the only one that begins with `word`; nil when unsure.
  static func nearest(to word: String, in candidates: [String]) -> String? {
    guard word.utf8.count <= longestWord else { return nil }
    let ranked = candidates.map { (distance: distance(word, $0), candidate: $0) }
    if let best = ranked.min(by: { $0.distance < $1.distance }),
      best.distance <= 2, best.distance * 2 < max(word.count, best.candidate.count)
    {
      return best.candidate
    }
    let longer = candidates.filter { $0.hasPrefix(word) }
    return word.isEmpty || longer.count != 1 ? nil : longer.first
  }

  /// "; did you mean 'X'?" or nothing.
  static func clause(for word: String, in candidates: [String], prefix: String = "") -> String {
    nearest(to: word, in: candidates).map { "; did you mean '\(prefix)\($0)'?" } ?? ""
  }

  /// The letters that other programs have for a flag: mosquitto's `-C` counts.
  private static let foreignLetters: [Character: Flag] = ["C": .count]

  /// "; did you mean '-n' (--count)?" for the letter of another program, or nothing.
  static func clause(forLetter letter: Character, of command: Command?) -> String {
    guard let command, let flag = foreignLetters[letter], let own = flag.letter,
      flag.commands.contains(command)
    else { return "" }
    return "; did you mean '-\(own)' (\(flag.spelling))?"
  }

  /// How many insertions, deletions, replacements and swaps of neighbours lead from one word to the other.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1] + [Int](repeating: 0, count: right.count)
      for column in 0..<right.count {
        let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
        current[column + 1] = min(replaced, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          current[column + 1] = min(current[column + 1], beforeLast[column - 1] + 1)
        }
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
