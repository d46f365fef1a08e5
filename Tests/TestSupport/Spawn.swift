import Foundation

package struct SpawnRequest {
  package enum Descriptor {
    case nothing
    case closed
    /// A pipe to the test; only `ChildProgram` makes it.
    case pipe
    case file(String)
    case inherited(Int32)
  }

  /// A path, or a name of the search path.
  var executable: String
  var arguments: [String]
  var environment: [String: String]
  package var input: Descriptor
  package var output: Descriptor
  package var errors: Descriptor
  /// Descriptors for the child's 3, 4 and so on.
  package var handed: [Int32]
  /// A terminal for all three descriptors; the child leads its own session.
  package var terminal: String?
  /// True to start the child with all signals blocked.
  package var blocksSignals = false

  package init(
    executable: String, arguments: [String], environment: [String: String],
    input: Descriptor = .nothing, output: Descriptor = .nothing, errors: Descriptor = .nothing,
    handed: [Int32] = []
  ) {
    (self.executable, self.arguments, self.environment) = (executable, arguments, environment)
    (self.input, self.output, self.errors, self.handed) = (input, output, errors, handed)
  }
}

package struct SystemFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ call: String, _ code: Int32) { description = "\(call) failed with error \(code)" }
}

/// `posix_spawnp` with all settings of a shell.
///
/// Foundation's `Process` is not used: with some thousand open descriptors it reads beyond its list
/// of them, which can end the tests.
package enum Spawn {
  private typealias CloseFrom =
    @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt

  /// A glibc function that Swift does not export; `nil` if the system lacks it.
  private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np")
    .map { unsafeBitCast($0, to: CloseFrom.self) }

  /// Starts the child as leader of a process group, with no signal blocked unless it is asked for,
  /// and none ignored; returns its ID.
  package static func start(_ request: SpawnRequest) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let terminal = request.terminal {
      // The first terminal that a session leader opens becomes its controlling terminal.
      posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
    } else {
      let descriptors = [request.input, request.output, request.errors]
      for (number, descriptor) in descriptors.enumerated() {
        add(descriptor, as: Int32(number), to: &actions)
      }
    }
    // Copies the descriptors out of the way first, because 3 may be one of them.
    let copies = request.handed.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
    defer { for copy in copies { close(copy) } }
    for (number, copy) in zip(Int32(3)..., copies) {
      posix_spawn_file_actions_adddup2(&actions, copy, number)
    }
    // Keeps descriptors that another thread has just opened and not yet marked out of the child.
    if let closeFrom = Self.closeFrom { _ = closeFrom(&actions, 3 + Int32(copies.count)) }
    var attributes = attributes(of: request)
    defer { posix_spawnattr_destroy(&attributes) }
    var child: pid_t = 0
    let variables = request.environment.map { "\($0.key)=\($0.value)" }
    let code = withCStrings([request.executable] + request.arguments) { arguments in
      withCStrings(variables) { variables in
        posix_spawnp(&child, request.executable, &actions, &attributes, arguments, variables)
      }
    }
    guard code == 0 else { throw SystemFailure("starting \(request.executable)", code) }
    return child
  }

  private static func add(
    _ descriptor: SpawnRequest.Descriptor, as number: Int32,
    to actions: inout posix_spawn_file_actions_t
  ) {
    switch descriptor {
    case .nothing, .pipe: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    case .closed: posix_spawn_file_actions_addclose(&actions, number)
    case .file(let path):
      let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT
      posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
    case .inherited(let own): posix_spawn_file_actions_adddup2(&actions, own, number)
    }
  }

  private static func attributes(of request: SpawnRequest) -> posix_spawnattr_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var blocked = sigset_t()
    if request.blocksSignals { sigfillset(&blocked) } else { sigemptyset(&blocked) }
    posix_spawnattr_setsigmask(&attributes, &blocked)
    var all = sigset_t()
    sigemptyset(&all)
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT] { sigaddset(&all, signal) }
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    let group = request.terminal != nil ? 0x80 : Int32(POSIX_SPAWN_SETPGROUP)  // POSIX_SPAWN_SETSID
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | group
    posix_spawnattr_setflags(&attributes, Int16(flags))
    return attributes
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }

  /// Stops a child, and returns once none of its threads runs.
  package static func stop(_ id: pid_t) {
    kill(id, SIGSTOP)
    var status: Int32 = 0
    // A signal to the tests would end the wait.
    while waitpid(id, &status, WUNTRACED) < 0, errno == EINTR {}
  }

  package static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Foundation.pipe(&ends) == 0 else { throw SystemFailure("pipe", errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Starts a program without input.
  package static func program(
    _ words: [String], output: SpawnRequest.Descriptor = .nothing,
    errors: SpawnRequest.Descriptor = .nothing
  ) throws -> pid_t {
    try start(
      SpawnRequest(
        executable: words[0], arguments: Array(words.dropFirst()),
        environment: ProcessInfo.processInfo.environment, output: output, errors: errors))
  }

  /// Runs a program to its end, and returns what it printed on one of its outputs.
  package static func text(of words: [String], fromErrors: Bool = false) throws -> String {
    let ends = try pipe()
    let pipe = SpawnRequest.Descriptor.inherited(ends.writing)
    let id = try program(
      words, output: fromErrors ? .nothing : pipe, errors: fromErrors ? pipe : .nothing)
    close(ends.writing)
    let reader = FileHandle(fileDescriptor: ends.reading, closeOnDealloc: true)
    let text = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self)
    collect(id)
    return text
  }

  /// Waits until a child has ended.
  package static func collect(_ id: pid_t) { while waitpid(id, nil, 0) < 0, errno == EINTR {} }

  /// Reports whether a child still runs; collects it if it has ended.
  package static func isRunning(_ id: pid_t) -> Bool { waitpid(id, nil, WNOHANG) == 0 }
}
