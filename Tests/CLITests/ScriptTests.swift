import Testing

/// The output of `make test`.
@Suite(.runsPrograms) struct `Scripts of developers` {
  @Test func `a good run is told in few lines, with the reasons for skipped tests`() throws {
    var log = (1...500).map { "[\($0)/500] Compiling pusher_cli File\($0).swift" }
    for number in 1...100 {
      log += ["◇ Test name\(number) started.", "✔ Test name\(number) passed after 0.1 seconds."]
      log.append("➜ Test page\(number) skipped: \"no Chromium\"")
    }
    let end = "✔ Test run with 200 tests in 9 suites passed after 3.2 seconds."
    let told = try summary(of: log + [end], status: 0)
    #expect(told == ["test: 100 skipped: no Chromium", end])
  }

  @Test func `a failed run tells each failure with its lines, and what never ended`() throws {
    let end = "✘ Test run with 3 tests in 1 suite failed after 3.2 seconds with 1 issue."
    let told = try summary(
      of: [
        "◇ Test `a fine one` started.", "◇ Test `a bad one` started.",
        "◇ Test `a slow one` started.",
        "✘ Test `a bad one` recorded an issue at Bad.swift:7:5: Expectation failed: 1 == 2",
        "✔ Test `a fine one` passed after 0.1 seconds.", "↳ one is not two",
        "✘ Test `a bad one` failed after 0.2 seconds with 1 issue.", end,
      ], status: 1)
    #expect(told.first == "test: status 1; what failed:" && told.last == end)
    #expect(told.contains { $0.contains("Bad.swift:7:5: Expectation failed: 1 == 2") })
    #expect(told.contains("↳ one is not two"))
    #expect(
      told.filter { $0.contains("never ended") || $0.contains("did not end") } == [
        "test: began and did not end: `a slow one`"
      ])
    #expect(!told.contains { $0.contains("a fine one") })
  }

  @Test func `a build that fails tells the compiler's errors`() throws {
    let told = try summary(
      of: [
        "[1/9] Compiling A.swift", "/src/A.swift:3:9: error: cannot find 'x' in scope", "  x",
        "error: fatalError",
      ], status: 1)
    #expect(told.contains("/src/A.swift:3:9: error: cannot find 'x' in scope"))
    #expect(told.last == "error: fatalError")
    #expect(!told.contains { $0.hasPrefix("[1/9]") })
  }

  /// Without a word, the form of this machine; a name of NEON's means one in plain C.
  @Test(arguments: [[], ["-D__aarch64__", "-D__ARM_NEON"], ["-D__none__"]])
  func `each form of the vector functions gives the plain masks`(form: [String]) throws {
    let (folder, program) = (Documentation.folder, TemporaryFolder.shared.file("forms"))
    let words =
      ["-O1", "-I" + folder + "/Tests/VectorForms"] + (form.isEmpty ? [] : ["-U__SSE2__"])
    let source = folder + "/Tests/VectorForms/forms.c"
    let made = try PusherCLI.tool(["cc"] + words + form + ["-o", program, source])
    #expect(made.ending == .exited(0), "\(made.errorText)")
    let result = try PusherCLI.tool([program])
    #expect(result.ending == .exited(0), "\(result.outputText)")
  }

  @Test(arguments: [
    ("✔ Test run with 1 test in 0 suites passed after 0.1 seconds.", 0, 0, ""),
    ("✔ Test run with 0 tests in 0 suites passed after 0.1 seconds.", 0, 1, "no test ran"),
    ("", 0, 1, "no test ran"), ("✘ Test run with 2 tests in 1 suite failed", 7, 7, ""),
  ])
  func `a run passes if tests ran`(last: String, ends: Int32, status: Int32, says: String) throws {
    let line = #"""
      mkdir -p "$1/debug" && cd "$1" && bundle=debug/aPackageTests.xctest
      printf '#!/bin/sh\necho "%s"\nexit %s\n' "$2" "$3" >"$bundle" && chmod +x "$bundle"
      run_tests 60 log . .
      """#
    let result = try common(line, TemporaryFolder.shared.file("built"), last, String(ends))
    #expect(result.ending == .exited(status) && result.outputText.hasSuffix(last + "\n"))
    #expect(says.isEmpty ? result.errorText.isEmpty : result.errorText.contains(says))
  }

  private func summary(of log: [String], status: Int) throws -> [String] {
    let file = try TemporaryFolder.shared.file("log", holding: log.joined(separator: "\n") + "\n")
    let result = try common(#"summary "$1" "$2""#, file, String(status))
    #expect(result.ending == .exited(0))
    return result.outputText.split(separator: "\n").map(String.init)
  }

  /// Runs a line with the functions of the scripts.
  private func common(_ line: String, _ arguments: String...) throws -> ProgramResult {
    let common = Documentation.folder + "/scripts/common.sh"
    return try PusherCLI.tool(["sh", "-euc", ". '\(common)'\n" + line, "test"] + arguments)
  }
}
