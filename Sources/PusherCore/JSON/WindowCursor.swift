internal import CSystemVectors

/// A ``FusedCursor`` that knows the kinds of the next bytes as bits: the core of the hot path.
///
/// The bits describe a window of 64 bytes. A shift and a count find the end of a string or a
/// number, without a load that must wait for the position. The window slides by 32 bytes, and the
/// new bits do not wait for the position either.
///
/// The promises of ``FusedCursor`` hold. The reading position never passes the NUL: every byte is
/// checked before the position steps over it, and NUL is never plain text, a digit, a letter or a
/// bracket. The wider loads and stores stay inside too:
/// 1. ``slide()`` loads 32 bytes that begin 64 bytes after the window's first byte, only while the
///    position is 32 or more bytes inside the window. So they begin at most 32 bytes after the NUL
///    and end with the 64 bytes of ``ByteBuffer/padding``, of which the NUL is the first. The same
///    is true for the 64 bytes of the first window and of ``copyPlainText()``, which begin at the
///    position.
/// 2. Bits after the NUL mean nothing and are never used. Only the first bit of a mask from the
///    position on counts, and the second if the first is a point. The NUL's own bits come before
///    them: it ends text and is not a digit.
/// 3. A store ends at most 32 bytes after the kept bytes, which are no longer than the input.
///
/// Shifts by 64 or more would count from the wrong byte. Callers of ``copyPlainText()`` and
/// ``copyNumber(_:)`` keep the position inside the window, and debug builds check it.
@safe struct WindowCursor {
  /// First byte of the window; may lie before the input while nothing of it was loaded.
  private var window: UnsafePointer<UInt8>
  private var at: UInt
  /// One bit for each byte of the window that ends plain text: quotes, backslashes and controls.
  private var ends: UInt64
  /// One bit for each byte of the window that is not a digit.
  private var others: UInt64
  private var output: UnsafeMutablePointer<UInt8>

  @inline(__always) init(_ cursor: FusedCursor) {
    unsafe window = cursor.input
    unsafe output = cursor.output
    at = 0
    unsafe ends =
      UInt64(pusher_string_ends_32(window)) | UInt64(pusher_string_ends_32(window + 32)) &<< 32
    unsafe others =
      ~(UInt64(pusher_digits_32(window)) | UInt64(pusher_digits_32(window + 32)) &<< 32)
  }

  var fused: FusedCursor {
    @inline(__always) get { unsafe FusedCursor(input: input, output: output) }
  }

  /// Takes the positions of a cursor that continued from ``fused``; ``slide()`` must follow.
  @inline(__always) mutating func follow(_ cursor: FusedCursor) {
    unsafe at = UInt(bitPattern: cursor.input - window)
    unsafe output = cursor.output
    // From there on, refilling the window is less work than sliding.
    if at >= 96 { leave() }
  }

  /// Slides the window until the reading position is among its first 32 bytes.
  @inline(__always) mutating func slide() {
    while at >= 32 {
      unsafe window += 32
      at &-= 32
      unsafe ends = ends &>> 32 | UInt64(pusher_string_ends_32(window + 32)) &<< 32
      unsafe others = others &>> 32 | UInt64(~pusher_digits_32(window + 32)) &<< 32
    }
  }

  /// Invalidates the window's bits; refilling takes two slides and happens only when needed.
  @inline(__always) private mutating func leave() {
    unsafe window = input - 64
    at = 64
  }

  private var input: UnsafePointer<UInt8> {
    @inline(__always) get { unsafe window + Int(bitPattern: at) }
  }

  /// Slides if a sign or an opening quote before a run could leave the window.
  @inline(__always)
  mutating func slideWhenLate() {
    if at > 50 { slide() }
  }
}

// MARK: Single bytes and words

extension WindowCursor {
  var byte: UInt8 { @inline(__always) get { unsafe input.pointee } }

  @inline(__always) func peek(_ distance: UInt) -> UInt8 { unsafe input[Int(bitPattern: distance)] }

  @inline(__always) func word16(_ distance: Int = 0) -> UInt16 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt16.self)
  }

  @inline(__always)
  func word32() -> UInt32 { unsafe UnsafeRawPointer(input).loadUnaligned(as: UInt32.self) }

  @inline(__always) mutating func skip(_ count: UInt) { at &+= count }

  @inline(__always) mutating func put(_ byte: UInt8) {
    unsafe output.pointee = byte
    unsafe output += 1
  }

  @inline(__always) mutating func putPair(_ pair: UInt16) {
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: pair, as: UInt16.self)
    unsafe output += 2
  }

  /// Copies `count` bytes, at most 8, with one load and one store.
  @inline(__always) mutating func copyShort(_ count: UInt) {
    let word = unsafe UnsafeRawPointer(input).loadUnaligned(as: UInt64.self)
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: word, as: UInt64.self)
    step(count)
  }

  @inline(__always) private mutating func step(_ count: UInt) {
    at &+= count
    unsafe output += Int(bitPattern: count)
  }

  @inline(__always) private func copyBlock(_ distance: Int) {
    let block = unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: SIMD16<UInt8>.self)
    unsafe UnsafeMutableRawPointer(output + distance).storeBytes(of: block, as: SIMD16<UInt8>.self)
  }
}

// MARK: Runs

