internal import PusherCore

/// Runs `config`: prints every setting of a command, with its value and its source.
enum ConfigCommand {
  static let words = ["path", "profiles"]

  /// Prints a table, or one JSON line per setting; reports an invalid setting on standard error.
  static func run(
    _ settings: ConfigSettings, isJSON: Bool, diagnostics: Diagnostics
  ) -> ExitStatus {
    let text = isJSON ? lines(settings.rows) : table(settings.rows)
    let status = diagnostics.print(text)
    guard let problem = settings.problem else { return status }
    diagnostics.usage(problem)
    return .usage
  }

  private static func lines(_ rows: [ConfigSettings.Row]) -> String {
    rows.map { row in
      let line: JSONValue = [
        "setting": .string(row.name), "value": .string(row.value), "source": .string(row.origin),
      ]
      return JSONWriter.text(line) + "\n"
    }.joined()
  }

  /// Maximum width of the value column; longer values are not aligned.
  private static let widest = 40

  private static func table(_ rows: [ConfigSettings.Row]) -> String {
    func padded(_ text: String, to width: Int) -> String {
      text + String(repeating: " ", count: max(width - text.count, 0))
    }
    let shown = rows.map {
      ($0.name, Diagnostics.escaped($0.value), Diagnostics.escaped($0.origin))
    }
    let nameWidth = shown.map(\.0.count).max() ?? 0
    let valueWidth = shown.map(\.1.count).filter { $0 <= widest }.max() ?? 0
    return shown.map { name, value, origin in
      "\(padded(name, to: nameWidth))  \(padded(value, to: valueWidth))  \(origin)\n"
    }.joined()
  }
}
