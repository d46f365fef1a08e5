import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// docs/console.md, "An address that stays".
struct `--console-token-file: the file` {
  private func token(_ path: String) throws -> String {
    try ConsoleTokenFile.token(in: path) { _ in }
  }

  /// Returns the words of a refusal behind the option's name.
  private func reason(_ path: String) throws -> String {
    let message = try #require(refusal { _ = try token(path) })
    #expect(message.hasPrefix("--console-token-file: "))
    return String(message.dropFirst("--console-token-file: ".count))
  }

  @Test func `a missing file is made, for you alone, and read by the next run`() throws {
    let folder = try TemporaryFolder.shared.folder("tokens")
    let path = "\(folder)/token"
    var told: [String] = []
    let made = try ConsoleTokenFile.token(in: path) { told.append($0) }
    #expect(made.utf8.count == 32)
    #expect(try fileText(path) == made + "\n")
    #expect(FileAccess.system.permissions(path) == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["token"])
    #expect(try ConsoleTokenFile.token(in: path) { told.append($0) } == made)
    #expect(
      told == [
        "--console-token-file: made '\(path)' with a new token",
        "--console-token-file: the console has the token of '\(path)'",
      ])
    let other = TemporaryFolder.shared.file("token")
    #expect(try token(other) != made)
  }

  @Test func `a token of your own is taken`() throws {
    for own in ["0123456789abcdef", "A-Z.a_z~0-9-and-more", String(repeating: "x", count: 256)] {
      for end in ["", "\n", "\r\n"] {
        let path = try TemporaryFolder.shared.file("token", holding: own + end)
        #expect(try token(path) == own)
      }
    }
  }

  @Test(arguments: [
    "", "\n", "0123456789abcde", String(repeating: "x", count: 257), "0123456789 abcdef",
    "0123456789abcdef\n0123456789abcdef", "0123456789abcdef\n\n", "\n0123456789abcdef",
    "0123456789abcdef&", "0123456789abcdef#", "0123456789abcdef%", "0123456789abcdefé",
    "0123456789abcdef\u{0}", "0123456789abcdef/", "\u{FEFF}0123456789abcdef",
  ])
  func `anything but one token is refused, and left as it is`(text: String) throws {
    let path = try TemporaryFolder.shared.file("token", holding: text)
    #expect(
      try reason(path) == "'\(path)' is not a token of 16 to 256 letters, digits, '-', '.', "
        + "'_' or '~' on one line; remove it, and serve makes one")
    #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o620, 0o601] as [mode_t])
  func `a file that others may use is refused`(mode: mode_t) throws {
    let path = try TemporaryFolder.shared.file("token", holding: "0123456789abcdef")
    #expect(chmod(path, mode) == 0)
    #expect(try reason(path) == "other users can read '\(path)'; run chmod 600 \(path)")
    #expect(chmod(path, 0o400) == 0)
    #expect(try token(path) == "0123456789abcdef")
  }

  @Test func `a file that others may use is refused behind a link, whatever its name`() throws {
    let folder = TemporaryFolder.shared.file("volume")
    try FileManager.default.createDirectory(
      atPath: folder + "/..data", withIntermediateDirectories: true)
    let link = folder + "/token"
    #expect(symlink("..data/token", link) == 0)
    try "0123456789abcdef".write(toFile: link, atomically: false, encoding: .utf8)
    #expect(chmod(link, 0o644) == 0)
    #expect(try reason(link) == "other users can read '\(link)'; run chmod 600 \(link)")
    #expect(chmod(link, 0o606) == 0)
    #expect(try reason(link) == "other users can change '\(link)'; run chmod 600 \(link)")
    guard geteuid() == 0 else { return }
    #expect(chmod(link, 0o600) == 0 && chown(link, 4321, 4321) == 0)
    #expect(
      try reason(link) == "'\(link)' belongs to another user, who can change it; "
        + "give a file of your own")
  }

  @Test func `a token's file that is larger, or none, is not read`() throws {
    let sparse = try TemporaryFolder.shared.file("token", holding: "")
    #expect(truncate(sparse, 8 << 30) == 0)
    let pipe = try NamedPipe().path
    for (path, words) in [
      (sparse, "it is larger than 1 KiB"), (pipe, "it is a pipe, not a file"),
      ("/dev/zero", "it is a device, not a file"), ("/tmp", "is a directory"),
    ] {
      #expect(try reason(path) == "cannot read '\(path)': \(words)")
    }
  }

  @Test func `a link to a file is followed, and one to nothing is refused`() throws {
    let file = try TemporaryFolder.shared.file("token", holding: "0123456789abcdef")
    let link = TemporaryFolder.shared.file("link")
    #expect(symlink(file, link) == 0)
    #expect(try token(link) == "0123456789abcdef")
    let loose = TemporaryFolder.shared.file("loose")
    #expect(symlink(loose + ".missing", loose) == 0)
    #expect(try reason(loose) == "cannot make '\(loose)': it is a link to a file that is missing")
    #expect(!FileManager.default.fileExists(atPath: loose + ".missing"))
  }

  @Test func `a folder that is missing is told`() throws {
    let path = TemporaryFolder.shared.file("nowhere") + "/token"
    #expect(try reason(path) == "cannot make '\(path)': no such file or directory")
  }
}
