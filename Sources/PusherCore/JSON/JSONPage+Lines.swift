/// The lines of a page: ranges of the input behind blanks, and ranges that are folded.
extension JSONPage {
  /// Writes a line end, blanks up to `indent`, the name before `start` with a blank, and the bytes up to `stop`.
  @inline(__always)
  func putLine(
    _ start: Int, _ stop: Int, _ name: JSONPageName, indent: Int, to output: ByteBuffer
  ) {
    let count = 1 &+ indent &+ name.count &+ (name.count > 0 ? 1 : 0) &+ stop &- start
    output.reserve(count &+ 48)
    var tail = unsafe beginLine(indent, to: output)
    if name.count > 0 {
      unsafe copy(start &- name.count, name.count, to: tail)
      unsafe tail += name.count
      unsafe tail.pointee = 0x20
      unsafe tail += 1
    }
    unsafe copy(start, stop &- start, to: tail)
    output.commit(count)
  }

  /// Writes, without committing it, a line end and blanks up to `indent`, up to 15 bytes beyond what it answers.
  @inline(__always)
  private func beginLine(_ indent: Int, to output: ByteBuffer) -> UnsafeMutablePointer<UInt8> {
    let tail = unsafe output.tail
    unsafe tail.pointee = 0x0A
    // Nearly every line begins within one store.
    unsafe UnsafeMutableRawPointer(tail + 1).storeBytes(
      of: SIMD16(repeating: 0x20), as: SIMD16<UInt8>.self)
    if indent > 16 { unsafe (tail + 17).update(repeating: 0x20, count: indent &- 16) }
    return unsafe tail + 1 + indent
  }

  /// Copies bytes in steps of 16.
  @inline(__always)
  private func copy(_ start: Int, _ count: Int, to target: UnsafeMutablePointer<UInt8>) {
    let source = unsafe UnsafeRawPointer(base + start)
    let target = UnsafeMutableRawPointer(target)
    var at = 0
    repeat {
      let block = unsafe source.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
      unsafe target.storeBytes(of: block, toByteOffset: at, as: SIMD16<UInt8>.self)
      at &+= 16
    } while at < count
  }

  func newLine(_ indent: Int, to output: ByteBuffer) {
    output.reserve(indent &+ 32)
    _ = unsafe beginLine(indent, to: output)
    output.commit(1 &+ indent)
  }

  private func put(_ start: Int, _ count: Int, to output: ByteBuffer) {
    output.reserve(count &+ 16)
    unsafe copy(start, count, to: output.tail)
    output.commit(count)
  }
}

// MARK: Lines that are too long

extension JSONPage {
  /// Writes on a new line the name before `start` with a blank, and the bytes up to `stop`; they may go on on further lines.
  @inline(never)
  func writeFolded(
    _ start: Int, _ stop: Int, _ name: JSONPageName, indent: Int, to output: ByteBuffer
  ) {
    let inner = inner(indent)
    newLine(indent, to: output)
    var column = indent
    if name.count > 0 {
      column = fold(
        start &- name.count, start, at: indent, indent: inner, blanks: 1, to: output)
    }
    fold(start, stop, at: column, indent: inner, to: output)
  }

  /// Writes a range with so many blanks after it, and answers the column after them.
  ///
  /// Lines end after a blank where that is possible, and further ones begin at `indent`.
  @discardableResult
  func fold(
    _ start: Int, _ stop: Int, at column: Int, indent: Int, blanks: Int = 0, to output: ByteBuffer
  ) -> Int {
    var column = column
    var at = start
    while at < stop {
      var next = at
      while next < stop, unsafe base[next] != 0x20 { next &+= 1 }
      while next < stop, unsafe base[next] == 0x20 { next &+= 1 }
      let excess = isPlain ? 0 : excess(at, next) ?? 0
      let added = next == stop ? blanks : 0
      let columns = next &- at &- excess &+ added
      if columns > width &- column, columns <= width &- indent, column > indent {
        newLine(indent, to: output)
        column = indent
      }
      while at < next {
        // Each byte of what has no excess takes a column.
        let (length, columns) =
          excess == 0 ? longest(next &- at, width &- column) : character(at) ?? (1, 1)
        if columns > width &- column {
          newLine(indent, to: output)
          column = indent
          continue
        }
        put(at, length, to: output)
        column &+= columns
        at &+= length
      }
      for _ in 0..<added {
        if column >= width {
          newLine(indent, to: output)
          column = indent
        }
        output.append(0x20)
        column &+= 1
      }
    }
    return column
  }

  /// As much of a range as there is room for, at least a byte of it.
  private func longest(_ count: Int, _ room: Int) -> (length: Int, columns: Int) {
    let count = max(min(count, room), 1)
    return (count, count)
  }
}

// MARK: Characters beyond ASCII

extension JSONPage {
  /// How many bytes more than columns a range has; `nil` for what is not UTF-8.
  func excess(_ start: Int, _ stop: Int) -> Int? {
    var excess = 0
    var at = start
    while at < stop {
      guard unsafe base[at] >= 0x80 else {
        at &+= 1
        continue
      }
      guard let (length, columns) = character(at) else { return nil }
      excess &+= length &- columns
      at &+= length
    }
    return excess
  }

  /// How many bytes and columns the character at a place takes; `nil` for what is not UTF-8.
  func character(_ at: Int) -> (length: Int, columns: Int)? {
    let first = unsafe base[at]
    if first < 0x80 { return (1, 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first < 0xF5, length <= end &- at else { return nil }
    var value = UInt32(first) & (0x7F &>> UInt32(length))
    for index in 1..<length {
      value = unsafe value &<< 6 | UInt32(base[at &+ index] & 0x3F)
    }
    return Unicode.Scalar(value).map { (length, TextWidth.columns($0)) }
  }
}
