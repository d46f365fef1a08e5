internal import CSystemVectors

/// A reading and a writing position that move side by side: the core of the hot path.
///
/// Three promises keep its unchecked pointers inside their buffers:
/// 1. The input ends in a NUL byte that the caller put there, the first byte of the view's
///    ``ByteBuffer/padding``. NUL is not a quote, digit, letter or bracket, so every scan stops at
///    it.
/// 2. Loads begin at or before the NUL, so at most ``ByteBuffer/padding`` bytes wide they stay in
///    the view's memory.
/// 3. The output has room for the input's bytes plus 32, because copies never grow: a store ends at
///    most 32 bytes after the kept bytes.
@safe struct FusedCursor {
  var input: UnsafePointer<UInt8>
  var output: UnsafeMutablePointer<UInt8>

  @inline(__always) init(input: UnsafePointer<UInt8>, output: UnsafeMutablePointer<UInt8>) {
    unsafe self.input = input
    unsafe self.output = output
  }

  var byte: UInt8 { @inline(__always) get { unsafe input.pointee } }

  @inline(__always) func peek(_ distance: Int) -> UInt8 { unsafe input[distance] }

  @inline(__always) func word16(_ distance: Int = 0) -> UInt16 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt16.self)
  }

  @inline(__always) func word32(_ distance: Int = 0) -> UInt32 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt32.self)
  }

  @inline(__always) func word64(_ distance: Int = 0) -> UInt64 {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: UInt64.self)
  }

  @inline(__always) mutating func skip(_ count: Int) { unsafe input += count }

  @inline(__always) mutating func put(_ byte: UInt8) {
    unsafe output.pointee = byte
    unsafe output += 1
  }

  @inline(__always) mutating func putPair(_ pair: UInt16) {
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: pair, as: UInt16.self)
    unsafe output += 2
  }

  @inline(__always) mutating func putEscape(_ byte: UInt8) {
    put(0x5C)
    put(byte)
  }

  /// Copies `count` bytes, at most 8, with one load and one store.
  @inline(__always) mutating func copyShort(_ count: Int) {
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: word64(), as: UInt64.self)
    unsafe input += count
    unsafe output += count
  }

  /// Copies up to 16 bytes before a quote, a backslash or a control; returns true for all 16.
  @inline(__always) mutating func copyPlainRun() -> Bool {
    let mask = unsafe pusher_string_ends_16(input)
    put(block(0), 0)
    if mask != 0 {
      step(mask.trailingZeroBitCount)
      return false
    }
    step(16)
    return true
  }

  /// Steps over what ``copyPlainRun()`` would copy.
  @inline(__always) mutating func skipPlainRun() -> Bool {
    let mask = unsafe pusher_string_ends_16(input)
    skip(mask == 0 ? 16 : mask.trailingZeroBitCount)
    return mask == 0
  }

  @inline(__always) private mutating func step(_ count: Int) {
    unsafe input += count
    unsafe output += count
  }

  @inline(__always) mutating func copyDigitRun() -> Int {
    let word = word64()
    unsafe UnsafeMutableRawPointer(output).storeBytes(of: word, as: UInt64.self)
    let high: UInt64 = 0x8080_8080_8080_8080
    let shifted = word ^ 0x3030_3030_3030_3030
    let mask = ((shifted &+ 0x7676_7676_7676_7676) | shifted) & high
    let count = mask == 0 ? 8 : mask.trailingZeroBitCount &>> 3
    step(count)
    return count
  }
}

extension ByteView {
  /// Calls `body` while a NUL, which stops every scan, replaces the byte after the view.
  @inline(__always) func withNUL<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    let end = unsafe base + count
    let byte = unsafe end.pointee
    unsafe end.pointee = 0
    defer { unsafe end.pointee = byte }
    return unsafe body(UnsafePointer(end))
  }
}

