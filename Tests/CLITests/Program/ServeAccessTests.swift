import Foundation
import PusherCore
import Testing

@Suite("serve, and the pages that a browser shows", .runsPrograms)
struct ServeAccessTests {
  private func status(_ server: LocalServer, _ path: String, _ arguments: String...) throws
    -> String
  {
    let result = try PusherCLI.tool(
      ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"] + arguments + [
        "http://127.0.0.1:\(server.port)\(path)"
      ])
    return result.outputText
  }

  @Test func `a signature is for a socket that is connected here, and for no longer`() throws {
    let server = try LocalServer()
    let form = ["--data", "socket_id=1234.1234&channel_name=private-a"]
    #expect(try status(server, "/pusher/auth", form[0], form[1]) == "403")
    let program = try server.subscribe(["news"], "-L", joins: false)
    let greeting = try JSONParser.parse(try #require(try program.lines(2).first))
    let socketID = try #require(greeting["data"]?["socket_id"]?.text)
    let own = "socket_id=\(socketID)&channel_name=private-a"
    #expect(try status(server, "/pusher/auth", "--data", own) == "200")
    #expect(try status(server, "/broadcasting/user-auth", "--data", own) == "200")
    #expect(try status(server, "/pusher/auth", "--data", own + "&app_key=other") == "403")
    program.send(SIGTERM)
    try program.wait()
    #expect(try status(server, "/pusher/auth", "--data", own) == "403")
  }

  @Test func `a refused page is told once with the flag that allows it, and the flag does`() throws
  {
    let server = try LocalServer()
    let evil = "Origin: https://shop.example:443"
    for _ in 0..<3 { #expect(try status(server, "/faults", "-H", evil) == "403") }
    #expect(try status(server, "/faults", "-H", "Host: dev.example:6001") == "403")
    let errors = try server.stop().errorText
    let warnings = errors.split(separator: "\n").filter { $0.contains("warning") }
    #expect(
      warnings == [
        "pusher-cli: warning: refused a request from a page of 'https://shop.example:443'; "
          + "--allow-origin https://shop.example would allow it",
        "pusher-cli: warning: refused a request for host 'dev.example:6001'; "
          + "--allow-host dev.example would allow it",
      ])
    let open = try LocalServer(options: [
      "--allow-origin", "https://shop.example/", "--allow-host", "dev.example",
    ])
    let preflight = ["--request", "OPTIONS", "-H", "Access-Control-Request-Method: POST"]
    #expect(
      try status(
        open, "/pusher/auth", preflight[0], preflight[1], preflight[2], preflight[3], "-H", evil)
        == "204")
    #expect(try status(open, "/nothing", "-H", "Host: dev.example:6001") == "404")
    #expect(try status(open, "/nothing", "-H", "Host: a.dev.example") == "403")
    #expect(try !open.stop().errorText.contains("--allow-origin"))
  }

  @Test func `what is for this machine is closed to other names and to proxies, and told`()
    throws
  {
    let server = try LocalServer(options: ["--allow-host", "ws.example.com", "--console"])
    let program = try server.subscribe(["news"], "-L", joins: false)
    let greeting = try JSONParser.parse(try #require(try program.lines(2).first))
    let socketID = try #require(greeting["data"]?["socket_id"]?.text)
    let form = "socket_id=\(socketID)&channel_name=private-a"
    for field in ["Host: ws.example.com", "X-Forwarded-For: 192.0.2.1", "Via: 1.1 proxy"] {
      #expect(try status(server, "/pusher/auth", "--data", form, "-H", field) == "403", "\(field)")
      #expect(try status(server, "/faults", "--data", "drop", "-H", field) == "403", "\(field)")
    }
    #expect(try status(server, "/pusher/auth", "--data", form) == "200")
    #expect(try status(server, "/faults") == "200")
    let errors = try server.stop().errorText
    #expect(
      errors.contains(
        "warning: --allow-host ws.example.com: requests for this name or through a proxy "))
    #expect(
      errors.contains(
        "warning: refused a request for the authorisation endpoints that is not from this machine "
          + "(its Host is not local); --auth-endpoints would open it to everyone"))
    #expect(
      errors.contains("a request for /faults that is not from this machine (it has Via)\n"))
  }

  @Test func `a page that makes up origins fills no log, and writes nothing into a terminal`()
    throws
  {
    let server = try LocalServer()
    for number in 0..<30 {
      #expect(try status(server, "/", "-H", "Origin: https://\(number).example") == "403")
    }
    let long = String(repeating: "x", count: 9000)
    #expect(try status(server, "/", "-H", "Origin: \u{9B}2J\(long)") == "403")
    let lines = try server.stop().errorText.split(separator: "\n").filter {
      $0.contains("warning")
    }
    #expect(lines.count == 20)
    #expect(lines.last?.contains("further refusals are not logged") == true, "\(lines.last ?? "")")
    let other = try LocalServer()
    #expect(try status(other, "/", "-H", "Origin: \u{9B}2J\(long)") == "403")
    let errors = try other.stop().errorText
    #expect(!errors.contains("\u{9B}") && errors.utf8.count < 1000, "\(errors)")
  }

  @Test func `beyond this machine every name is taken, and pages are refused all the same`() throws
  {
    let file = TemporaryFolder.shared.file("port")
    let program = try PusherCLI.start(
      ["serve", "--listen", "0.0.0.0:0", "--port-file", file, "--auth-endpoints"],
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"])
    try program.errorLine(containing: "listening on")
    let port = try String(contentsOfFile: file, encoding: .utf8).dropLast()
    for (field, path, status) in [
      ("Host: pusher.internal", "nothing", "404"), ("Origin: https://a.example", "nothing", "403"),
      ("Accept: */*", "faults", "200"), ("Host: pusher.internal", "faults", "403"),
    ] {
      let result = try PusherCLI.tool([
        "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "-H", field,
        "http://127.0.0.1:\(port)/\(path)",
      ])
      #expect(result.outputText == status)
    }
    program.send(SIGTERM)
    try program.wait()
  }
}
