internal import PusherCore
internal import PusherPlatform

/// Standard process metrics from the system.
///
/// Values that a system cannot supply are left out. Source: Prometheus' page "Writing client
/// libraries", section "Process metrics".
enum ProcessMetrics {
  static func families(startedAt: WallTime) -> [MetricFamily] {
    var families = [
      MetricFamily(
        "process_start_time_seconds", "Start time of the process, in seconds since 1970.",
        Duration.milliseconds(startedAt.millisecondsSince1970)),
      MetricFamily(
        "process_cpu_seconds_total", "User and system CPU time, in seconds.", cpuTime),
    ]
    if let bytes = pages?.resident {
      families.append(
        MetricFamily(
          "process_resident_memory_bytes", "Resident memory of the process, in bytes.",
          bytes))
    }
    if let count = openDescriptors {
      families.append(
        MetricFamily(
          "process_open_fds", "Open file descriptors, including sockets and pipes.", count))
    }
    return families
  }

  /// User and system time of all threads.
  static var cpuTime: Duration {
    var usage = rusage()
    #if canImport(Glibc)
      let subject = __rusage_who_t(RUSAGE_SELF.rawValue)
    #else
      let subject = RUSAGE_SELF
    #endif
    guard unsafe getrusage(subject, &usage) == 0 else { return .zero }
    return [usage.ru_utime, usage.ru_stime].reduce(.zero) {
      $0 + .seconds(Int($1.tv_sec)) + .microseconds(Int($1.tv_usec))
    }
  }

  /// Resident memory without files such as the program's code, of which a new process has no page.
  static var privateBytes: Int? { pages.map { $0.resident - $0.ofFiles } }

  /// The second and the third number of `/proc/self/statm`, in bytes; see proc(5).
  private static var pages: (resident: Int, ofFiles: Int)? {
    guard case .success(let bytes) = FileAccess.system.contents("/proc/self/statm", 1024) else {
      return nil
    }
    let words = bytes.split(separator: UInt8(ascii: " "))
    guard words.count > 2, let resident = Int(String(decoding: words[1], as: UTF8.self)),
      let ofFiles = Int(String(decoding: words[2], as: UTF8.self))
    else { return nil }
    let size = Int(sysconf(Int32(_SC_PAGESIZE)))
    return (resident * size, ofFiles * size)
  }

  private static var openDescriptors: Int? {
    guard let folder = unsafe opendir("/proc/self/fd") else { return nil }
    defer { unsafe closedir(folder) }
    var count = 0
    while let entry = unsafe readdir(folder) {
      if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    // Do not count the folder itself.
    return count - 1
  }
}
