internal import PusherCore
internal import PusherLines

/// Prints events: each has one canonical line, and every output takes that line.
///
/// The line is made in the output itself if that shows it unchanged.
final class Printer {
  let output: ByteBuffer
  private let maker: LineMaker
  private let lines: ByteBuffer
  private let form: EventForm
  private let style: EventLineStyle
  private let template: TemplateText?
  let field: FieldText?
  let pretty: PrettyText?
  /// The output of `--record`, and the time at the beginning of its lines.
  private let record: ByteBuffer?
  private let recordTime = LeadingMembers()
  /// Gets the events of `--exec` or `--forward`.
  private let receiver: (any EventReceiver)?
  /// The files of `--output-file` by name.
  private let files: NamedFiles?
  /// False if only the receiver gets events.
  let printsEvents: Bool
  /// The events by their names, for `--summary`.
  let tally: NameCounts?
  /// The events by their channels.
  let channelCounts: NameCounts?
  let filter: FilterMemory?
  /// The filter, unless events that it rejects have an effect too.
  private let fastFilter: FilterMemory?
  private let conditions: WhereFilter?
  private let ending: FilterMemory?
  private let untilData: DataPattern?
  private let failing: FilterMemory?
  /// Each is a condition of `--fail-where`.
  private let failConditions: [WhereFilter]
  /// True if events that the filter rejects have an effect too.
  private let seesEveryEvent: Bool
  /// True if the line in the output, a filter, `--where` and a count are all there is.
  private let isPlain: Bool
  /// True if that holds and there is no `--where`, so every written line stays.
  private let keepsEveryLine: Bool
  private let showsTime: Bool
  private let limit: Int
  /// Maximum size of waiting output, in bytes.
  let capacity: Int
  /// Size above which output is written before the burst ends, in bytes.
  private let burstSize: Int
  private let wallTime: () -> WallTime
  /// Returns the current width of the terminal, which may change.
  private let columns: () -> Int?
  /// Time of all events of a burst.
  private var burstTime: WallTime?
  /// True after the first shown event of a burst.
  private var hasBegunBurst = false
  private(set) var count = 0
  /// Number of events that `-e`, `-x` or `--where` left out.
  private(set) var rejected = 0
  /// Number of those that only `--where` left out.
  private(set) var unmet = 0
  /// Switched off for runs that need every message, and when no event is printed any more.
  var usesFastWay = true
  private(set) var fallbacks = 0
  private(set) var isStopped = false
  private(set) var hasMetEnd = false { didSet { isOver = true } }
  /// The event of `--fail-event` or `--fail-where` that came, in words.
  private(set) var failure: (words: String, option: Flag)? { didSet { isOver = true } }
  /// True after the event of an end or of a failure.
  private var isOver = false { didSet { usesFastWay = false } }

