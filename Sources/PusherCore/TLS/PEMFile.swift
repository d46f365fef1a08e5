internal import CSystemOpenSSL
internal import PusherPlatform

/// The text of a file with certificates or a key, in PEM form.
struct PEMFile {
  /// Maximum size, in bytes; a system's authorities take about 250 KB.
  static let largest = 16 << 20

  let path: String
  private let text: [UInt8]

  /// Takes the text that `kept` has for the path, else reads the file.
  ///
  /// Rejects files that have no end or wait for a writer: pipes, devices, huge files.
  init(_ path: String, kept: [String: [UInt8]]) throws(TLSError) {
    self.path = path
    if let text = kept[path] {
      self.text = text
      return
    }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw Self.failure(of: path) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure(of: path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .file(path: path, reason: "it is not a regular file")
    }
    guard status.st_size <= off_t(Self.largest) else { throw Self.tooLarge(path) }
    text = try Self.text(descriptor, path)
  }

  private static func tooLarge(_ path: String) -> TLSError {
    .file(path: path, reason: "it is larger than \(largest >> 20) MiB")
  }

  private static func failure(of path: String) -> TLSError {
    .file(path: path, reason: unsafe String(cString: strerror(errno)))
  }

  private static func text(_ descriptor: Int32, _ path: String) throws(TLSError) -> [UInt8] {
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe chunk.withUnsafeMutableBytes { free in
        unsafe read(descriptor, free.baseAddress, free.count)
      }
      if count == 0 { return text }
      if count > 0 { text += chunk[..<count] } else if errno != EINTR { throw failure(of: path) }
      // The file may grow while it is read.
      guard text.count <= largest else { throw tooLarge(path) }
    }
  }

  /// Passes each certificate to `use`, which returns false after a failure of OpenSSL.
  func withCertificates(_ use: (_ certificate: OpaquePointer) -> Bool) throws(TLSError) {
    try unsafe reading { (input: OpaquePointer) throws(TLSError) in
      var count = 0
      while let certificate = unsafe PEM_read_bio_X509_AUX(input, nil, nil, nil) {
        defer { unsafe X509_free(certificate) }
        guard unsafe use(certificate) else { throw .unusable(path) }
        count += 1
      }
      // The search for one more certificate fails at the end, with this reason.
      let end = ERR_peek_last_error()
      let isEnd = ERR_GET_LIB(end) == ERR_LIB_PEM && ERR_GET_REASON(end) == PEM_R_NO_START_LINE
      guard count > 0, isEnd else { throw .unusable(path) }
      OpenSSLErrors.clear()
    }
  }

  /// Passes the private key to `use`, which returns false after a failure of OpenSSL.
  func withKey(_ use: (_ key: OpaquePointer) -> Bool) throws(TLSError) {
    try unsafe reading { (input: OpaquePointer) throws(TLSError) in
      // Without a callback, OpenSSL would prompt for a passphrase on the terminal.
      let key = unsafe PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
      guard let key = unsafe key else { throw .unusable(path) }
      defer { unsafe EVP_PKEY_free(key) }
      guard unsafe use(key) else { throw .unusable(path) }
    }
  }

  private func reading(_ body: (OpaquePointer) throws(TLSError) -> Void) throws(TLSError) {
    OpenSSLErrors.clear()
    let result = unsafe text.withUnsafeBytes { bytes -> Result<Void, TLSError> in
      guard let input = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      else { return .failure(.lastFailure) }
      defer { unsafe BIO_free(input) }
      return Result { () throws(TLSError) in try unsafe body(input) }
    }
    try result.get()
  }
}
