import Foundation
import PusherCore
import TestSupport

/// A terminal whose other side the test holds.
final class PseudoTerminal {
  private let main: Int32
  /// The child's side, kept open so that the output outlives the child.
  private let device: Int32
  private var shown: [UInt8] = []
  let path: String

  init() throws {
    var main: Int32 = -1
    var device: Int32 = -1
    var name = [CChar](repeating: 0, count: 128)
    guard openpty(&main, &device, nil, nil, nil) == 0, ttyname_r(device, &name, name.count) == 0
    else { throw SystemFailure("making a terminal", errno) }
    self.main = main
    self.device = device
    path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    for descriptor in [main, device] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(main, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(main)
    close(device)
  }

  func resize(columns: Int) throws {
    var size = winsize()
    size.ws_row = 24
    size.ws_col = UInt16(columns)
    guard ioctl(main, UInt(TIOCSWINSZ), &size) == 0 else {
      throw SystemFailure("resizing a terminal", errno)
    }
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(main, bytes, bytes.count)
  }

  var text: String {
    fill()
    return String(decoding: shown, as: UTF8.self)
  }

  func await(_ text: String, within limit: Duration = patience) throws {
    try waitUntil("the terminal shows '\(text)', not only: \(self.text)", within: limit) {
      self.text.contains(text)
    }
  }

  private func fill() {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(main, &piece, piece.count), count > 0 { shown += piece[..<count] }
  }
}
