internal import PusherCore
internal import PusherPlatform

/// The users who can use a regular file with secrets.
///
/// Comes from the open file that is read, so that no other file can take its place in between.
struct FileHolders: Equatable, Sendable {
  /// Permission bits.
  var mode: UInt32
  /// True if neither this user nor root owns the file.
  var isForeign = false
  /// True if this user is root, who must not depend on other users.
  var isReadByRoot = geteuid() == 0
  /// True if the mode says nothing about other users.
  ///
  /// The file is on a read-only file system, as the secrets of Kubernetes and Docker are. Or it has
  /// no name. Or it is a credential that systemd gives to this process with an access list.
  var isSettled = false

  /// What other users can do with a file.
  enum Doubt: Equatable, Sendable {
    /// The owner can change it.
    case ownedByOther
    /// Everybody can change it.
    case writable
    case readable

    /// Returns the problem of the file at `path`, with the next step; `name` stands for the file.
    func words(_ name: String, at path: String) -> String {
      switch self {
      case .ownedByOther:
        "\(name) belongs to another user, who can change it; give a file of your own"
      case .writable: "other users can change \(name); run chmod 600 \(path)"
      case .readable: "other users can read \(name); run chmod 600 \(path)"
      }
    }
  }

  /// The gravest doubt about the file; `nil` if only this user and root can use it.
  var doubt: Doubt? {
    if isSettled { return nil }
    if isForeign { return .ownedByOther }
    if mode & 0o002 != 0 { return .writable }
    return mode & 0o077 != 0 ? .readable : nil
  }

  /// True if others may decide what the file holds, and not only read it.
  var isDecidedByOthers: Bool {
    switch doubt {
    case .ownedByOther: isReadByRoot || mode & 0o002 != 0
    case .writable: true
    case .readable, nil: false
    }
  }
}

extension FileHolders {
  /// Reads an open file's status; `path` is the name that it was opened by.
  init(_ status: stat, of descriptor: Int32, path: String) {
    self.init(mode: UInt32(status.st_mode & 0o777))
    isForeign = status.st_uid != 0 && status.st_uid != geteuid()
    var system = statvfs()
    let isReadOnly =
      unsafe fstatvfs(descriptor, &system) == 0 && UInt(system.f_flag) & UInt(ST_RDONLY) != 0
    isSettled = isReadOnly || status.st_nlink == 0 || isCredential(path)
  }

  private func isCredential(_ path: String) -> Bool {
    guard let folder = Environment.variableOfProcess(Environment.serviceCredentials),
      !folder.isEmpty, path.begins(with: folder + "/")
    else { return false }
    return !isForeign && mode & 0o007 == 0
  }
}
