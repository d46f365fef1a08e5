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
  }

  private var steps: [Step] = []
  /// The names, and 8 bytes that a wide load may reach.
  private var names = [UInt8](repeating: 0, count: 8)

  package init() {}

  package var count: Int { steps.count }

  package mutating func append(name: some Sequence<UInt8>, index: Int? = nil) {
    let start = names.count - 8
    names.insert(contentsOf: Array(name), at: start)
    steps.append(Step(name: start..<(names.count - 8), isNameless: false, index: index ?? -1))
  }

  package mutating func append(index: Int) {
    steps.append(Step(name: 0..<0, isNameless: true, index: index))
  }

  /// Returns the value at the path, a string with its quotes; `nil` without one.
  ///
  /// The last of repeated members counts, as in JavaScript.
  ///
  /// - Throws: ``JSONError`` for an invalid value on the way.
  package func value(in json: ByteView) throws(JSONError) -> ByteView? {
    let found = unsafe names.withUnsafeBufferPointer { names in
      unsafe steps.withUnsafeBufferPointer { steps in
        unsafe Search(base: json.base, count: json.count, steps: steps, names: names).value
      }
    }
    guard let found else { return try rareValue(in: json) }
    return found.isEmpty ? nil : json[found]
  }

  /// Does the same for all JSON, part by part.
  private func rareValue(in json: ByteView) throws(JSONError) -> ByteView? {
    var value = json
    for step in steps {
      var cursor = JSONCursor(value)
      cursor.skipWhitespace()
      guard cursor.byte == UInt8(ascii: "[") || cursor.byte == UInt8(ascii: "{") else {
        _ = try cursor.skipValue()
        return nil
      }
      var found: ByteView?
      var index = 0
      try cursor.eachPart { name, part in
        let isStep = name.map { !step.isNameless && $0.isName(names[step.name]) }
        if isStep ?? (index == step.index) { found = part }
        index += 1
      }
      guard let found else { return nil }
      value = found
    }
    return value
  }

  /// One pass over compact JSON without rare things; `nil` stands for all other text.
  ///
  /// A place is below ``count`` when a loop or a value begins there, so that each load stays in the
  /// view and its padding. Bytes after the view may be anything.
  @safe private struct Search {
    let base: UnsafeMutablePointer<UInt8>
    let count: Int
    let steps: UnsafeBufferPointer<Step>
    let names: UnsafeBufferPointer<UInt8>

    /// Where the value is; empty without one.
    var value: Range<Int>? {
      var found = 0..<0
      return find(0, 0, &found) == nil ? nil : found
    }

    /// Returns the end of the container at `start`; finds what the steps from `place` on lead to.
    private func find(_ place: Int, _ start: Int, _ found: inout Range<Int>) -> Int? {
      guard unsafe start < count && place < steps.count && base[start] & 0xDF == 0x5B else {
        return nil
      }
      let (opening, step) = unsafe (base[start], steps[place])
      var (at, index) = (start &+ 1, 0)
      if unsafe base[at] == opening &+ 2 { return at &+ 1 }
      while true {
        var isStep = index == step.index
        if opening == UInt8(ascii: "{") {
          guard let end = name(at) else { return nil }
          isStep = !step.isNameless && has(step.name, at &+ 1, end &- 2)
          at = end
        }
        let first = at
        let goesOn = unsafe isStep && place &+ 1 < steps.count
        if isStep { found = 0..<0 }
        guard let end = goesOn ? find(place &+ 1, first, &found) : skip(first), end < count else {
          return nil
        }
        if isStep, !goesOn { found = first..<end }
        at = end &+ 1
        guard unsafe base[end] == UInt8(ascii: ",") else {
          return unsafe base[end] == opening &+ 2 ? at : nil
        }
        index &+= 1
      }
    }

    /// Returns the end of the value at `start`.
    @inline(__always) private func skip(_ start: Int) -> Int? {
      var at = start
      // As in ``FusedCursor``.
      var levels: UInt64 = 1
      while at < count {
        let byte = unsafe base[at]
        var end = text(at, hasEscapes: true)
        if byte & 0xDF == 0x5B {
          guard levels &>> 62 == 0 else { return nil }
          at &+= 1
          guard unsafe base[at] == byte &+ 2 else {
            levels = levels &<< 1 | UInt64(byte &>> 5 & 1)
            if levels & 1 == 1 { at = name(at) ?? count }
            continue
          }
          end = at &+ 1
        } else if byte != UInt8(ascii: "\"") {
          end = number(at)
        }
        guard var end else { return nil }
        while levels != 1, end < count, unsafe base[end] == (levels & 1 == 1 ? 0x7D : 0x5D) {
          levels &>>= 1
          end &+= 1
        }
        if levels == 1 { return end }
        guard end < count, unsafe base[end] == UInt8(ascii: ",") else { return nil }
        at = levels & 1 == 1 ? name(end &+ 1) ?? count : end &+ 1
      }
      return nil
    }

    /// Returns the place behind the name at `start` and its colon.
    @inline(__always) private func name(_ start: Int) -> Int? {
      guard let end = text(start, hasEscapes: false), unsafe base[end] == UInt8(ascii: ":") else {
        return nil
      }
      return end &+ 1
    }

    /// Reports whether a name stands from `start` to `end`.
    @inline(__always) private func has(_ name: Range<Int>, _ start: Int, _ end: Int) -> Bool {
      guard end &- start == name.count else { return false }
      let text = unsafe UnsafeRawPointer(base + start).loadUnaligned(as: UInt64.self)
      let wanted = unsafe UnsafeRawBufferPointer(names).loadUnaligned(
        fromByteOffset: name.lowerBound, as: UInt64.self)
      // The bytes after a short name are shifted out; a shift by 64 leaves none.
      guard (text ^ wanted) << UInt64(max(0, 64 &- 8 &* name.count)) == 0 else { return false }
      var index = 8
      while index < name.count {
        guard unsafe base[start &+ index] == names[name.lowerBound &+ index] else { return false }
        index &+= 1
      }
      return true
    }

    /// Returns the place behind the text whose quote is at `start`.
    @inline(__always) private func text(_ start: Int, hasEscapes: Bool) -> Int? {
      guard unsafe base[start] == UInt8(ascii: "\"") else { return nil }
      var at = start &+ 1
      while at < count {
        let ends = unsafe pusher_string_ends_16(base + at)
        at &+= (ends | 1 &<< 16).trailingZeroBitCount
        if ends == 0 { continue }
        if unsafe base[at] == UInt8(ascii: "\"") { return at &+ 1 }
        guard hasEscapes, unsafe base[at] == UInt8(ascii: "\\") else { return nil }
        switch unsafe base[at &+ 1] {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: at &+= 2
        case 0x75 where JSONGrammar.hexUnit({ unsafe base[at &+ 2 &+ $0] }) != nil: at &+= 6
        default: return nil
        }
      }
      return nil
    }

    /// Returns the end of a short number or a literal.
    @inline(__always) private func number(_ start: Int) -> Int? {
      let first = unsafe base[start] == UInt8(ascii: "-") ? start &+ 1 : start
      let others = ~(unsafe pusher_digits_16(base + first))
      let whole = others.trailingZeroBitCount
      guard whole > 0 else {
        let length = unsafe JSONGrammar.literal(UnsafePointer(base + start))
        return length > 0 ? start &+ length : nil
      }
      guard unsafe base[first] != UInt8(ascii: "0") || whole == 1 else { return nil }
      guard unsafe base[first &+ whole] == UInt8(ascii: ".") else { return first &+ whole }
      let end = (others & (others &- 1)).trailingZeroBitCount
      return end &- whole > 1 ? first &+ end : nil
    }
  }
}

extension ByteView {
  /// Reports whether a member has this name; the view stands between quotes.
  ///
  /// An escape is longer than its character, and at most six times as long, so a peer's longer name
  /// costs no copy.
  fileprivate func isName(_ name: ArraySlice<UInt8>) -> Bool {
    guard holds(UInt8(ascii: "\\")) else { return unsafe raw.elementsEqual(name) }
    guard count > name.count, count <= name.count * 6 else { return false }
    let plain = ByteBuffer(capacity: count)
    JSONString.decode(self, into: plain)
    return withExtendedLifetime(plain) { unsafe $0.view.raw.elementsEqual(name) }
  }
}
