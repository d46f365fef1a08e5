internal import CSystemVectors

extension JSONWalk {
  /// Returns the value at a path in a line; empty without one, `nil` for text that is not JSON.
  ///
  /// The walk ends after the line's member, because the program writes each of them once.
  static func value(at path: JSONPath, ofLine line: ByteView) -> ByteView? {
    guard !line.isEmpty else { return nil }
    var walk = JSONWalk(line)
    var found = line.part(0, 0)
    if !path.beginsWithData || !walk.move(to: dataPlace(line)) {
      walk.passBlanks()
      guard walk.byte == UInt8(ascii: "{"), let name = path.steps[0].name else { return nil }
      let place = walk.passMembers(name, of: path, isFirst: true, isLast: false, &found)
      guard place == .part else { return place == .end ? found : nil }
    }
    walk.passBlanks()
    guard walk.find(path, 1, &found) else { return nil }
    walk.passBlanks()
    guard !walk.atEnd else { return nil }
    return walk.byte == UInt8(ascii: ",") || walk.byte == UInt8(ascii: "}") ? found : nil
  }

  /// Returns the value at a path in valid JSON; empty without one.
  static func value(at path: JSONPath, of json: ByteView) -> ByteView {
    let missing = json.part(0, 0)
    var walk = JSONWalk(json)
    var found = missing
    walk.passBlanks()
    return walk.find(path, 0, &found) ? found : missing
  }

  /// Returns the place of the value of `data` in a line without blanks, or -1.
  ///
  /// Before it, a line has texts and literals only, and no text contains the bytes of the name with
  /// its quotes: quotes inside a text have a backslash.
  @inline(__always) private static func dataPlace(_ line: ByteView) -> Int {
    guard unsafe line.base[0] == UInt8(ascii: "{") else { return -1 }
    var block = 0
    while block < line.count {
      let base = unsafe line.base + block
      // All loads may reach into the padding after the line.
      var starts =
        unsafe pusher_matches_32(base, UInt8(ascii: "\""))
        & pusher_matches_32(base + 1, UInt8(ascii: "d"))
      while starts != 0 {
        let place = starts.trailingZeroBitCount
        let bytes = unsafe UInt64(
          littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt64.self))
        if bytes & 0xFF_FFFF_FFFF_FFFF == dataName {
          return block &+ place &+ 7 < line.count ? block &+ place &+ 7 : -1
        }
        starts &= starts &- 1
      }
      block &+= 32
    }
    return -1
  }

  /// `"data":`, as a little-endian number.
  private static let dataName: UInt64 = 0x3A_2261_7461_6422

  /// Steps over the value at the position; `found` becomes the value at the path from `step` on.
  ///
  /// The last of repeated members counts, as in JavaScript. The recursion is as deep as the path,
  /// whatever the text's depth.
  private mutating func find(_ path: JSONPath, _ step: Int, _ found: inout ByteView) -> Bool {
    found = view.part(0, 0)
    guard !atEnd else { return false }
    guard step < path.steps.count else {
      let first = at
      guard passValue() else { return false }
      found = view.part(first, at)
      return true
    }
    let own = path.steps[step]
    if byte == UInt8(ascii: "["), let place = own.place {
      return findElement(place, path, step, &found)
    }
    guard byte == UInt8(ascii: "{"), let name = own.name else { return passValue() }
    let isLast = step &+ 1 == path.steps.count
    var isFirst = true
    while true {
      switch passMembers(name, of: path, isFirst: isFirst, isLast: isLast, &found) {
      case .part: guard find(path, step &+ 1, &found) else { return false }
      case .end: return true
      case .broken: return false
      }
      isFirst = false
    }
  }

  private mutating func findElement(
    _ place: Int, _ path: JSONPath, _ step: Int, _ found: inout ByteView
  ) -> Bool {
    advance()
    passBlanks()
    if pass(UInt8(ascii: "]")) { return true }
    for _ in 0..<place {
      guard !atEnd, passValue() else { return false }
      passBlanks()
      if pass(UInt8(ascii: "]")) { return true }
      guard pass(UInt8(ascii: ",")) else { return false }
      passBlanks()
    }
    return find(path, step &+ 1, &found)
      && move(to: Self.end(ofContainer: UInt8(ascii: "["), view, at, depth: 1))
  }
}
