internal import CSystemVectors

/// Lays compact JSON out for people, on lines of at most so many columns.
///
/// A value stands on one line where it has room there, else its members stand on lines of their own, 16 levels deep. A
/// line that is too long yet goes on, indented, on the next one. So lines are ranges of the input.
///
/// The input must be valid JSON without white space between its tokens, in a ``ByteBuffer``: either plain, as most is,
/// which is printing ASCII without escapes, where each byte takes one column; or as ``JSONCompactor`` writes it for
/// terminals with its strings written anew. Why the unchecked pointer stays inside that buffer, whatever the input is:
/// 1. Single bytes are read only at places before `end`. Loads are 16 or 64 bytes wide, and begin there as well; so they
///    end with the 64 bytes of ``ByteBuffer/padding`` at the latest.
/// 2. Copies are ranges before `end`, rounded up to 16 bytes in what is read and in what was reserved.
@safe
package struct JSONPage {
  let base: UnsafePointer<UInt8>
  /// How many bytes the input has.
  let end: Int
  let width: Int
  /// Whether the input must be plain.
  let isPlain: Bool

  /// Deeper values are not taken apart: indentation must not cost a multiple of what is shown.
  private static let deepest = 16
  /// Where one line for a value of more bytes than this many a column would be a matter of taste, others decide.
  package static let mostBytes = 3

  private init(_ json: ByteView, width: Int, isPlain: Bool) {
    unsafe base = UnsafePointer(json.base)
    end = json.count
    self.width = width
    self.isPlain = isPlain
  }

  /// Appends the lines of a value, each after a line end; the first begins at `indent`.
  ///
  /// - Parameter columns: How many columns the value takes.
  /// - Returns: `false`, with nothing appended, for what is not plain though it must be, and for text of which many bytes
  ///   take few columns: that is laid out by the way that knows it all.
  @inline(__always)
  package static func append(
    _ json: ByteView, columns: Int, to output: ByteBuffer, width: Int, indent: Int, isPlain: Bool
  ) -> Bool {
    guard !json.isEmpty else { return false }
    let before = output.count
    let page = JSONPage(json, width: width, isPlain: isPlain)
    // What is known to be too long for a line need not be measured.
    let isLong = columns > width - indent && (json[0] == 0x7B || json[0] == 0x5B)
    let stop =
      isLong
      ? page.writeMembers(0, JSONPageName(), indent: indent, depth: 0, to: output)
      : page.writeFirst(indent: indent, to: output)
    guard stop == json.count else {
      output.truncate(to: before)
      return false
    }
    return true
  }

  /// Appends the lines of plain text, the first one after a line end; each begins at `indent`.
  package static func append(
    plainText: ByteView, to output: ByteBuffer, width: Int, indent: Int
  ) {
    let page = JSONPage(plainText, width: width, isPlain: true)
    page.newLine(indent, to: output)
    page.fold(0, plainText.count, at: indent, indent: indent, to: output)
  }

  /// Whether each byte is printing ASCII and begins no escape.
  package static func isPlain(_ json: ByteView) -> Bool {
    var at = 0
    while at < json.count {
      var mask = unsafe pusher_shown_ends_16(json.base + at)
      while mask != 0 {
        let place = at &+ mask.trailingZeroBitCount
        if place >= json.count { return true }
        guard unsafe json.base[place] == 0x22 else { return false }
        mask &= mask &- 1
      }
      at &+= 16
    }
    return true
  }

  /// How many columns text takes that holds no control character; `nil` for what is not UTF-8.
  package static func columns(_ text: ByteView) -> Int? {
    JSONPage(text, width: 0, isPlain: false).excess(0, text.count).map { text.count - $0 }
  }
}

/// A range of the input, from a place that is known.
struct JSONPagePart {
  /// Where it ends.
  var end: Int
  /// How many of its bytes take no column.
  var excess = 0
}

/// Where plain text ends, as bits for 64 bytes of the input.
///
/// Reading from end to end by them does not wait for a load each time.
struct JSONPageMarks {
  /// The place of the first bit.
  var start: Int
  /// A bit for each byte that ends plain text.
  var bits: UInt64
}

