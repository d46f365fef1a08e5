enum Version {
  /// The version of program, library and packages; scripts and packages read it from this line.
  static let current = "1.0.0"
  static let line = "pusher-cli \(current)\n"
}
