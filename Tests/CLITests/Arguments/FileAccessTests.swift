import Foundation
import Testing

@testable import pusher_cli

struct `Reading files` {
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

  @Test func `a running program reads only regular files, and waits for nothing`() throws {
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

  @Test func `a socket in place of a file is named as one`() throws {
    let path = TemporaryFolder.shared.file("s")
    let socket = try OwnedDescriptor.unixListener(path)
    withExtendedLifetime(socket) {
      #expect(FileAccess.system.contents(path, 10) == .failure(FileFault(reason: "it is a socket")))
    }
  }

  @Test func `the holders of a file are those of the file behind its links`() throws {
    let folder = TemporaryFolder.shared.file("mount")
    let files = FileManager.default
    try files.createDirectory(atPath: folder + "/..now", withIntermediateDirectories: true)
    let file = folder + "/..now/secret"
    #expect(files.createFile(atPath: file, contents: Data("s".utf8)))
    try files.createSymbolicLink(atPath: folder + "/..data", withDestinationPath: "..now")
    // Only a read-only file system shows that Kubernetes made the link.
    let link = folder + "/secret"
    try files.createSymbolicLink(atPath: link, withDestinationPath: "..data/secret")
    for (mode, doubt) in [
      (0o600, nil), (0o400, nil), (0o644, .readable), (0o640, .readable), (0o620, .readable),
      (0o602, .writable), (0o666, .writable),
    ] as [(mode_t, FileHolders.Doubt?)] {
      #expect(chmod(file, mode) == 0)
      for path in [file, link] {
        let holders = try #require(try FileAccess.system.read(path, 10).get().holders)
        #expect(holders.mode == UInt32(mode) && !holders.isSettled)
        #expect(holders.doubt == doubt, "\(mode)")
      }
    }
  }

  @Test func `a file without a name has no other holders`() throws {
    let path = try TemporaryFolder.shared.file("gone", holding: "s")
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(unlink(path) == 0 && fchmod(descriptor, 0o666) == 0)
    let content = try FileAccess.system.read("/dev/fd/\(descriptor)", 10).get()
    #expect(content.bytes == Array("s".utf8))
    #expect(content.holders?.doubt == nil)
    #expect(try FileAccess.system.read("/dev/null", 10).get().holders == nil)
  }

  @Test func `another user's file is known by its owner`() throws {
    let path = try TemporaryFolder.shared.file("other", holding: "s")
    #expect(chmod(path, 0o600) == 0)
    func holders() throws -> FileHolders? { try FileAccess.system.read(path, 10).get().holders }
    #expect(try holders()?.isForeign == false)
    // Only root can give a file away.
    guard geteuid() == 0 else { return }
    #expect(chown(path, 4321, 4321) == 0)
    let other = try #require(try holders())
    #expect(other.doubt == .ownedByOther && other.isDecidedByOthers)
  }

  @Test func `root never takes another user's decision, others only their own`() {
    var holders = FileHolders(mode: 0o640, isForeign: true, isReadByRoot: true)
    #expect(holders.isDecidedByOthers)
    holders.isReadByRoot = false
    #expect(!holders.isDecidedByOthers && holders.doubt == .ownedByOther)
    holders.mode = 0o646
    #expect(holders.isDecidedByOthers)
    holders.isSettled = true
    #expect(!holders.isDecidedByOthers && holders.doubt == nil)
  }

  @Test func `a file that cannot be read has a reason`() {
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