/// A member's name before its value.
struct JSONPageName {
  /// How many bytes it takes, quotes and colon included; none has no bytes.
  var count = 0
  /// How many of them take no column.
  var excess = 0
}

// MARK: Where values end

extension JSONPage {
  /// Marks from a place before ``end`` on.
  @inline(__always)
  private func marks(from place: Int) -> JSONPageMarks {
    JSONPageMarks(start: place, bits: unsafe pusher_shown_ends_64(base + place))
  }

  /// The first place from `start` on that has a mark; none before ``end`` is ``end`` or more.
  ///
  /// Places that were passed by must not be asked for again.
  @inline(__always)
  private func nextMark(_ start: Int, _ marks: inout JSONPageMarks) -> Int {
    var place = start
    while true {
      // Marks that lie ahead already say that there is none between.
      place = max(place, marks.start)
      let distance = place &- marks.start
      if distance < 64 {
        let bits = marks.bits &>> UInt64(distance)
        if bits != 0 { return place &+ bits.trailingZeroBitCount }
      }
      let next = distance < 128 ? marks.start &+ 64 : place
      guard next < end else {
        marks = JSONPageMarks(start: next, bits: 0)
        return end
      }
      marks = self.marks(from: next)
    }
  }

  /// Where the text that begins at a place ends, its quote included; `nil` for what may not be there.
  @inline(__always)
  private func text(_ start: Int, _ marks: inout JSONPageMarks) -> JSONPagePart? {
    let at = nextMark(start, &marks)
    if at < end, unsafe base[at] == 0x22 { return JSONPagePart(end: at &+ 1) }
    return isPlain ? nil : text(start)
  }

  /// Where the text that begins at a place ends, as above, whatever it holds.
  @inline(never)
  private func text(_ start: Int) -> JSONPagePart? {
    var at = start
    var excess = 0
    while at < end {
      let mask = unsafe pusher_shown_ends_16(base + at)
      guard mask != 0 else {
        at &+= 16
        continue
      }
      at &+= mask.trailingZeroBitCount
      guard at < end else { return nil }
      if unsafe base[at] == 0x22 { return JSONPagePart(end: at &+ 1, excess: excess) }
      guard !isPlain, let next = unusual(at) else { return nil }
      at = next.end
      excess &+= next.excess
    }
    return nil
  }

  /// Steps over an escape, or a character beyond ASCII.
  @inline(never)
  private func unusual(_ at: Int) -> JSONPagePart? {
    if unsafe base[at] == 0x5C { return JSONPagePart(end: at &+ 2) }
    guard let (length, columns) = character(at), length > 1 else { return nil }
    return JSONPagePart(end: at &+ length, excess: length &- columns)
  }

  /// Where the number or literal ends that begins at a place.
  @inline(__always)
  private func number(_ start: Int) -> JSONPagePart {
    var at = start
    while at < end {
      let mask = unsafe pusher_value_ends_16(base + at)
      if mask != 0 { return JSONPagePart(end: min(at &+ mask.trailingZeroBitCount, end)) }
      at &+= 16
    }
    return JSONPagePart(end: end)
  }

  /// Where the container ends that begins at a place; `Int.max` when it takes more columns than there is room, and `nil`
  /// for what may not be there.
  ///
  /// It looks at no more than a multiple of the room, so that values inside values are not measured again and again.
  private func container(_ start: Int, room: Int) -> JSONPagePart? {
    let most = isPlain ? 1 : Self.mostBytes
    let limit = room < (end &- start) / most ? start &+ max(room, 0) &* most : end
    var at = start
    var excess = 0
    var depth = 0
    while at < limit {
      let mask = unsafe pusher_nesting_16(base + at)
      guard mask != 0 else {
        at &+= 16
        continue
      }
      at &+= mask.trailingZeroBitCount
      guard at < limit else { break }
      let byte = unsafe base[at]
      at &+= 1
      if byte == 0x22 {
        guard let next = text(at) else { return nil }
        at = next.end
        excess &+= next.excess
      } else if byte & 2 != 0 {
        depth &+= 1
      } else {
        depth &-= 1
        if depth == 0 { return JSONPagePart(end: at, excess: excess) }
      }
    }
    return isPlain || at &- start &- excess > room ? JSONPagePart(end: .max) : nil
  }
}