/// Copies and validates JSON in one pass: frequent shapes in one function, others by tokens.
///
/// The functions return `false` at the first unusual thing, valid or not (half surrogate pairs,
/// nesting deeper than 62). The caller then drops the output and uses ``JSONCompactor``.
extension FusedCursor {
  /// Copies one value inside a JSON string; stops at the quote that ends the string.
  ///
  /// - Parameter kind: As in ``JoinMemory/Trail``.
  @inline(__always) mutating func copyEscapedValue(_ joins: JoinMemory, kind: UInt64) -> Bool {
    copyValue(EscapedQuotes.self, joins, kind)
  }

  @inline(__always) mutating func copyPlainValue(_ joins: JoinMemory) -> Bool {
    // The bracket and the first letters of the first name.
    guard copyValue(PlainQuotes.self, joins, word64() & 0xFFFF_FFFF_FFFF) else { return false }
    PlainQuotes.skipBlanks(&self)
    return true
  }

  @inline(__always) private mutating func copyValue<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ joins: JoinMemory, _ kind: UInt64
  ) -> Bool {
    var progress = Progress(cursor: self, trail: JoinMemory.Trail(joins, kind: kind))
    if _slowPath(!progress.trail.learns) { joins.noteRest() }
    while true {
      if _fastPath(progress.trail.learns) {
        progress = Self.copyFrequent(quotes, progress.cursor, progress.trail, progress.levels)
        if progress.place == .end {
          joins.noteKnown()
          break
        }
        if progress.place == .newNames {
          unsafe joins.noteForeign(progress.cursor.input - input)
          continue
        }
      } else {
        progress = Self.copyForeign(quotes, progress.cursor, progress.trail, progress.levels)
        if progress.place == .end { break }
      }
      let next: FusedCursor?
      (next, progress.levels, progress.place) = Self.copyRare(
        quotes, progress.cursor, progress.levels, progress.place)
      guard let next else { return false }
      progress.cursor = next
      if progress.place == .end { break }
    }
    self = progress.cursor
    return true
  }

  private struct Progress {
    var cursor: FusedCursor
    var trail: JoinMemory.Trail
    /// One bit per level above a sentinel: 1 for an object, 0 for an array.
    var levels: UInt64 = 1
    var place = JSONPlace.value
  }

  /// Copies frequent shapes, up to the place where something else begins.
  ///
  /// It rejects nothing. Values, not an `inout` parameter, keep its state in registers.
  @inline(never) private static func copyFrequent<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: FusedCursor, _ joins: JoinMemory.Trail, _ depth: UInt64
  ) -> Progress {
    var (cursor, trail, levels) = (start, joins, depth)
    let place = cursor.run(quotes, &trail, &levels, remembers: true)
    return Progress(cursor: cursor, trail: trail, levels: levels, place: place)
  }

  /// Does the same without joins, for text with many new names.
  @inline(never) private static func copyForeign<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: FusedCursor, _ joins: JoinMemory.Trail, _ depth: UInt64
  ) -> Progress {
    var (cursor, trail, levels) = (start, joins, depth)
    let place = cursor.run(quotes, &trail, &levels, remembers: false)
    return Progress(cursor: cursor, trail: joins, levels: levels, place: place)
  }

  @inline(__always) private mutating func run<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ trail: inout JoinMemory.Trail, _ levels: inout UInt64,
    remembers: Bool
  ) -> JSONPlace {
    if levels == 1 { guard isAtBracket else { return .value } }
    while true {
      let first = byte
      if _fastPath(first &- 0x30 < 10) {
        guard remembers ? copyNumber(first, trail) : copyShortNumber(first) else { return .value }
      } else if Quotes.stand(self, 0) {
        skip(Quotes.width)
        put(0x22)
        copyPlainText()
        guard Quotes.stand(self, 0) else { return .text }
        skip(Quotes.width)
        put(0x22)
      } else if isAtBracket {
        let (start, key) = (self, levels | JoinMemory.Trail.bracket)
        if remembers, copyKnownJoin(&trail, &levels, key) { continue }
        if let place = copyOpening(quotes, &levels) { return place }
        if remembers, !remember(start, &trail, key, levels) { return .newNames }
        continue
      } else {
        guard copyNegative(first) || copyLiteral() else { return .value }
      }
      let (start, key) = (self, levels)
      if remembers, copyKnownJoin(&trail, &levels, key) { continue }
      if let place = copyNext(quotes, &levels) { return place }
      if remembers {
        // A bracket after few bytes belongs to the same join.
        if isAtBracket, unsafe input - start.input < 4 {
          if let place = copyOpening(quotes, &levels) { return place }
        }
        guard remember(start, &trail, key, levels) else { return .newNames }
      }
    }
  }

  /// True at `[` and `{`, which differ in one bit.
  private var isAtBracket: Bool { @inline(__always) get { byte & 0xDF == 0x5B } }

  /// Copies the predicted join if it stands here.
  @inline(__always) private mutating func copyKnownJoin(
    _ trail: inout JoinMemory.Trail, _ levels: inout UInt64, _ key: UInt64
  ) -> Bool {
    unsafe trail.follow(input, key) { join, isLong in
      put(unsafe join.pointee.written.lowHalf, 0)
      if isLong { put(unsafe join.pointee.written.highHalf, 16) }
      unsafe input += Int(join.pointee.count)
      unsafe output += Int(join.pointee.writtenCount)
      levels = unsafe join.pointee.levels
    }
  }

  /// Adds the join that was copied since `start`; returns `false` if no more may be added.
  @inline(__always) private func remember(
    _ start: FusedCursor, _ trail: inout JoinMemory.Trail, _ key: UInt64, _ levels: UInt64
  ) -> Bool {
    let count = unsafe input - start.input
    // A `]` may follow the bracket of a list, but it may not follow a join.
    guard count <= JoinMemory.longest, unsafe output[-1] != 0x5B else { return true }
    unsafe trail.add(
      start.input, count, start.output, output - start.output, key: key, levels: levels)
    return trail.learns
  }

  /// Copies from behind a value to the next value: closing brackets, a comma and a name.
  ///
  /// Returns the place where something else begins, else `nil`.
  @inline(__always) private mutating func copyNext<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    while byte != 0x2C {
      guard byte == (levels & 1 == 1 ? 0x7D : 0x5D) else { return .behindValue }
      put(byte)
      skip(1)
      levels &>>= 1
      if levels == 1 { return Quotes.isEnd(byte) ? .end : .behindValue }
    }
    if levels & 1 == 1 {
      guard openNextName(quotes) else { return .behindValue }
      return copyNameRest(quotes)
    }
    put(0x2C)
    skip(1)
    // Python writes blanks here.
    if _slowPath(byte == 0x20) { skip(1) }
    return nil
  }

  /// Copies `{` and the first name, or `[`; returns as ``copyNext(_:_:)`` does.
  @inline(__always) private mutating func copyOpening<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    guard levels &>> 62 == 0 else { return .value }
    if byte == 0x7B {
      guard Quotes.stand(self, 1) else { return .value }
      levels = levels &<< 1 | 1
      putPair(0x227B)
      skip(1 &+ Quotes.width)
      return copyNameRest(quotes)
    }
    guard peek(1) != 0x5D, peek(1) != 0x20 else { return .value }
    levels &<<= 1
    put(0x5B)
    skip(1)
    return nil
  }

  /// Copies a name without escapes after its opening quote, and the colon.
  @inline(__always)
  private mutating func copyNameRest<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> JSONPlace? {
    copyPlainText()
    guard Quotes.endName(self) else { return .name }
    putPair(0x3A22)
    skip(Quotes.width &+ 1)
    if _slowPath(byte == 0x20) { skip(1) }
    return nil
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

  /// Copies text up to the next quote, backslash or control.
  @inline(__always) private mutating func copyPlainText() {
    if copyPlainRun() { copyLongText() }
  }

  @inline(__always) private mutating func copyLongText() {
    for _ in 0..<4 where !copyPlainRun() { return }
    while unsafe pusher_has_string_end_64(input) == 0 {
      // The loads come first, so that they are those of the check.
      let (first, second) = (block(0), block(16))
      let (third, fourth) = (block(32), block(48))
      put(first, 0)
      put(second, 16)
      put(third, 32)
      put(fourth, 48)
      step(64)
    }
    while copyPlainRun() {}
  }

  @inline(__always) private func block(_ distance: Int) -> SIMD16<UInt8> {
    unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: SIMD16<UInt8>.self)
  }

  @inline(__always) private func put(_ block: SIMD16<UInt8>, _ distance: Int) {
    unsafe UnsafeMutableRawPointer(output + distance).storeBytes(of: block, as: SIMD16<UInt8>.self)
  }

  /// Copies a negative number, or at least its sign if a digit follows.
  @inline(__always) private mutating func copyNegative(_ first: UInt8) -> Bool {
    guard first == 0x2D, peek(1) &- 0x30 < 10 else { return false }
    put(0x2D)
    skip(1)
    return copyShortNumber(byte)
  }

  /// Copies less than 16 bytes, from the digit `first` on: digits, with or without a fraction.
  ///
  /// Returns `false` for anything else; an exponent may follow.
  @inline(__always) private mutating func copyShortNumber(_ first: UInt8) -> Bool {
    let digits = unsafe pusher_digits_16(input)
    put(block(0), 0)
    guard let shape = shape(first, digits) else { return false }
    step(Int(shape.count))
    return true
  }

  /// Does the same, quicker for a number with the shape of the one that came here most recently:
  /// then the next position does not wait for the digits.
  @inline(__always)
  private mutating func copyNumber(_ first: UInt8, _ trail: JoinMemory.Trail) -> Bool {
    let digits = unsafe pusher_digits_16(input)
    put(block(0), 0)
    let known = trail.number
    if _fastPath(digits & known.mask == known.digits),
      _fastPath(UInt16(peek(Int(known.whole))) == known.end), _fastPath(first != 0x30)
    {
      step(Int(known.count))
      return true
    }
    guard let shape = shape(first, digits) else { return false }
    trail.number = shape
    step(Int(shape.count))
    return true
  }

  /// Returns the shape of the number at the reading position, whose digits have the bits of
  /// `digits`; `nil` if it is not short.
  @inline(__always) private func shape(_ first: UInt8, _ digits: UInt32) -> NumberShape? {
    // The bits after the block are set too, so there is always a next one.
    let others = ~digits
    let whole = others.trailingZeroBitCount
    guard _fastPath(first != 0x30) || whole == 1 else { return nil }
    var count = whole
    let end = peek(whole)
    if end == 0x2E {
      count = (others & (others &- 1) | 1 &<< 31).trailingZeroBitCount
      guard count &- whole != 1 else { return nil }
    }
    guard count < 16 else { return nil }
    let mask = UInt32(2) &<< UInt32(truncatingIfNeeded: count) &- 1
    return NumberShape(
      mask: mask, digits: digits & mask, whole: UInt16(truncatingIfNeeded: whole),
      end: UInt16(end), count: UInt32(truncatingIfNeeded: count))
  }

  /// Copies a rare token, and on to the next value or the end; `nil` for unusual JSON.
  @inline(never) private static func copyRare<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: FusedCursor, _ depth: UInt64, _ place: JSONPlace
  ) -> (FusedCursor?, UInt64, JSONPlace) {
    var cursor = start
    var levels = depth
    var place = place
    repeat {
      guard let next = cursor.step(quotes, from: place, &levels) else {
        return (nil, levels, place)
      }
      place = next
    } while place != .value && place != .end
    return (cursor, levels, place)
  }

  private mutating func step<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, from place: JSONPlace, _ levels: inout UInt64
  ) -> JSONPlace? {
    switch place {
    case .value: return stepValue(quotes, &levels)
    case .name: return copyAnyNameRest(quotes) ? .value : nil
    case .text: return Quotes.copyStringRest(&self) ? .behindValue : nil
    case .behindValue: return stepBehindValue(quotes, &levels)
    case .end, .newNames: return nil
    }
  }

  private mutating func stepValue<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    Quotes.skipBlanks(&self)
    switch byte {
    case Quotes.firstByte:
      return copyQuote(quotes) && Quotes.copyStringRest(&self) ? .behindValue : nil
    case 0x7B:
      guard openContainer(quotes, &levels, bit: 1) else { return nil }
      guard byte != 0x7D else { return .behindValue }
      return copyName(quotes) ? .value : nil
    case 0x5B:
      guard openContainer(quotes, &levels, bit: 0) else { return nil }
      return byte == 0x5D ? .behindValue : .value
    case 0x74, 0x66, 0x6E: return copyLiteral() ? .behindValue : nil
    default:
      // The letter of a second exponent must not be taken for one of a number copied without it.
      return copyNumber() && byte | 0x20 != 0x65 ? .behindValue : nil
    }
  }

  private mutating func stepBehindValue<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    if byte | 0x20 == 0x65 {
      guard peek(-1) &- 0x30 < 10, copyExponent(), byte | 0x20 != 0x65 else { return nil }
      return .behindValue
    }
    if levels == 1 { return Quotes.isEnd(byte) ? .end : nil }
    Quotes.skipBlanks(&self)
    if byte == 0x2C {
      put(0x2C)
      skip(1)
      if levels & 1 == 0 { return .value }
      return copyName(quotes) ? .value : nil
    }
    guard byte == (levels & 1 == 1 ? 0x7D : 0x5D) else { return nil }
    put(byte)
    skip(1)
    levels &>>= 1
    return .behindValue
  }

  @inline(__always) private mutating func openContainer<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64, bit: UInt64
  ) -> Bool {
    guard levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | bit
    put(byte)
    skip(1)
    Quotes.skipBlanks(&self)
    return true
  }

  @inline(__always)
  private mutating func copyQuote<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.skipQuote(&self) else { return false }
    put(0x22)
    return true
  }

  private mutating func copyName<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    Quotes.skipBlanks(&self)
    return copyQuote(quotes) && copyAnyNameRest(quotes)
  }

  private mutating func copyAnyNameRest<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.copyStringRest(&self) else { return false }
    Quotes.skipBlanks(&self)
    guard byte == 0x3A else { return false }
    put(0x3A)
    skip(1)
    return true
  }

  /// Copies text up to the first byte that a JSON string must escape, or the NUL after it.
  @inline(__always)
  mutating func copyUnescaped() {
    while copyPlainRun() {}
  }

  /// Copies `\uXXXX`, or two of them that are a surrogate pair, with `width` backslashes each.
  ///
  /// A digit is read only after the one before it, so this never looks past the NUL.
  @inline(__always) fileprivate mutating func copyUnicodeEscape(width: Int) -> Bool {
    guard let unit = JSONGrammar.hexUnit({ peek(width &+ 1 &+ $0) }) else { return false }
    if JSONGrammar.isSurrogate(unit) {
      let next = width &+ 5
      for index in 0..<width where peek(next &+ index) != 0x5C { return false }
      guard peek(next &+ width) == 0x75,
        let low = JSONGrammar.hexUnit({ peek(next &+ width &+ 1 &+ $0) }),
        JSONGrammar.scalar(unit, low) != nil
      else { return false }
      copyHexEscape(width)
    }
    copyHexEscape(width)
    return true
  }

  @inline(__always) private mutating func copyHexEscape(_ width: Int) {
    putEscape(0x75)
    skip(width &+ 1)
    copyShort(4)
  }

  @inline(__always) private mutating func copyLiteral() -> Bool {
    let count = literal
    copyShort(count)
    return count > 0
  }

  /// Length of the `true`, `false` or `null` at the reading position; 0 for anything else.
  var literal: Int { @inline(__always) get { unsafe JSONGrammar.literal(input) } }

  @inline(__always) mutating func copyNumber() -> Bool {
    if byte == 0x2D {
      put(0x2D)
      skip(1)
    }
    let leadingZero = byte == 0x30
    guard let count = copyDigits(), !leadingZero || count == 1 else { return false }
    if byte == 0x2E {
      put(0x2E)
      skip(1)
      guard copyDigits() != nil else { return false }
    }
    return byte | 0x20 != 0x65 || copyExponent()
  }

  @inline(__always) private mutating func copyExponent() -> Bool {
    put(byte)
    skip(1)
    if byte == 0x2B || byte == 0x2D {
      put(byte)
      skip(1)
    }
    return copyDigits() != nil
  }

  /// Copies one digit or more; returns their number.
  @inline(__always) private mutating func copyDigits() -> Int? {
    var count = copyDigitRun()
    guard count > 0 else { return nil }
    var last = count
    while last == 8 {
      last = copyDigitRun()
      count &+= last
    }
    return count
  }
}

