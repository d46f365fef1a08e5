internal import CProgram

enum ProgramArguments {
  /// Returns the words after the program's name; invalid UTF-8 becomes replacement characters.
  ///
  /// They are the arguments that the C library passes to constructors, so `/proc` is not needed.
  static func words() -> [String] {
    let count = pusher_argument_count()
    guard count > 0 else { return Array(CommandLine.arguments.dropFirst()) }
    return (1..<max(count, 1)).compactMap { index in
      guard let word = unsafe pusher_argument(index) else { return nil }
      return unsafe String(cString: word)
    }
  }
}
