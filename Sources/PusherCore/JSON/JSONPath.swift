internal import CSystemVectors

/// The way to one value inside JSON, step by step.
package struct JSONPath: Equatable, Sendable {
  /// A step into a member, into an element, or into whichever the value has.
  private struct Step: Equatable, Sendable {
    /// Where its name stands in ``JSONPath/names``.
    let name: Range<Int>
    /// True for an element only.
    let isNameless: Bool
    /// Place in an array, from 0; -1 for a member only.
    let index: Int
    /// True if the name has no quote and no backslash, and does not begin with a sign that may
    /// follow a string.
    let isDistinct: Bool
  }

  private var steps: [Step] = []
  /// The names, and 8 bytes that a wide load may reach.
  private var names = [UInt8](repeating: 0, count: 8)

  package init() {}

  package var count: Int { steps.count }

  package mutating func append(name: some Sequence<UInt8>, index: Int? = nil) {
    let start = names.count - 8
    names.insert(contentsOf: Array(name), at: start)
    let isDistinct =
      ![UInt8](",:]}".utf8).contains(names[start])
      && !names[start...].contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    steps.append(
      Step(
        name: start..<(names.count - 8), isNameless: false, index: index ?? -1,
        isDistinct: isDistinct))
  }

  package mutating func append(index: Int) {
    steps.append(Step(name: 0..<0, isNameless: true, index: index, isDistinct: false))
  }

  /// Returns the value at the path in valid compact JSON, a string with its quotes; `nil` without
  /// one.
  ///
  /// The last of repeated members counts, as in JavaScript. In any other text, the result may be
  /// any part of it.
  package func value(in json: ByteView) -> ByteView? {
    unsafe names.withUnsafeBufferPointer { names in
      var value = json
      for step in steps {
        guard let container = Container(value) else { return nil }
        let name = unsafe UnsafeBufferPointer(rebasing: names[step.name])
        let flat = unsafe step.isDistinct ? container.flatMember(name) : nil
        let found =
          unsafe flat ?? container.part(step.index, named: step.isNameless ? nil : name)
        guard !found.isEmpty else { return nil }
        value = value[found]
      }
      return value
    }
  }

  /// An object or an array of compact JSON.
  ///
  /// The JSON is trusted to be valid, so that most bytes are not looked at. A place below the count
  /// is in the view, and a load there in the view and its padding, whatever the bytes are.
  @safe private struct Container {
    private let view: ByteView
    private let isObject: Bool

    /// Returns `nil` for other values.
    init?(_ value: ByteView) {
      guard value.count > 1, value[0] & 0xDF == UInt8(ascii: "[") else { return nil }
      (view, isObject) = (value, value[0] == UInt8(ascii: "{"))
    }

    /// Returns the value of the last member with this distinct name; an empty range without one.
    ///
    /// Returns `nil` if only a walk can tell: for an array, or if a container or an escape follows.
    ///
    /// Searches for `,"name":` or `{"name":` from the end. The first quote cannot end a string,
    /// since no such name follows a string, so this is the name of a member. Without a bracket
    /// after it, the member is one of this object. Without a backslash after it, no later member
    /// has the same name in another spelling.
    func flatMember(_ name: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
      guard isObject else { return nil }
      let base = unsafe view.base
      let end = view.count &- 1
      let distance = name.count &+ 2
      var at = end
      repeat {
        let upper = at
        at = max(at &- 32, 0)
        let own = UInt32.max &>> UInt32(truncatingIfNeeded: 32 &- (upper &- at))
        var colons = unsafe pusher_matches_32(base + at, UInt8(ascii: ":")) & own
        let others = unsafe pusher_brackets_32(base + at) & own
        while colons != 0 {
          let bit = 31 &- colons.leadingZeroBitCount
          let quote = at &+ bit &- distance
          if quote > 0, unsafe base[quote] == UInt8(ascii: "\""), unsafe has(name, at: quote &+ 1) {
            guard others &>> UInt32(truncatingIfNeeded: bit) == 0 else { return nil }
            return value(from: at &+ bit &+ 1)
          }
          colons ^= 1 &<< UInt32(truncatingIfNeeded: bit)
        }
        // The brace of the object itself.
        guard others == (at == 0 ? 1 : 0) else { return nil }
      } while at > 0
      return 0..<0
    }

    /// Returns the value at `start`, which is no container and has no escapes.
    ///
    /// ``valueEnd(from:)`` would find the same end, with 200 more instructions for each event.
    private func value(from start: Int) -> Range<Int> {
      let isText = view[start] == UInt8(ascii: "\"")
      let last = view.firstIndex(of: UInt8(ascii: isText ? "\"" : ","), from: start &+ 1)
      let end = view.count &- 1
      return start..<min(last.map { isText ? $0 &+ 1 : $0 } ?? end, end)
    }

    /// Reports whether a name stands at a place, with its last quote, and begins a member.
    @inline(__always) private func has(_ name: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
      let base = unsafe view.base
      guard let first = name.baseAddress else { return false }
      let text = unsafe UnsafeRawPointer(base + start).loadUnaligned(as: UInt64.self)
      let wanted = unsafe UnsafeRawPointer(first).loadUnaligned(as: UInt64.self)
      // The bytes after a short name are shifted out; a shift by 64 leaves none.
      guard (text ^ wanted) << UInt64(max(0, 64 &- 8 &* name.count)) == 0 else { return false }
      var index = 8
      while index < name.count {
        guard unsafe base[start &+ index] == name[index] else { return false }
        index &+= 1
      }
      let before = unsafe base[start &- 2]
      return unsafe base[start &+ name.count] == UInt8(ascii: "\"")
        && (before == UInt8(ascii: ",") || before == UInt8(ascii: "{"))
    }

    /// Returns the last member of this name, or the element at this place; empty without one.
    func part(_ place: Int, named name: UnsafeBufferPointer<UInt8>?) -> Range<Int> {
      var (at, index, found) = (1, 0, 0..<0)
      while at < view.count &- 1 {
        var isPart = index == place
        if isObject {
          let body = view.stringBody(from: at &+ 1)
          isPart = unsafe name.map { unsafe body.isName($0) } ?? false
          at = min(at &+ body.count &+ 3, view.count)
        }
        let end = valueEnd(from: at)
        if isPart { found = at..<end }
        at = end &+ 1
        index &+= 1
      }
      return found
    }

    /// Returns the end of the value at `start`, at most the view's.
    private func valueEnd(from start: Int) -> Int {
      let base = unsafe view.base
      var (at, depth) = (start, 0)
      while at < view.count {
        let marks =
          unsafe pusher_brackets_32(base + at)
          | pusher_matches_32(base + at, UInt8(ascii: "\""))
          | (depth == 0 ? pusher_matches_32(base + at, UInt8(ascii: ",")) : 0)
        guard marks != 0 else {
          at &+= 32
          continue
        }
        at &+= marks.trailingZeroBitCount
        guard at < view.count else { break }
        switch unsafe base[at] {
        case UInt8(ascii: "\""): at &+= view.stringBody(from: at &+ 1).count &+ 2
        case UInt8(ascii: "["), UInt8(ascii: "{"):
          (at, depth) = (at &+ 1, depth &+ 1)
        case UInt8(ascii: ","): return at
        default:
          // The bracket of the container itself.
          guard depth > 0 else { return at }
          (at, depth) = (at &+ 1, depth &- 1)
        }
      }
      return view.count
    }
  }
}

extension ByteView {
  /// Reports whether a member has this name; the view stands between quotes.
  ///
  /// An escape is longer than its character, and at most six times as long, so a peer's longer name
  /// costs no copy.
  fileprivate func isName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count >= name.count, count <= name.count * 6 else { return false }
    if count == name.count { return unsafe raw.elementsEqual(name) && !holds(UInt8(ascii: "\\")) }
    guard holds(UInt8(ascii: "\\")) else { return false }
    let plain = ByteBuffer(capacity: count)
    JSONString.decode(self, into: plain)
    return withExtendedLifetime(plain) { unsafe $0.view.raw.elementsEqual(name) }
  }
}