  /// - Parameter service: `nil` for an event stream.
  init(
    settings: PrintSettings, service: PusherService? = nil, output: ByteBuffer,
    files: NamedFiles? = nil, isTerminal: Bool, receiver: (any EventReceiver)? = nil,
    record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil }, wallTime: @escaping () -> WallTime
  ) {
    let form = settings.form
    let style = EventLineStyle(
      terminator: form.terminator, forTerminal: isTerminal,
      palette: form.color.isOn(forTerminal: isTerminal) ? .standard : nil)
    (self.output, self.form, self.style) = (output, form, style)
    (self.record, self.receiver, self.files) = (record, receiver, files)
    (self.wallTime, self.columns) = (wallTime, columns)
    printsEvents = receiver == nil || settings.printsEvents
    let isJSON = form.output == .json && form.template == nil && form.field == nil
    let isMadeInPlace = isJSON && style.isPlain && printsEvents
    lines = isMadeInPlace ? output : ByteBuffer(capacity: 4096)
    maker = LineMaker(output: lines, service: service, terminator: form.terminator)
    template = form.template.map { TemplateText($0, output: output, style: style) }
    field = form.field.map {
      FieldText($0, joins: form.joinsFields, last: form.lastField, output: output, style: style)
    }
    let isPretty = form.output == .pretty && form.template == nil && form.field == nil
    pretty =
      isPretty ? PrettyText(output: output, style: style, isUnicode: form.page.isUnicode) : nil
    tally = settings.printsSummary ? NameCounts(limit: 1000) : nil
    // No known server allows longer names of channels.
    channelCounts =
      settings.countsChannels ? NameCounts(limit: 100, longest: 256, others: "(other)") : nil
    let filter = EventFilter(include: settings.includedEvents, exclude: settings.excludedEvents)
    self.filter = filter.passesAll ? nil : FilterMemory(filter)
    func awaited(_ names: [String]) -> FilterMemory? {
      names.isEmpty ? nil : FilterMemory(EventFilter(include: names))
    }
    (ending, failing) = (awaited(settings.untilEvents), awaited(settings.failEvents))
    untilData = settings.untilData
    conditions = WhereFilter(settings.conditions)
    failConditions = settings.failConditions.compactMap { WhereFilter([$0]) }
    seesEveryEvent =
      record != nil || ending != nil || failing != nil || !failConditions.isEmpty
    fastFilter = seesEveryEvent ? nil : self.filter
    isPlain =
      isMadeInPlace && !seesEveryEvent && receiver == nil && tally == nil && channelCounts == nil
      && files == nil
    keepsEveryLine = isPlain && conditions == nil
    showsTime =
      form.hasTimestamps || isPretty || form.template?.usesTime == true || receiver != nil
      || record != nil
    limit = settings.count ?? .max
    capacity = settings.bufferSize
    burstSize = min(settings.bufferSize, OutputQueue.softLimit)
  }

  /// Stops printing; joined fields get their line end.
  func stop() {
    isStopped = true
    usesFastWay = false
    field?.end()
  }

  var isDone: Bool { isOver || count >= limit }
  var isFull: Bool { output.count >= capacity }

  /// True if enough output waits for an early write: one compressed read can expand forty times.
  ///
  /// More output would leave the processor's caches before it is written.
  var hasFullBurst: Bool { output.count >= burstSize || (record?.count ?? 0) >= burstSize }

  /// Ends the burst: the next event gets a new time.
  func endBurst() {
    burstTime = nil
    hasBegunBurst = false
  }

  // MARK: The ways to a line

  /// Prints any message, under `name` if given; a foreign name that looks like ours is marked.
  func print(_ envelope: Envelope, named given: String? = nil) {
    let name = given ?? ForeignEventName.marked(token: envelope.eventToken)
    if isRefused({ $0.passes(name ?? envelope.eventName) }) { return }
    let start = begin()
    maker.write(envelope, named: name)
    take(
      from: start, size: { envelope.byteCount }, source: { envelope.dataText },
      isNews: given != nil)
  }

  func print(repaired event: Envelope) {
    maker.marksRepaired = true
    print(event)
    maker.marksRepaired = false
  }

  /// Prints a lifecycle or watchlist event; `members` is the current number of members, if known.
  func print(event: String, channel: String?, data: JSONValue, members: Int? = nil) {
    if isRefused({ $0.passes(event) }) { return }
    let start = begin()
    maker.write(event: event, channel: channel, data: data)
    take(
      from: start, size: { JSONWriter.text(data).utf8.count }, source: { Self.text(of: data) },
      isNews: true, members: members)
  }

  func print(_ event: EventStreamEvent) {
    guard ForeignEventName.needsMark(event.type) else { return printNamed(event) }
    let type = ByteBuffer()
    type.append(ForeignEventName.mark)
    type.append(event.type)
    withExtendedLifetime(type) { printNamed(event.named(type.view)) }
  }

  @inline(__always) private func printNamed(_ event: EventStreamEvent) {
    if let untilData, untilData.matches(event.data.text) {
      hasMetEnd = true
      return
    }
    if isRefused({ $0.passes(event.type) }) { return }
    let start = begin()
    maker.write(event)
    take(from: start, size: { event.data.count }, source: { event.data.text })
  }

  @inline(__always) private func isRefused(_ passes: (FilterMemory) -> Bool) -> Bool {
    guard let fastFilter, !passes(fastFilter) else { return false }
    rejected &+= 1
    return true
  }

  /// Returns where the next line begins.
  @inline(__always) private func begin() -> Int {
    setTime()
    return lines.count
  }

  @inline(__always) private func setTime() { if showsTime, burstTime == nil { stamp() } }

  private func stamp() {
    let time = wallTime()
    burstTime = time
    if form.hasTimestamps { maker.setReceivedAt(time.rfc3339) }
    if record != nil { recordTime.set("received_at", time.rfc3339) }
  }

  // MARK: What takes the line

  /// Filters and counts the event whose line begins at `start`, and hands the line on.
  ///
  /// - Parameters:
  ///   - size: Size of the message or data, in bytes.
  ///   - source: The data as it came, or `nil` without data.
  ///   - isNews: True for changes of channels and members, which `-o pretty` tells in a sentence.
  @inline(__always) private func take(
    from start: Int, size: () -> Int, source: () -> String?, isNews: Bool = false,
    members: Int? = nil
  ) {
    guard isPlain else { return takeFully(from: start, size, source, isNews, members) }
    if let conditions, !conditions.passes(EventLine(lines.view(from: start))) {
      lines.truncate(to: start)
      return noteUnmet()
    }
    count &+= 1
  }

  @inline(never) private func takeFully(
    from start: Int, _ size: () -> Int, _ source: () -> String?, _ isNews: Bool, _ members: Int?
  ) {
    let line = EventLine(lines.view(from: start))
    var isShown = false
    defer { if !isShown { drop(from: start) } }
    let failure = seesEveryEvent ? failureOption(line) : nil
    if failure == nil, let ending, line.passes(ending) { hasMetEnd = true }
    if let record { write(line, to: record) }
    if let failure {
      let words = "the server sent '\(line.name)'" + (source().map { ": \($0)" } ?? "")
      self.failure = (words, failure)
      return
    }
    if seesEveryEvent, let filter, !line.passes(filter) {
      rejected &+= 1
      return
    }
    if let conditions, !conditions.passes(line) { return noteUnmet() }
    if let field, !field.find(in: line.data, source: source) { return }
    count &+= 1
    if let tally { tally.note(line.event, bytes: size()) }
    if let channelCounts, let channel = line.channel { channelCounts.note(channel, bytes: size()) }
    if printsEvents {
      isShown = lines === output
      if let field { field.write() } else { show(line, source, isNews, members) }
      assign(line)
    }
    if let receiver { receiver.take(handed(line)) }
  }

  /// Removes a line that no longer counts, or that the output has taken in another form.
  private func drop(from start: Int) {
    if lines === output { lines.truncate(to: start) } else { lines.removeAll() }
  }

  /// Returns the option that makes this event a failure.
  private func failureOption(_ line: borrowing EventLine) -> Flag? {
    if let failing, line.passes(failing) { return .failEvent }
    return failConditions.contains { $0.passes(line) } ? .failWhere : nil
  }

  private func noteUnmet() {
    rejected &+= 1
    unmet &+= 1
  }

  /// A line of `--record` always has its time.
  private func write(_ line: borrowing EventLine, to record: ByteBuffer) {
    if form.hasTimestamps {
      record.append(line.text)
    } else {
      recordTime.begin(record)
      record.append(line.text[1..<line.text.count])
    }
    record.append(UInt8(ascii: "\n"))
  }

  private func handed(_ line: borrowing EventLine) -> HandedEvent {
    HandedEvent(
      line: line.text.array + [UInt8(ascii: "\n")], name: line.name,
      channel: line.channel.map(JSONString.decode), userID: line.userID.map(JSONString.decode),
      id: line.id.map(JSONString.decode) ?? (line.hasChannel ? nil : ""),
      receivedAt: burstTime?.rfc3339 ?? "")
  }

  private func show(
    _ line: borrowing EventLine, _ source: () -> String?, _ isNews: Bool, _ members: Int?
  ) {
    beginShowing()
    if let template { return template.write(line, number: count, source: source) }
    switch form.output {
    case .json: if lines !== output { style.write(line, to: output) }
    case .pretty: pretty?.write(line, isNews: isNews, members: members)
    case .raw: line.writeRaw(to: output, style)
    }
  }

  private func beginShowing() {
    guard !hasBegunBurst, let burstTime else { return }
    hasBegunBurst = true
    template?.begin(at: burstTime, local: burstTime.localText)
    pretty?.begin(at: burstTime.localText, columns: columns() ?? form.page.columns)
  }

  /// Prints a lifecycle line, which is neither counted nor filtered.
  func printLifecycle(event: String, channel: String?, data: JSONValue) {
    let start = begin()
    maker.write(event: event, channel: channel, data: data)
    let line = EventLine(lines.view(from: start))
    show(line, { Self.text(of: data) }, true, nil)
    assign(line)
    if lines !== output { drop(from: start) }
  }

  /// Assigns what was printed for a line to its file.
  private func assign(_ line: borrowing EventLine) {
    files?.assign(
      channel: line.channel.map(JSONString.decode), event: line.name, size: output.count)
  }

  /// Prints a gap: `pretty` always shows it, other formats with `--lifecycle`.
  func printGap(
    _ length: String, _ consequence: String, event: String, channel: String?, data: JSONValue,
    isAsked: Bool
  ) {
    guard let pretty else {
      if isAsked { printLifecycle(event: event, channel: channel, data: data) }
      return
    }
    guard printsEvents || isAsked else { return }
    _ = begin()
    beginShowing()
    pretty.write(gap: length, consequence: consequence)
    files?.assign(channel: channel, event: event, size: output.count)
  }

  static func text(of data: JSONValue) -> String {
    if case .string(let text) = data { return text }
    return JSONWriter.text(data)
  }
}

