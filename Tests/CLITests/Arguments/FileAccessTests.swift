import Foundation
import Testing

@testable import pusher_cli

@Suite struct `Reading files` {
  @Test func `a file is read whole, up to the limit`() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
    try Data(bytes).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)

    #expect(FileAccess.system.contents(url.path, 40_000) == .success(bytes))
    #expect(
      FileAccess.system.contents(url.path, 20_000)
        == .failure(FileFault(reason: "it is larger than 19 KiB")))
    #expect(FileAccess.system.permissions(url.path) == 0o640)
  }

  @Test func `a file that is larger than the limit is refused before it is read`() throws {
    let path = TemporaryFolder.shared.file("sparse")
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    #expect(truncate(path, 8 << 30) == 0)
    defer { unlink(path) }
    let fault = FileFault(reason: "it is larger than 64 KiB")
    #expect(FileAccess.system.contents(path, 64 << 10) == .failure(fault))
    #expect(FileAccess.system.contents("/dev/zero", 64 << 10) == .failure(fault))
  }

  @Test func `a pipe is read to the end that its writer makes`() throws {
    let pipe = try NamedPipe()
    let text = String(repeating: "0123456789", count: 3)
    Thread.detachNewThread { try? pipe.write(text) }
    #expect(FileAccess.system.contents(pipe.path, 1024) == .success(Array(text.utf8)))
    #expect(FileAccess.system.permissions(pipe.path) == nil)
  }

  @Test func `while the program runs only regular files are read, and nothing is waited for`()
    throws
  {
    let files = FileAccess.running(kept: ["kept": [1, 2]])
    let pipe = try NamedPipe()
    // The pipe is open for reading and writing, so it has a writer that writes nothing.
    let writer = open(pipe.path, O_RDWR | O_CLOEXEC)
    defer { close(writer) }
    for (path, kind) in [
      (pipe.path, "a pipe"), ("/dev/zero", "a device"), ("/dev/null", "a device"),
    ] {
      let fault = FileFault(reason: "it is \(kind), not a file", isOtherKind: true)
      #expect(files.contents(path, 1024) == .failure(fault))
    }
    #expect(files.contents("kept", 1024) == .success([1, 2]))
    #expect(files.isKept("kept") && !files.isKept(pipe.path))
  }

  @Test func `a socket is named as one`() throws {
    let path = TemporaryFolder.shared.file("s")
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: Array(path.utf8).prefix(107))
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    #expect(bound == 0)
    #expect(
      FileAccess.system.contents(path, 10) == .failure(FileFault(reason: "it is a socket")))
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
    let directory = FileManager.default.temporaryDirectory.path
    #expect(
      FileAccess.system.contents(directory + "/none/none", 10)
        == .failure(FileFault(reason: "no such file or directory")))
    #expect(
      FileAccess.system.contents(directory, 10) == .failure(FileFault(reason: "is a directory")))
    #expect(FileAccess.system.permissions(directory) == nil)
    #expect(FileAccess.system.permissions("/dev/null") == nil)
  }
}