enum JSONPlace {
  case value
  /// After the opening quote of a member's name.
  case name
  /// After the opening quote of a string value.
  case text
  case behindValue
  case end
  /// At a value, after as many new joins as one text may add.
  case newNames
}

/// How quotes are written: plain, or escaped inside another JSON string.
protocol JSONQuotes {
  static var areEscaped: Bool { get }
}

enum PlainQuotes: JSONQuotes {
  @inline(__always) static var areEscaped: Bool { false }
}

/// JSON inside a JSON string, unescaped as it is copied: the usual `data` of a Pusher event.
///
/// `{\"id\":1}` on the wire becomes `{"id":1}` in the line. White space other than the blank and
/// escaped controls are unusual.
enum EscapedQuotes: JSONQuotes {
  @inline(__always) static var areEscaped: Bool { true }
}

extension JSONQuotes {
  @inline(__always) static var width: Int { areEscaped ? 2 : 1 }
  @inline(__always) static var firstByte: UInt8 { areEscaped ? 0x5C : 0x22 }

  /// Reports whether a quote stands `distance` bytes further on.
  @inline(__always) static func stand(_ cursor: FusedCursor, _ distance: Int) -> Bool {
    areEscaped ? cursor.word16(distance) == 0x225C : cursor.peek(distance) == 0x22
  }

