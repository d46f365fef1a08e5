/// The way to one value inside JSON, step by step.
struct JSONPath: Equatable, Sendable {
  /// A step into a member, into an element, or into whichever the value has.
  struct Step: Equatable, Sendable {
    /// `nil` for an element only.
    let name: Name?
    /// Place in an array, from 0; `nil` for a member only.
    let place: Int?
  }

  /// A member's name.
  ///
  /// Its bytes are in the array of all names, so that a copy counts no reference.
  struct Name: Equatable, Sendable {
    fileprivate let start: Int
    fileprivate let count: Int
    /// The first bytes as a little-endian number.
    fileprivate let head: UInt64
    /// The bits of ``head`` that belong to the name.
    fileprivate let headMask: UInt64
  }

  private(set) var steps: [Step] = []
  private var names: [UInt8] = []

  mutating func append(name: some Collection<UInt8>, place: Int? = nil) {
    let head: UInt64 = name.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    let mask: UInt64 = name.count < 8 ? (1 << UInt64(8 * name.count)) - 1 : ~0
    let own = Name(start: names.count, count: name.count, head: head, headMask: mask)
    steps.append(Step(name: own, place: place))
    names += name
  }

  mutating func append(place: Int) { steps.append(Step(name: nil, place: place)) }

  /// True if the first step is the member `data`, as in most conditions of `--where`.
  var beginsWithData: Bool {
    guard let name = steps.first?.name else { return false }
    return name.count == 4 && name.head == Self.data
  }

  /// `data`, as a little-endian number.
  private static let data: UInt64 = 0x6174_6164

  /// Reports whether a member's name without escapes is `name`.
  @inline(__always) func isName(_ name: Name, plain text: ByteView) -> Bool {
    guard text.count == name.count else { return false }
    // The load may reach into the padding after the text, which the mask leaves out.
    let head = unsafe UInt64(
      littleEndian: UnsafeRawPointer(text.base).loadUnaligned(as: UInt64.self))
    return (head ^ name.head) & name.headMask == 0 && (name.count <= 8 || isTail(name, text))
  }

  private func isTail(_ name: Name, _ text: ByteView) -> Bool {
    (8..<name.count).allSatisfy { text[$0] == names[name.start + $0] }
  }

  /// Reports whether a member's name with escapes is `name`.
  ///
  /// An escape is longer than its character, and at most six times as long, so a peer's longer name
  /// costs no copy.
  func isName(_ name: Name, escaped text: ByteView) -> Bool {
    guard text.count > name.count, text.count <= name.count * 6 else { return false }
    let plain = ByteBuffer(capacity: text.count)
    JSONString.decode(text, into: plain)
    return withExtendedLifetime(plain) {
      $0.view.equals(Array(names[name.start...].prefix(name.count)))
    }
  }
}