extension Printer: EventSink {
  func take(message: ByteView) -> SinkVerdict {
    guard usesFastWay, count < limit else { return .declined }
    setTime()
    let start = keepsEveryLine ? 0 : lines.count
    switch maker.writeFast(message, filter: fastFilter) {
    case .written where keepsEveryLine:
      count &+= 1
      return count >= limit || output.count >= burstSize ? .takenAndFull : .taken
    case .written:
      take(
        from: start, size: { message.count }, source: { (try? Envelope(message))?.dataText })
      return isDone || hasFullBurst || receiver?.isFull == true ? .takenAndFull : .taken
    case .filtered:
      rejected &+= 1
      return .taken
    case .unusual:
      fallbacks &+= 1
      return .declined
    }
  }
}

extension ByteBuffer {
  /// The bytes after the first `count`.
  fileprivate func view(from count: Int) -> ByteView {
    let all = view
    return all[count..<all.count]
  }
}

struct HandedEvent: Equatable, Sendable {
  /// The JSON line, with its newline.
  var line: [UInt8] = []
  var name: String
  var channel: String?
  var userID: String?
  var id: String?
  var receivedAt = ""

  /// Events of the same lane keep their order.
  var lane: String { channel ?? (id == nil ? "" : name) }
}

protocol EventReceiver: AnyObject {
  var isFull: Bool { get }
  func take(_ event: HandedEvent)
}
