import Foundation
import Testing

/// A test's requirement beside the program.
///
/// A test without it is skipped and says so. It fails where `CI=true`, because nobody reads about
/// skipped tests there.
struct Need: Sendable {
  let reason: String
  let isThere: @Sendable () -> Bool

  static let fullDevice = Need(reason: "/dev/full is missing") {
    FileManager.default.fileExists(atPath: "/dev/full")
  }
  static let certificates = Need(reason: "openssl made no certificates") {
    CertificateMatrix.shared != nil
  }
  static let slowResolver = Need(reason: "no C compiler") { SlowResolver.library != nil }
  static let halfResolver = Need(reason: "no C compiler") { SlowResolver.halfLibrary != nil }
  static let changingNames = Need(reason: "no C compiler") { ChangingNames.library != nil }
  static let faketime = Need(reason: "faketime is missing") { SteppedClock.library != nil }
  static let movedClock = Need(reason: "no C compiler") { MovedClock.library != nil }
  static let proxies = Need(reason: "tinyproxy or microsocks is missing") {
    LocalProxy.Kind.allCases.allSatisfy(\.isInstalled)
  }
  static let nginx = Need(reason: "nginx with libnginx-mod-nchan is missing") {
    LocalNginx.isInstalled
  }

  static let axe = Need(reason: "no axe-core: scripts/python-peers.sh page installs it") {
    Axe.script != nil
  }

  /// Options of unshare for a process namespace; another user than root needs to be root in it.
  static let processNamespaceOptions = (getuid() == 0 ? ["-pf"] : ["-rpf"]) + ["--mount-proc"]

  /// A machine that allows process namespaces, some only for root.
  static let processNamespace = Need(reason: "no process namespace of our own") {
    let result = try? PusherCLI.tool(["unshare"] + processNamespaceOptions + ["true"])
    return result?.ending == .exited(0)
  }

  static func program(_ name: String) -> Need {
    Need(reason: "\(name) is missing") {
      ["/usr/bin/", "/bin/", "/usr/sbin/"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + name)
      }
    }
  }

  struct Missing: Error, Equatable {
    let reason: String
  }

  /// Returns true if the test can run; throws if it must.
  func isMet(
    inCI: Bool = ProcessInfo.processInfo.environment["CI"] == "true"
  ) throws(Missing) -> Bool {
    if isThere() { return true }
    if inCI { throw Missing(reason: reason) }
    return false
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips the test if `need` is not met; fails it in CI.
  static func needs(_ need: Need) -> Self {
    .enabled(Comment(rawValue: need.reason)) { try need.isMet() }
  }
}

struct `What tests need of the machine` {
  @Test func `what is missing leaves a test out, and fails it in CI`() throws {
    let missing = Need(reason: "no such thing") { false }
    #expect(try !missing.isMet(inCI: false))
    #expect(throws: Need.Missing(reason: "no such thing")) { try missing.isMet(inCI: true) }
    #expect(try Need(reason: "") { true }.isMet(inCI: true))
  }
}
