/// The program's version.
enum Version {
  static let current = "0.1.0"
  /// What `--version` prints.
  static let line = "pusher-cli \(current)\n"
}

/// Prints a page or the version to standard output.
enum HelpCommand {
  /// Writes the page; answers `status`, or ``ExitStatus/output`` when the page could not be written.
  static func run(_ page: HelpPage, status: ExitStatus, _ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.print(page.text, status)
  }

  /// Writes the version line.
  static func version(_ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.print(Version.line)
  }
}
