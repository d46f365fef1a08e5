extension SocketStream {
  /// Appends at most `atMost` bytes to `buffer`.
  ///
  /// An error closes the stream. A TLS stream without a closing alert throws ``TLSError/cutShort``.
  package func read(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> ReadResult {
    guard case .open = state else { return .end }
    do throws(TransportError) {
      let result: ReadResult
      if let engine {
        // Bytes left inside TLS change the interest.
        loop.tell(self)
        result = try readSecure(engine, into: buffer, atMost: atMost)
      } else {
        result = try readPlain(into: buffer, atMost: atMost)
      }
      if result == .end, let outputFailure { throw outputFailure }
      return result
    } catch {
      release()
      throw error
    }
  }

  private func readPlain(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> ReadResult
  {
    if input != .open { return .end }
    guard let count = try receive(into: buffer, atMost: atMost) else { return .wouldBlock }
    if count == 0 { input = .over }
    return count == 0 ? .end : .bytes(count)
  }

  private func readSecure(_ engine: TLSEngine, into buffer: ByteBuffer, atMost: Int)
    throws(TransportError) -> ReadResult
  {
    while true {
      let result: TLSEngine.ReadResult
      do throws(TLSError) {
        result = try engine.read(into: buffer, atMost: atMost)
      } catch {
        // `release` sends the alert for the broken record.
        engine.drain(into: outgoing)
        throw .tls(error)
      }
      switch result {
      case .bytes(let count):
        try answerKeyUpdate(engine)
        return .bytes(count)
      case .closed:
        input = .read
        return .end
      case .needsInput:
        try answerKeyUpdate(engine)
        guard try fill(engine, atMost: atMost) else { return .wouldBlock }
      }
    }
  }

  /// Maximum size of TLS's own waiting answers, in bytes; the caller's output is far below.
  private static let answerLimit = 256 << 10

  /// Sends TLS's own answers (RFC 8446 section 4.6.3), with a limit: a peer that never reads must
  /// not fill the memory.
  private func answerKeyUpdate(_ engine: TLSEngine) throws(TransportError) {
    engine.drain(into: outgoing)
    guard !outgoing.isEmpty else { return }
    try flush()
    guard outgoing.count <= Self.answerLimit else {
      throw .tls(
        .connection(
          reason: "the other side asks for new keys, but reads no answers; more than "
            + "\(Self.answerLimit >> 10) KiB of them wait"))
    }
  }

  func fill(_ engine: TLSEngine, atMost: Int) throws(TransportError) -> Bool {
    // At least one record with its frame, so that one read gives bytes to decrypt.
    let wanted = min(max(atMost, 18_432), 262_144)
    guard let count = try receive(into: loop.scratch, atMost: wanted) else { return false }
    if count == 0 {
      input = .over
      engine.inputEnded()
    } else {
      engine.receive(ciphertext: loop.scratch.view)
      loop.scratch.consume(count)
    }
    return true
  }

  /// Reads early bytes, else from the socket; returns 0 at its end, `nil` without bytes now.
  func receive(into buffer: ByteBuffer, atMost: Int) throws(TransportError) -> Int? {
    if let early {
      let count = min(early.count, atMost)
      buffer.append(early.view[0..<count])
      early.consume(count)
      if early.isEmpty { self.early = nil }
      return count
    }
    var wouldBlock = false
    do throws(SystemError) {
      let count = try unsafe buffer.write(minimum: atMost) {
        (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: free[..<atMost])
        guard let count = try unsafe Syscalls.receiveBytes(descriptor, target) else {
          wouldBlock = true
          return 0
        }
        return count
      }
      return wouldBlock ? nil : count
    } catch { throw .reset(reason: error.description) }
  }

  /// Sends the front of `buffer`; leaves the bytes that the socket does not take.
  ///
  /// After these, ``SocketStreamDelegate/streamWritable(_:at:)`` follows. An error closes the
  /// stream.
  package func write(from buffer: ByteBuffer) throws(TransportError) {
    guard case .open = state else { return }
    guard outputFailure == nil else { return buffer.removeAll() }
    do throws(TransportError) {
      if let engine {
        loop.tell(self)
        try writeSecure(engine, from: buffer)
      } else {
        try send(buffer)
      }
      callerHasMore = !buffer.isEmpty
    } catch {
      if outlives(error) { return buffer.removeAll() }
      release()
      throw error
    }
  }

  /// Records a failed write; returns true if the stream stays open for reading.
  func outlives(_ error: TransportError) -> Bool {
    guard readsOnWhenBroken, input == .open else { return false }
    outputFailure = error
    outgoing.removeAll()
    callerHasMore = false
    return true
  }

  private func writeSecure(_ engine: TLSEngine, from buffer: ByteBuffer) throws(TransportError) {
    try flush()
    while outgoing.isEmpty && !buffer.isEmpty {
      // A few records at a time: encrypted bytes cannot be taken back and are held twice.
      let count = min(buffer.count, 65_536)
      do throws(TLSError) {
        try engine.write(plaintext: buffer.view[0..<count])
      } catch {
        throw .tls(error)
      }
      buffer.consume(count)
      engine.drain(into: outgoing)
      try flush()
    }
  }

  func flush() throws(TransportError) { try send(outgoing) }

  private func send(_ buffer: ByteBuffer) throws(TransportError) {
    do throws(SystemError) {
      while !buffer.isEmpty {
        guard let count = unsafe try Syscalls.sendBytes(descriptor, buffer.view.raw) else { return }
        buffer.consume(count)
      }
    } catch { throw .reset(reason: error.description) }
  }
}
