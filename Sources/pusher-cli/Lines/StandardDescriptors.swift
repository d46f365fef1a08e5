#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Descriptors 0, 1 and 2, none of which may be free: the next file or socket would take its number.
enum StandardDescriptors {
  /// Fills those that are closed with something that can neither be read nor written as they are.
  ///
  /// So a closed standard output still is an error, and messages to a closed standard error reach no socket.
  static func fill() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 {
      // The lowest free number is the one that is looked for; those before it are taken by now.
      _ = unsafe open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}
