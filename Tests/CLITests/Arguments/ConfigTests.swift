import Testing

@testable import pusher_cli

@Suite(.runsPrograms) struct `config: the settings and where they come from` {
  private func rows(
    _ line: String, _ environment: [String: String] = [:], _ contents: [String: String] = [:]
  ) throws -> [String: ConfigSettings.Row] {
    let settings = try self.settings(line, environment, contents)
    return Dictionary(settings.rows.map { ($0.name, $0) }) { first, _ in first }
  }

  private func settings(
    _ line: String, _ environment: [String: String] = [:], _ contents: [String: String] = [:]
  ) throws -> ConfigSettings {
    try ConfigSettings(
      arguments("config " + line), environment: environment,
      files: PretendFiles(contents: contents).access)
  }

  @Test func `each part of the app and its server is told with its source`() throws {
    let file =
      "PUSHER_APP_KEY=file-key\nPUSHER_APP_SECRET=hunter2\nPUSHER_HOST=h.test\nPUSHER_PORT=6001\n"
    let rows = try rows("--env-file .env --port 7001 --scheme http --path pre", [:], [".env": file])
    let told = rows.mapValues { "\($0.value) | \($0.origin)" }
    #expect(told["key"] == "file… | PUSHER_APP_KEY in .env")
    #expect(told["secret"] == "(set) | PUSHER_APP_SECRET in .env")
    #expect(told["host"] == "h.test | PUSHER_HOST in .env")
    #expect(told["port"] == "7001 | --port")
    #expect(told["scheme"] == "http | --scheme")
    #expect(told["path"] == "pre | --path")
    #expect(told["websocket"] == "ws://h.test:7001/pre/app/file… | the above")
    #expect(told["http api"] == "http://h.test:7001/pre | the above")
  }

  @Test func `where serve listens because a file says so is told with that file`() throws {
    let file = "REVERB_APP_KEY=k\nREVERB_HOST=localhost\nREVERB_PORT=21080\nREVERB_SCHEME=http\n"
    let row = try rows("serve --env-file .env", [:], [".env": file])["listen"]
    #expect(row?.value == "127.0.0.1:21080")
    #expect(row?.origin == "REVERB_PORT in .env")
  }

  @Test func `options are told with option, variable, file or default as their source`() throws {
    let file = "[subscribe]\ntimestamps = true\noutput = pretty\nconnect-timeout = 3s\n"
    let rows = try rows(
      "--key k --config c -e order.* -e x --max-retries 3 --no-compression -v",
      ["PUSHER_CLI_OUTPUT": "raw"],
      ["c": file])
    let told = rows.mapValues { "\($0.value) | \($0.origin)" }
    #expect(told["event"] == "order.*, x | --event")
    #expect(told["max-retries"] == "3 | --max-retries")
    #expect(told["timestamps"] == "true | c line 2")
    #expect(told["output"] == "raw | PUSHER_CLI_OUTPUT")
    #expect(told["connect-timeout"] == "3s | c line 4")
    #expect(told["reconnect"] == "auto | default")
    #expect(told["compression"] == "false | --compression")
    #expect(told["verbose"] == "1 | --verbose")
  }

  @Test func `another command has settings of its own`() throws {
    let rows = try rows("trigger --key k --api-url https://api.test")
    #expect(rows["api-url"]?.value == "https://api.test")
    #expect(rows["batch"]?.origin == "default")
    #expect(rows["reconnect"] == nil)
    #expect(rows["http api"]?.value == "https://api.test")
    #expect(try self.rows("sse")["reconnect"]?.value == "auto")
  }

  @Test func `without a key the rest is told, and what is missing`() throws {
    let settings = try settings("--max-retries 3")
    #expect(settings.problem?.message.hasPrefix("no app key") == true)
    #expect(settings.rows.contains { $0.name == "max-retries" })
  }

  @Test func `a word that is not a command is refused`() {
    #expect(
      refusal(of: "config subscrive")
        == "config takes a command, 'path' or 'profiles' (found 'subscrive'); did you mean 'subscribe'?"
    )
    #expect(
      refusal(of: "config trigger --reconnect never")?.contains("no option --reconnect") == true)
  }

  // MARK: The program

  @Test func `the program prints a table, JSON lines and the file's path`() throws {
    let environment = ["PUSHER_APP_KEY": "abcdef", "XDG_CONFIG_HOME": "/x"]
    let table = try PusherCLI.run("config", environment: environment)
    #expect(table.ending == .exited(0))
    #expect(
      table.outputText.split(separator: "\n").contains {
        $0.hasPrefix("key ") && $0.hasSuffix("  PUSHER_APP_KEY") && $0.contains(" abcd… ")
      })
    let lines = try PusherCLI.run("config", "-o", "json", environment: environment)
    #expect(
      lines.outputText.contains(
        #"{"setting":"key","value":"abcd…","source":"PUSHER_APP_KEY"}"# + "\n"))
    let path = try PusherCLI.run("config", "path", environment: environment)
    #expect(path.outputText == "/x/pusher-cli/config\n")
    let wrong = try PusherCLI.run("config", "--config", "/dev/null")
    #expect(wrong.ending == .exited(2))
    #expect(wrong.errorText.hasPrefix("pusher-cli: error: no app key"))
  }
}