  /// Reports whether a quote and a colon stand here.
  @inline(__always) static func endName(_ cursor: FusedCursor) -> Bool {
    areEscaped ? cursor.word32() & 0xFF_FFFF == 0x3A225C : cursor.word16() == 0x3A22
  }

  /// Reports whether `byte` may follow the outermost value.
  @inline(__always) static func isEnd(_ byte: UInt8) -> Bool { !areEscaped || byte == 0x22 }

  @inline(__always) static func skipBlanks(_ cursor: inout FusedCursor) {
    while cursor.byte == 0x20
      || !areEscaped && (cursor.byte == 0x0A || cursor.byte == 0x0D || cursor.byte == 0x09)
    { cursor.skip(1) }
  }

  @inline(__always) static func skipQuote(_ cursor: inout FusedCursor) -> Bool {
    guard stand(cursor, 0) else { return false }
    cursor.skip(width)
    return true
  }

  /// Copies a string after its opening quote.
  static func copyStringRest(_ cursor: inout FusedCursor) -> Bool {
    areEscaped ? cursor.copyEscapedString() : cursor.copyPlainString()
  }
}

extension FusedCursor {
  /// Copies all of `text` with `body`; `false` if that fails or stops short.
  ///
  /// The output must have room for `text` and 32 bytes more.
  @inline(__always) static func copy(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>, _ body: (inout FusedCursor) -> Bool
  ) -> Bool {
    unsafe text.withNUL { behind in
      var cursor = unsafe FusedCursor(input: text.base, output: end)
      guard body(&cursor), unsafe cursor.input == behind else { return false }
      unsafe end = cursor.output
      return true
    }
  }

