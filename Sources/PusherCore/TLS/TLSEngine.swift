internal import CSystemOpenSSL

/// One TLS connection without a socket: ciphertext in, plaintext out, and the reverse.
///
/// The owner passes bytes to ``receive(ciphertext:)`` and calls ``handshake()`` until it returns
/// true. Then it reads and writes. After each call, even a failed one, it sends the bytes from
/// ``drain(into:)``, which may hold an alert. A failed engine repeats its error.
@safe package final class TLSEngine {
  package enum ReadResult: Equatable {
    case bytes(Int)
    case needsInput
    /// The other side closed properly (close_notify).
    case closed
  }

  let connection: OpaquePointer
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  let context: TLSContext
  let peerName: String?
  private var isEstablished = false
  private var failure: TLSError?
  /// First objection to the peer's certificate chain.
  var objection: TLSError?
  var wasAskedForCertificate = false

  /// True if a read or handshake needs bytes from the socket; else do not wait for the socket.
  package private(set) var needsInput = false

  /// Makes a connection of the context's role.
  ///
  /// A client accepts only a certificate for exactly `serverName`, a name or an address, unless the
  /// context is insecure. A server passes `nil`.
  package init(context: TLSContext, serverName: String? = nil) throws(TLSError) {
    OpenSSLErrors.clear()
    guard let connection = unsafe SSL_new(context.pointer) else { throw .lastFailure }
    guard let incoming = unsafe BIO_new(BIO_s_mem()), let outgoing = unsafe BIO_new(BIO_s_mem())
    else {
      unsafe SSL_free(connection)
      throw .lastFailure
    }
    // An empty incoming BIO means "not yet" until `inputEnded`.
    unsafe pusher_BIO_set_mem_eof_return(incoming, -1)
    unsafe SSL_set_bio(connection, incoming, outgoing)
    unsafe self.connection = connection
    unsafe self.incoming = incoming
    unsafe self.outgoing = outgoing
    self.context = context
    self.peerName = serverName
    if context.isServer {
      unsafe SSL_set_accept_state(connection)
    } else {
      unsafe SSL_set_connect_state(connection)
      try expectPeer()
    }
  }

  deinit { unsafe SSL_free(connection) }

  package func receive(ciphertext: ByteView) {
    guard !ciphertext.isEmpty else { return }
    var written = 0
    let result = unsafe BIO_write_ex(incoming, ciphertext.base, ciphertext.count, &written)
    precondition(result == 1 && written == ciphertext.count, "no memory for received ciphertext")
    needsInput = false
  }

  /// Marks the end of the network's input; reads then end as closed or with ``TLSError/cutShort``.
  package func inputEnded() {
    unsafe pusher_BIO_set_mem_eof_return(incoming, 0)
    needsInput = false
  }

  /// Continues the handshake; returns true when it is done, false if it needs more ciphertext.
  package func handshake() throws(TLSError) -> Bool {
    if let failure { throw failure }
    if isEstablished { return true }
    OpenSSLErrors.clear()
    let result = unsafe SSL_do_handshake(connection)
    if result == 1 {
      do throws(TLSError) {
        try checkPins()
      } catch {
        throw fail(error)
      }
      isEstablished = true
      return true
    }
    // WANT_READ, or SSL and SYSCALL for failures; memory BIOs never want to write.
    guard unsafe SSL_get_error(connection, result) != SSL_ERROR_WANT_READ else {
      needsInput = true
      return false
    }
    throw fail(handshakeError())
  }

  /// Appends at most `atMost` bytes of plaintext to `buffer`; an error comes with the next call.
  package func read(into buffer: ByteBuffer, atMost: Int) throws(TLSError) -> ReadResult {
    if let failure { throw failure }
    precondition(isEstablished && atMost > 0, "read before the handshake was done")
    // Plaintext is never longer than its ciphertext; one record may wait inside OpenSSL.
    let expected = unsafe BIO_ctrl_pending(incoming) + 16_384
    buffer.reserve(min(atMost, expected))
    let room = min(atMost, buffer.writable)
    var total = 0
    // Once for all records: a successful read leaves no entry.
    OpenSSLErrors.clear()
    while total < room {
      var count = 0
      let result = unsafe SSL_read_ex(connection, buffer.tail, room - total, &count)
      guard result == 1 else { return try readStopped(result, after: total) }
      buffer.commit(count)
      total += count
    }
    return .bytes(total)
  }

  private func readStopped(_ result: Int32, after total: Int) throws(TLSError) -> ReadResult {
    switch unsafe SSL_get_error(connection, result) {
    case SSL_ERROR_WANT_READ:
      needsInput = true
      return total > 0 ? .bytes(total) : .needsInput
    case SSL_ERROR_ZERO_RETURN: return total > 0 ? .bytes(total) : .closed
    case let code:
      let error = fail(streamError(code))
      if total > 0 { return .bytes(total) }
      throw error
    }
  }

  package func write(plaintext: ByteView) throws(TLSError) {
    if let failure { throw failure }
    precondition(isEstablished, "write before the handshake was done")
    var done = 0
    while done < plaintext.count {
      var count = 0
      OpenSSLErrors.clear()
      let result = unsafe SSL_write_ex(
        connection, plaintext.base + done, plaintext.count - done, &count)
      guard result == 1 else { throw fail(streamError(unsafe SSL_get_error(connection, result))) }
      done += count
    }
  }

  package func drain(into buffer: ByteBuffer) {
    let pending = unsafe BIO_ctrl_pending(outgoing)
    guard pending > 0 else { return }
    buffer.reserve(pending)
    var count = 0
    let result = unsafe BIO_read_ex(outgoing, buffer.tail, pending, &count)
    precondition(result == 1, "cannot read from the memory BIO")
    buffer.commit(count)
  }

  /// Queues the closing alert (close_notify) if the connection works.
  package func shutdown() {
    guard isEstablished && failure == nil else { return }
    OpenSSLErrors.clear()
    _ = unsafe SSL_shutdown(connection)
  }

  private func fail(_ error: TLSError) -> TLSError {
    failure = error
    needsInput = false
    return error
  }

  private func handshakeError() -> TLSError {
    let entries = OpenSSLErrors.drain()
    if let objection { return objection }
    guard let cause = entries.first, !isUnexpectedEnd(cause) else {
      return .handshakeClosed(reason: "the other side closed the connection")
    }
    if let refusal = refusalOfCertificate(cause) { return refusal }
    let words = OpenSSLErrors.words(for: cause)
    return OpenSSLErrors.isForeign(cause) ? .notTLS(reason: words) : .handshake(reason: words)
  }

  private func streamError(_ code: Int32) -> TLSError {
    guard let cause = OpenSSLErrors.drain().first else {
      // OpenSSL before 3.0 reports an end without close_notify as SYSCALL with an empty queue.
      return code == SSL_ERROR_SYSCALL ? .cutShort : .connection(reason: "error \(code)")
    }
    if let refusal = refusalOfCertificate(cause) { return refusal }
    return isUnexpectedEnd(cause) ? .cutShort : .connection(reason: OpenSSLErrors.words(for: cause))
  }

  private func isUnexpectedEnd(_ entry: OpenSSLErrors.Entry) -> Bool {
    entry.library == ERR_LIB_SSL && entry.reason == SSL_R_UNEXPECTED_EOF_WHILE_READING
  }
}
