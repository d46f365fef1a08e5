package import PusherCore

/// Text of every message that a server sends.
///
/// `data` is a string that holds JSON, except in errors, as Pusher does. The defaults of the parts
/// that differ between servers are Pusher's. Source: the protocol page.
package struct MessageText: Sendable {
  var service = PusherService.pusher
  /// Names of protocol V2, for the clients that ask for it; `nil` if the server does not speak it.
  var v2Service: PusherService? = .sockudo
  var embedsErrors = false
  var pingData: JSONValue? = .string("{}")
  var pongData: JSONValue? = .string("{}")
  /// Data of the answer to a subscription without members.
  var subscriptionData: JSONValue? = .string("{}")
  var returnsSignature = false
  /// Omits members without information from `hash`, instead of writing `null`.
  var omitsMissingInfo = false
  var explainsRefusals = true

  package func connectionEstablished(socketID: String, activityTimeout: Duration) -> String {
    let seconds = Int(activityTimeout.components.seconds)
    let data: JSONValue = ["socket_id": .string(socketID), "activity_timeout": .integer(seconds)]
    return message(service.eventPrefix + "connection_established", data: embedded(data))
  }

  /// `code` is `null` for refusals without a Pusher code; `channel` names the refused channel.
  package func error(code: PusherCode?, message text: String, channel: String? = nil) -> String {
    let data: JSONValue = [
      "code": code.map { .integer($0.rawValue) } ?? .null, "message": .string(text),
    ]
    return embedsErrors
      ? message(service.eventPrefix + "error", data: embedded(data))
      : message(service.eventPrefix + "error", channel: channel, data: data)
  }

  /// Answer to a refused subscription, on servers that do not send an error.
  func subscriptionError(channel: String, data: JSONValue) -> String {
    message(service.eventPrefix + "subscription_error", channel: channel, data: data)
  }

  package var ping: String { message(service.eventPrefix + "ping", data: pingData) }
  package var pong: String { message(service.eventPrefix + "pong", data: pongData) }

  package func subscriptionSucceeded(channel: String, members: MemberList?) -> String {
    let name = service.internalPrefix + "subscription_succeeded"
    guard let members else { return message(name, channel: channel, data: subscriptionData) }
    let presence = members.embeddedText(omitsMissingInfo: omitsMissingInfo)
    let start = Substring(message(name, channel: channel, data: nil).utf8.dropLast())
    return #"\#(start),"data":"{\"presence\":\#(presence)}"}"#
  }

  /// JSON as text inside a JSON string.
  static func embedded(_ json: String) -> String {
    String(Substring(JSONWriter.text(.string(json)).utf8.dropFirst().dropLast()))
  }

  package func memberAdded(channel: String, member: Member) -> String {
    told(
      "member_added", channel, .object(present: ["user_id": member.id, "user_info": member.info]))
  }

  package func memberRemoved(channel: String, userID: JSONValue) -> String {
    told("member_removed", channel, ["user_id": userID])
  }

  /// Sends `data` unchanged; `userID` is the sending client's, on presence channels.
  package static func event(
    name: String, channel: String?, data: JSONValue?, userID: JSONValue? = nil
  ) -> String {
    JSONWriter.text(
      .object(present: [
        "event": .string(name), "channel": channel.map(JSONValue.string), "data": data,
        "user_id": userID,
      ]))
  }

  package func signInSuccess(userData: String, auth: String) -> String {
    let data = JSONValue.object(texts: [
      "auth": returnsSignature ? auth : nil, "user_data": userData,
    ])
    return message(service.eventPrefix + "signin_success", data: data)
  }

  package func watchlist(online: [String] = [], offline: [String] = []) -> String {
    let events = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }.map {
      ["name": .string($0.0), "user_ids": .array($0.1.map(JSONValue.string))] as JSONValue
    }
    return told("watchlist_events", nil, ["events": .array(events)])
  }

  package func cacheMiss(channel: String) -> String {
    message(service.eventPrefix + "cache_miss", channel: channel, data: nil)
  }

  package func subscriptionCount(channel: String, count: Int) -> String {
    told("subscription_count", channel, ["subscription_count": .integer(count)])
  }

  // MARK: Protocol V2

  /// The messages of protocol V2.
  var ofV2: MessageText { of(v2: true) }

  /// Returns the messages for a client that speaks protocol V2, or does not.
  func of(v2 speaksV2: Bool) -> MessageText {
    guard speaksV2, let v2Service else { return self }
    var text = self
    text.service = v2Service
    return text
  }

  /// Returns a message of this service for clients of V2: with its names, an event with its place.
  func v2(_ frame: SharedFrame) -> SharedFrame {
    let text = frame.text
    if let place = frame.place {
      return SharedFrame(
        Self.placed(text, place, id: place.messageID), channel: frame.channel, place: place)
    }
    let start = #"{"event":""# + service.internalPrefix
    guard frame.channel == nil, let v2Service, let rest = text.dropping(prefix: start) else {
      return frame
    }
    return SharedFrame(#"{"event":""# + v2Service.internalPrefix + rest)
  }

  /// Adds a place to the text of a message.
  static func placed(_ text: String, _ place: StreamPlace, id: String? = nil) -> String {
    let start = Substring(text.utf8.dropLast())
    let id = id.map { #""message_id":\#(JSONWriter.text(.string($0))),"# } ?? ""
    return #"\#(start),\#(id)"stream_id":\#(JSONWriter.text(.string(place.id))),"#
      + #""serial":\#(place.serial)}"#
  }

  func resumeFailed(_ data: JSONValue) -> String {
    message(service.eventPrefix + "resume_failed", data: embedded(data))
  }

  func resumeSuccess(_ resumption: Resumption) -> String {
    message(
      service.eventPrefix + "resume_success",
      data: embedded([
        "recovered": .array(resumption.recovered), "failed": .array(resumption.failed),
      ]))
  }

  func rewindComplete(channel: String, _ replay: StreamReplay) -> String {
    message(
      service.eventPrefix + "rewind_complete", channel: channel,
      data: embedded([
        "historical_count": .integer(replay.frames.count), "live_count": 0,
        "complete": .bool(!replay.isCutByLimit && !replay.isCutByRetention),
        "truncated_by_retention": .bool(replay.isCutByRetention),
        "truncated_by_limit": .bool(replay.isCutByLimit),
      ]))
  }

  private func embedded(_ data: JSONValue) -> JSONValue { .string(JSONWriter.text(data)) }

  /// Wraps an object in a string, as data of the server's own events.
  private func told(_ name: String, _ channel: String?, _ data: JSONValue) -> String {
    message(service.internalPrefix + name, channel: channel, data: embedded(data))
  }

  private func message(_ event: String, channel: String? = nil, data: JSONValue?) -> String {
    Self.event(name: event, channel: channel, data: data)
  }
}

/// A message as a WebSocket frame, encoded once for all recipients on any thread.
///
/// A large frame is compressed once for all clients that support it, without a shared window.
package final class SharedFrame: @unchecked Sendable {
  // Sendable because the buffer never changes and a lock protects the compressed frame.

  /// Minimum size for compression, in bytes; smaller messages fit into one packet anyway.
  package static let compressedFrom = 1024
  /// Window size that the client must support: the maximum, which is also the default.
  static let windowBits = 15

  /// Channel of the event; `nil` for messages of the protocol.
  let channel: String?
  /// Place of the event in its channel's stream, if that is kept.
  package let place: StreamPlace?
  private let buffer: ByteBuffer
  /// The compressed frame, if that is smaller, after its first use; `nil` for a small frame.
  private let compression: Locked<(isDone: Bool, frame: SharedFrame?)>?
  private static let deflater = Locked<Deflater?>(nil)

  package init(_ text: String, channel: String? = nil, place: StreamPlace? = nil) {
    (self.channel, self.place) = (channel, place)
    let count = text.utf8.count
    let payload = ByteBuffer(capacity: count)
    payload.append(text)
    buffer = ByteBuffer(capacity: count + 14)
    FrameEncoder.frame(.text, payload: payload.view, mask: nil, into: buffer)
    compression = count < Self.compressedFrom ? nil : Locked((false, nil))
  }

  /// Splits a message into two frames, inside the first multi-byte character if there is one.
  init(inTwoFragments text: String) {
    (channel, place) = (nil, nil)
    let bytes = Array(text.utf8)
    let cut = bytes.firstIndex { $0 >= 0xC0 }.map { $0 + 1 } ?? bytes.count / 2
    buffer = ByteBuffer(capacity: bytes.count + 28)
    FrameEncoder.frame(
      .text, payload: Array(bytes[..<cut]), isFinal: false, mask: nil, into: buffer)
    FrameEncoder.frame(.continuation, payload: Array(bytes[cut...]), mask: nil, into: buffer)
    compression = nil
  }

  private init(_ buffer: ByteBuffer) {
    self.buffer = buffer
    (channel, place, compression) = (nil, nil, nil)
  }

  package var view: ByteView { buffer.view }

  /// A large frame is compressed if that makes it smaller, for clients with permessage-deflate.
  package var smallestView: ByteView {
    guard let compression else { return view }
    let compressed = compression.withLock { state in
      if !state.isDone { state = (true, compress()) }
      return state.frame
    }
    return (compressed ?? self).view
  }

  /// Compresses the message on its own (RFC 7692 section 7.2.1); `nil` if that saves nothing.
  private func compress() -> SharedFrame? {
    guard let header = try? FrameHeader.decode(view) else { return nil }
    let output = ByteBuffer(capacity: view.count / 2)
    Self.deflater.withLock { deflater in
      let used = deflater ?? Deflater(windowBits: Self.windowBits)
      deflater = used
      let payload = ByteBuffer(capacity: view.count)
      used.deflate(view[header.size..<view.count], into: payload)
      used.reset()
      FrameEncoder.frame(.text, payload: payload.view, isCompressed: true, mask: nil, into: output)
    }
    return output.count < view.count ? SharedFrame(output) : nil
  }

  /// The message, if the buffer holds one frame.
  package var text: String {
    guard let header = try? FrameHeader.decode(view) else { return "" }
    return view[header.size..<view.count].text
  }
}
