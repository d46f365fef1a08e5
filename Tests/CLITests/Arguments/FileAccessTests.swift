import Foundation
import Testing

@testable import pusher_cli

@Suite struct `Reading files` {
  @Test func `a file is read whole, up to the limit`() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
    try Data(bytes).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path())

    #expect(FileAccess.system.contents(url.path(), 40_000) == .success(bytes))
    #expect(
      FileAccess.system.contents(url.path(), 20_000)
        == .failure(FileFault(reason: "it is larger than 19 KiB")))
    #expect(FileAccess.system.permissions(url.path()) == 0o640)
  }

  @Test func `a secret that Kubernetes has put there is known by its links`() throws {
    let folder = TemporaryFolder.shared.file("mount")
    let files = FileManager.default
    try files.createDirectory(atPath: folder + "/..now", withIntermediateDirectories: true)
    #expect(files.createFile(atPath: folder + "/..now/secret", contents: Data("s".utf8)))
    try files.createSymbolicLink(atPath: folder + "/..data", withDestinationPath: "..now")
    try files.createSymbolicLink(
      atPath: folder + "/secret", withDestinationPath: "..data/secret")
    try files.createSymbolicLink(atPath: folder + "/other", withDestinationPath: "..now/secret")
    #expect(FileAccess.system.isProvided(folder + "/secret"))
    #expect(!FileAccess.system.isProvided(folder + "/other"))
    #expect(!FileAccess.system.isProvided(folder + "/..now/secret"))
    #expect(!FileAccess.system.isProvided(folder + "/none"))
  }

  @Test func `what cannot be read has a reason`() {
    let directory = FileManager.default.temporaryDirectory.path()
    #expect(
      FileAccess.system.contents(directory + "/none/none", 10)
        == .failure(FileFault(reason: "no such file or directory")))
    #expect(
      FileAccess.system.contents(directory, 10) == .failure(FileFault(reason: "is a directory")))
    #expect(FileAccess.system.permissions(directory) == nil)
    #expect(FileAccess.system.permissions("/dev/null") == nil)
  }
}