// MARK: Values

extension JSONPage {
  private func writeFirst(indent: Int, to output: ByteBuffer) -> Int? {
    var marks = marks(from: 0)
    return writeValue(at: 0, JSONPageName(), &marks, indent: indent, depth: 0, to: output)
  }

  /// Writes a value on lines of its own; answers where it ends, `nil` for what may not be there.
  @inline(__always)
  private func writeValue(
    at start: Int, _ name: JSONPageName, _ marks: inout JSONPageMarks, indent: Int, depth: Int,
    to output: ByteBuffer
  ) -> Int? {
    guard start < end else { return nil }
    let first = unsafe base[start]
    if first == 0x7B || first == 0x5B {
      return writeContainer(at: start, name, indent: indent, depth: depth, to: output)
    }
    guard let part = first == 0x22 ? text(start &+ 1, &marks) : number(start) else {
      return nil
    }
    let behind = behindComma(part.end)
    if columnBehind(name, indent) &+ behind &- start &- part.excess <= width {
      putLine(start, behind, name, indent: indent, to: output)
    } else {
      writeFolded(start, behind, name, indent: indent, to: output)
    }
    return part.end
  }

  /// Writes an array or an object.
  @inline(never)
  private func writeContainer(
    at start: Int, _ name: JSONPageName, indent: Int, depth: Int, to output: ByteBuffer
  ) -> Int? {
    let column = columnBehind(name, indent)
    let isEmpty = unsafe start &+ 1 < end && base[start &+ 1] == base[start] &+ 2
    let canOpen = !isEmpty && depth < Self.deepest
    guard let part = container(start, room: canOpen ? width &- column : end) else { return nil }
    if part.end <= end {
      let behind = behindComma(part.end)
      if column &+ behind &- start &- part.excess <= width {
        putLine(start, behind, name, indent: indent, to: output)
        return part.end
      }
      if !canOpen {
        writeFolded(start, behind, name, indent: indent, to: output)
        return part.end
      }
    }
    guard canOpen else { return nil }
    return writeMembers(start, name, indent: indent, depth: depth, to: output)
  }

  /// Writes a container, its members on lines of their own.
  private func writeMembers(
    _ start: Int, _ name: JSONPageName, indent: Int, depth: Int, to output: ByteBuffer
  ) -> Int? {
    let inner = inner(indent)
    if columnBehind(name, indent) < width {
      putLine(start, start &+ 1, name, indent: indent, to: output)
    } else {
      writeFolded(start, start &+ 1, name, indent: indent, to: output)
    }
    let opening = unsafe base[start]
    var marks = marks(from: start)
    var at = start
    repeat {
      at &+= 1
      var name = JSONPageName()
      if opening == 0x7B {
        guard unsafe at < end && base[at] == 0x22, let part = text(at &+ 1, &marks), part.end < end,
          unsafe base[part.end] == 0x3A
        else { return nil }
        name = JSONPageName(count: part.end &+ 1 &- at, excess: part.excess)
      }
      guard
        let next = writeValue(
          at: at &+ name.count, name, &marks, indent: inner, depth: depth &+ 1, to: output),
        next < end
      else { return nil }
      at = next
    } while unsafe base[at] == 0x2C
    guard unsafe base[at] == opening &+ 2 else { return nil }
    putLine(at, behindComma(at &+ 1), JSONPageName(), indent: indent, to: output)
    return at &+ 1
  }

  /// The comma behind a value belongs to its line.
  @inline(__always)
  private func behindComma(_ stop: Int) -> Int {
    stop &+ (unsafe stop < end && base[stop] == 0x2C ? 1 : 0)
  }

  /// The column behind a name, the colon, and the blank that comes then.
  @inline(__always)
  private func columnBehind(_ name: JSONPageName, _ indent: Int) -> Int {
    indent &+ name.count &- name.excess &+ (name.count > 0 ? 1 : 0)
  }

  /// Where members begin, and lines that go on.
  func inner(_ indent: Int) -> Int { min(indent &+ 2, width / 2) }
}
