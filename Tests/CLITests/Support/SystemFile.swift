import Foundation

/// A file that the system writes while it is read, such as those of `/proc`.
enum SystemFile {
  /// Returns the whole text.
  ///
  /// `String(contentsOfFile:)` takes the first short read for the end, so at most 4 KiB.
  static func text(_ path: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    defer { try? file.close() }
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// Returns the permissions of a file.
  static func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
}
