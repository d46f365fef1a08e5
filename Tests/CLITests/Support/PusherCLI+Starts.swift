import Foundation

/// The program by way of something else.
extension PusherCLI {
  /// Starts the program from a shell's script, in which `exec "$0" "$@"` runs it.
  static func shell(
    _ script: String, _ arguments: [String], by shell: String = "sh",
    environment: [String: String] = [:], input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    try ChildProgram(
      shell, ["-c", script, path] + arguments,
      environment: self.environment.merging(environment) { $1 }, input: input)
  }

  /// Starts the program on a terminal.
  static func start(
    _ arguments: [String], on terminal: PseudoTerminal, environment: [String: String] = [:]
  ) throws -> ChildProgram {
    try ChildProgram(
      path, arguments, environment: self.environment.merging(environment) { $1 },
      on: terminal.path)
  }

  /// Starts a command that listens on a free port, and waits for the port.
  static func listening(
    _ command: [String], environment: [String: String] = [:], output: ChildProgram.Output = .pipe
  ) throws -> (program: ChildProgram, port: UInt16) {
    let file = TemporaryFolder.shared.file("port")
    let program = try start(
      command + ["--listen", "127.0.0.1:0", "--port-file", file], environment: environment,
      output: output)
    return (program, try program.port(in: file))
  }
}

extension ChildProgram {
  /// Writes a line to the child's standard input.
  func write(line: String) {
    write(Array("\(line)\n".utf8))
  }
}
