import Foundation

/// The clock of a child program: it runs or stands still, and the test can advance it.
final class MovedClock {
  /// A preloaded library that replaces the system's clocks.
  static let library = SlowResolver.compile(
    """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <time.h>
    static int (*real)(clockid_t, struct timespec *);
    /* Nanoseconds ahead, and whether time stands still otherwise. */
    static volatile long long *state;
    static struct timespec first[16];
    static int is_known[16];
    __attribute__((constructor)) static void begin(void) {
      real = dlsym(RTLD_NEXT, "clock_gettime");
      const char *path = getenv("TEST_CLOCK");
      int file = path ? open(path, O_RDONLY) : -1;
      void *memory = file < 0 ? MAP_FAILED : mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) state = memory;
    }
    int clock_gettime(clockid_t id, struct timespec *time) {
      if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
      int code = real(id, time);
      if (code || !state) return code;
      if (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME) return code;
      if (state[1]) {
        if (!is_known[id]) first[id] = *time;
        is_known[id] = 1;
        *time = first[id];
      }
      long long ahead = state[0] + time->tv_nsec;
      time->tv_sec += ahead / 1000000000;
      time->tv_nsec = ahead % 1000000000;
      return 0;
    }

    """)

  private let path: String
  private let memory: UnsafeMutablePointer<Int64>

  /// - Parameter standsStill: Only ``move(_:)`` advances the time.
  init(standsStill: Bool = false) throws {
    path = TemporaryFolder.shared.file("clock")
    try Data(count: 16).write(to: URL(filePath: path))
    let file = open(path, O_RDWR)
    defer { close(file) }
    let place = mmap(nil, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard file >= 0, let place, place != MAP_FAILED else { throw Unexpected("no shared memory") }
    memory = place.bindMemory(to: Int64.self, capacity: 2)
    memory[1] = standsStill ? 1 : 0
  }

  deinit { munmap(memory, 16) }

  /// Returns the environment for the program.
  func environment(besides library: String? = nil) -> [String: String] {
    let libraries = [Self.library, library].compactMap { $0 }
    return ["LD_PRELOAD": libraries.joined(separator: ":"), "TEST_CLOCK": path]
  }

  /// Advances the clock in steps until the program ends.
  ///
  /// A step may come before the program reads its clock, and so before its deadline starts.
  func move(
    _ step: Duration, untilEndOf program: ChildProgram, readsOutput: Bool = true
  ) throws -> Ending {
    try waitFor("the program has ended") {
      move(step)
      return try? program.wait(within: .milliseconds(200), readsOutput: readsOutput)
    }
  }

  /// Advances the clock and waits for a later round of the program's loop; standard output stays
  /// unread.
  func move(_ time: Duration, seenBy program: ChildProgram) throws {
    move(time)
    try program.goRound(2)
  }

  /// Advances the clock; the program sees it at its next look.
  func move(_ time: Duration) {
    let (seconds, attoseconds) = time.components
    memory[0] += seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}

/// A wall clock that the test sets while a program runs, by faketime; the monotonic clock goes on.
final class SteppedClock {
  /// faketime's library; `nil` if it is not installed.
  static let library: String? = {
    let folders = try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
    return (folders ?? []).map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }.first {
      FileManager.default.fileExists(atPath: $0)
    }
  }()

  private let path = TemporaryFolder.shared.file("stepped-clock")

  init() throws { try set("+0") }

  func set(_ offset: String) throws {
    try offset.write(toFile: path, atomically: true, encoding: .utf8)
  }

  var environment: [String: String] {
    [
      "LD_PRELOAD": Self.library ?? "", "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
      "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    ]
  }
}