extension WindowCursor {
  /// Copies text up to the next quote, backslash or control; needs a position inside the window.
  @inline(__always) mutating func copyPlainText() {
    assert(at < 64, "the position is outside the window")
    let ahead = ends &>> UInt64(at)
    copyBlock(0)
    guard ahead != 0 else { return copyLongText() }
    let count = UInt(ahead.trailingZeroBitCount)
    if count > 16 {
      copyBlock(16)
      if count > 32 {
        copyBlock(32)
        copyBlock(48)
      }
    }
    step(count)
  }

  /// Copies text that does not end inside the window; invalidates the window's bits.
  @inline(__always) private mutating func copyLongText() {
    while true {
      let mask = unsafe pusher_string_ends_32(input)
      copyBlock(0)
      copyBlock(16)
      if mask != 0 {
        step(UInt(mask.trailingZeroBitCount))
        return leave()
      }
      step(32)
    }
  }

  /// Copies at most 16 bytes, from the digit `first` on: digits, with or without a fraction.
  ///
  /// Needs a position inside the window. Returns `false` for anything else; an exponent may follow.
  @inline(__always) mutating func copyNumber(_ first: UInt8) -> Bool {
    assert(at < 64, "the position is outside the window")
    let ahead = others &>> UInt64(at)
    guard ahead != 0 else { return false }
    copyBlock(0)
    let whole = UInt(ahead.trailingZeroBitCount)
    guard _fastPath(first != 0x30) || whole == 1 else { return false }
    var count = whole
    if peek(whole) == 0x2E {
      let behind = ahead & (ahead &- 1)
      guard behind != 0 else { return false }
      count = UInt(behind.trailingZeroBitCount)
      guard count &- whole != 1 else { return false }
    }
    guard count <= 16 else { return false }
    step(count)
    return true
  }
}

extension WindowCursor {
  /// Copies frequent shapes; returns the place where something else begins.
  ///
  /// It rejects nothing, and calls nothing so that its state stays in registers.
  @inline(never) static func copyFrequent<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: WindowCursor, _ depth: UInt64
  ) -> (WindowCursor, UInt64, JSONPlace) {
    var cursor = start
    var levels = depth
    let place = cursor.run(quotes, &levels)
    return (cursor, levels, place)
  }

  @inline(__always) private mutating func run<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace {
    slide()
    if levels == 1 { guard byte == 0x7B || byte == 0x5B else { return .value } }
    // Every value begins at most 50 bytes inside the window.
    value: while true {
      let first = byte
      if first &- 0x30 < 10 {
        guard copyNumber(first) else { return .value }
      } else if first == Quotes.firstByte {
        guard copyQuote(quotes) else { return .value }
        copyPlainText()
        guard copyQuote(quotes) else { return .text }
      } else if first == 0x7B {
        guard openObject(quotes, &levels) else { return .value }
        guard copyNameRest(quotes) else { return .name }
        continue value
      } else if first == 0x5B {
        guard openArray(&levels) else { return .value }
        continue value
      } else if first == 0x20 {
        // Python writes blanks here.
        skip(1)
        slideWhenLate()
        continue value
      } else {
        guard copyNegative(first) || copyLiteral() else { return .value }
      }
      while true {
        let next = byte
        if next == 0x2C {
          if levels & 1 == 0 {
            put(0x2C)
            skip(1)
            slide()
            continue value
          }
          guard openNextName(quotes) else { return .behindValue }
          guard copyNameRest(quotes) else { return .name }
          continue value
        }
        guard next == (levels & 1 == 1 ? 0x7D : 0x5D) else { return .behindValue }
        put(next)
        skip(1)
        levels &>>= 1
        if levels == 1 { return Quotes.isEnd(byte) ? .end : .behindValue }
      }
    }
  }

  @inline(__always)
  private mutating func copyQuote<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.stand(self, 0) else { return false }
    skip(Quotes.width)
    put(0x22)
    return true
  }

  /// Copies `{` and the quote of the first name.
  @inline(__always) private mutating func openObject<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> Bool {
    guard Quotes.stand(self, 1), levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | 1
    putPair(0x227B)
    skip(1 &+ Quotes.width)
    return true
  }

  @inline(__always) private mutating func openArray(_ levels: inout UInt64) -> Bool {
    let next = peek(1)
    guard next != 0x5D, next != 0x20, levels &>> 62 == 0 else { return false }
    levels = levels &<< 1
    put(0x5B)
    skip(1)
    slide()
    return true
  }

  /// Copies a comma and the quote of the next name.
  @inline(__always)
  private mutating func openNextName<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    if Quotes.stand(self, 1) {
      skip(1 &+ Quotes.width)
    } else {
      guard peek(1) == 0x20, Quotes.stand(self, 2) else { return false }
      skip(2 &+ Quotes.width)
    }
    putPair(0x222C)
    return true
  }

  /// Copies a negative number, or at least its sign if a digit follows.
  @inline(__always) private mutating func copyNegative(_ first: UInt8) -> Bool {
    guard first == 0x2D, peek(1) &- 0x30 < 10 else { return false }
    put(0x2D)
    skip(1)
    return copyNumber(byte)
  }

  /// Copies a name without escapes after its opening quote, and the colon.
  @inline(__always)
  private mutating func copyNameRest<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    slide()
    copyPlainText()
    guard Quotes.endName(self) else { return false }
    putPair(0x3A22)
    skip(Quotes.width &+ 1)
    slideWhenLate()
    return true
  }

  @inline(__always) private mutating func copyLiteral() -> Bool {
    let count = fused.literal
    copyShort(UInt(bitPattern: count))
    return count > 0
  }
}
