internal import CArguments

/// What this process was started with.
enum ProgramArguments {
  /// The words after the program's name; bytes that are no UTF-8 become replacement characters.
  ///
  /// They are there without `/proc` too, where the C library hands them to constructors.
  static func words() -> [String] {
    let count = pusher_argument_count()
    guard count > 0 else { return Array(CommandLine.arguments.dropFirst()) }
    return (1..<max(count, 1)).compactMap { index in
      guard let word = unsafe pusher_argument(index) else { return nil }
      return unsafe String(cString: word)
    }
  }
}
