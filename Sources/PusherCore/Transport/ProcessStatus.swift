internal import PusherPlatform

/// State and group of a process, from `/proc/N/stat`: `N (name) S parent group …`.
struct ProcessStatus: Equatable {
  let group: Int32
  let hasEnded: Bool
}

extension ProcessStatus {
  private static let length = 256

  init?(process: Int32) {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.length)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    self.init(bytes[..<count])
  }

  /// Parses the text; the name may hold any byte, even spaces and parentheses.
  init?(_ text: ArraySlice<UInt8>) {
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 2, let state = fields[0].first,
      let group = Int32(String(decoding: fields[2], as: UTF8.self))
    else { return nil }
    self.group = group
    hasEnded = state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
  }
}