  fileprivate mutating func copyPlainString() -> Bool {
    while true {
      if copyPlainRun() { continue }
      if byte == 0x22 {
        put(0x22)
        skip(1)
        return true
      }
      guard byte == 0x5C, copyPlainEscape() else { return false }
    }
  }

  @inline(__always) private mutating func copyPlainEscape() -> Bool {
    switch peek(1) {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74:
      copyShort(2)
      return true
    case 0x75: return copyUnicodeEscape(width: 1)
    default: return false
    }
  }

  /// Copies the rest of a string whose quotes are written `\"`.
  fileprivate mutating func copyEscapedString() -> Bool {
    while true {
      copyUnescaped()
      let pair = word16()
      if pair == 0x225C {
        skip(2)
        put(0x22)
        return true
      }
      if pair == 0x5C5C {
        guard copyInnerEscape() else { return false }
      } else if pair == 0x2F5C {
        skip(2)
        put(0x2F)
      } else {
        return false
      }
    }
  }

  /// Copies an escape of the inner string, which begins with two backslashes.
  @inline(__always) private mutating func copyInnerEscape() -> Bool {
    let letter = peek(2)
    switch letter {
    case 0x5C:
      // \\\" and \\\\ and \\\/ : the escaped character is itself escaped in the outer string.
      let escaped = peek(3)
      guard escaped == 0x22 || escaped == 0x5C || escaped == 0x2F else { return false }
      putEscape(escaped)
      skip(4)
      return true
    case 0x6E, 0x74, 0x72, 0x62, 0x66, 0x2F:
      putEscape(letter)
      skip(3)
      return true
    case 0x75: return copyUnicodeEscape(width: 2)
    default: return false
    }
  }

