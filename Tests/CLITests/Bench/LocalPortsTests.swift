import Testing

@testable import pusher_cli

@Suite struct LocalPortsTests {
  private let usual = LocalPorts("32768\t60999\n")

  @Test func `half of the ports are found quickly, and all can be used`() {
    #expect(usual?.warning(for: 14_116) == nil)
    #expect(usual?.warning(for: 14_117)?.contains("slowly after 14116 connections") == true)
    #expect(usual?.warning(for: 28_232)?.contains("slowly") == true)
    #expect(usual?.warning(for: 28_233)?.contains("has 28232 local ports") == true)
  }

  @Test func `the warning names the command that helps`() {
    #expect(
      usual?.warning(for: 20_000)
        == "--subscribers 20000: the system finds a local port slowly after 14116 connections to one "
        + "address; as root, run 'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'")
  }

  @Test(arguments: ["0 65535", "1 1", "1024\t65535\n"])
  func `any range is read`(text: String) { #expect(LocalPorts(text) != nil) }

  @Test(arguments: ["", "1024", "2 1", "1 65536", "a b", "1 2 3"])
  func `other text is no range`(text: String) { #expect(LocalPorts(text) == nil) }
}