  /// Copies up to the closing quote and stops there; resolves the escapes `\"`, `\\` and `\/`.
  ///
  /// Returns `false` at any other escape, and at a control. The position is after an opening quote.
  ///
  /// The end of the text comes from a block's bits, which do not wait for earlier escapes: a load
  /// at each escape's end would. A backslash is left out, and the letter after it begins the next
  /// run. The promises of ``FusedCursor`` hold:
  /// 1. A block begins at or before the NUL, because the NUL's bit ends the text and no block
  ///    follows. So its 64 bytes end with the padding at the latest. Bits after the NUL are never
  ///    used.
  /// 2. A run's copy begins at or before the NUL. It loads 32 bytes at a time: the first load
  ///    begins at the run's end at the latest, all others before it.
  /// 3. So a store ends at most 32 bytes after the kept bytes, which are no longer than the input.
  @inline(__always) mutating func copyUnescapedText() -> Bool {
    var block = unsafe input
    // Bit of a block's first byte, if an escape began in the block before.
    var letters: UInt64 = 0
    while true {
      var ends =
        unsafe UInt64(pusher_string_ends_32(block)) | UInt64(pusher_string_ends_32(block + 32))
        &<< 32
      ends &= ~letters
      while ends != 0 {
        let place = ends.trailingZeroBitCount
        unsafe copyRun(to: block + place)
        if word16() == 0x225C {
          // The bits of the backslash and, within the block, of the quote.
          ends &= ends &- 1
          ends &= ends &- 1
        } else {
          guard byte == 0x5C else { return byte == 0x22 }
          guard peek(1) == 0x5C || peek(1) == 0x2F else { return false }
          ends &= ~(3 &<< UInt64(place))
        }
        skip(1)
      }
      // Only a backslash in the block's last place leads to the start of the next block.
      letters = unsafe input == block + 64 ? 1 : 0
      unsafe block += 64
    }
  }

  @inline(__always) private mutating func copyRun(to end: UnsafePointer<UInt8>) {
    let count = unsafe end - input
    copyBlock(0)
    if count > 32 {
      var done = 32
      while done < count {
        copyBlock(done)
        done &+= 32
      }
    }
    unsafe input = end
    unsafe output += count
  }

  @inline(__always) private func copyBlock(_ distance: Int) {
    let block = unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: SIMD32<UInt8>.self)
    unsafe UnsafeMutableRawPointer(output + distance).storeBytes(of: block, as: SIMD32<UInt8>.self)
  }
}

extension JSONCompactor {
  /// Appends the one value in `view`, if it has a usual shape.
  ///
  /// Returns `false`, with nothing appended, if ``copy(_:into:depthLimit:forTerminal:)`` must
  /// decide. Changes the byte after the view for a moment.
  package static func copyPlain(
    _ view: ByteView, into output: ByteBuffer, joins: JoinMemory
  ) -> Bool {
    output.reserve(view.count &+ 32)
    let start = unsafe output.tail
    var end = unsafe start
    guard unsafe FusedCursor.copy(view, to: &end, { $0.copyPlainValue(joins) }) else {
      return false
    }
    output.commit(unsafe end - start)
    return true
  }
}
