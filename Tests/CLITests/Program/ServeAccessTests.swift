import Foundation
import PusherCore
import Testing

@Suite("serve, and the pages that a browser shows", .runsPrograms) struct ServeAccessTests {
  private func status(_ port: String, _ path: String, _ arguments: String...) throws -> String {
    try PusherCLI.tool(
      ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"] + arguments
        + ["http://127.0.0.1:\(port)\(path)"]
    ).outputText
  }

  @Test func `a refused page is told once with the flag that allows it, which does`() throws {
    let server = try LocalServer()
    let evil = "Origin: https://shop.example:443"
    for _ in 0..<3 { #expect(try status(server.port, "/faults", "-H", evil) == "403") }
    #expect(try status(server.port, "/faults", "-H", "Host: dev.example:6001") == "403")
    let errors = try server.stop().errorText
    let warnings: [String] = errors.lines.map(String.init).filter { $0.holds("warning") }
    let wanted: [String] = [
      "pusher-cli: warning: refused a request from a page of 'https://shop.example:443'; "
        + "--allow-origin https://shop.example would allow it",
      "pusher-cli: warning: refused a request for host 'dev.example:6001'; "
        + "--allow-host dev.example would allow it",
    ]
    #expect(warnings == wanted)
    let open = try LocalServer(options: [
      "--allow-origin", "https://shop.example/", "--allow-host", "dev.example",
    ])
    let preflight = ["--request", "OPTIONS", "-H", "Access-Control-Request-Method: POST"]
    #expect(
      try status(
        open.port, "/pusher/auth", preflight[0], preflight[1], preflight[2], preflight[3], "-H",
        evil)
        == "204")
    #expect(try status(open.port, "/nothing", "-H", "Host: dev.example:6001") == "404")
    #expect(try status(open.port, "/nothing", "-H", "Host: a.dev.example") == "403")
    #expect(try !open.stop().errorText.contains("--allow-origin"))
  }

  @Test func `what is for this machine is closed to other names and proxies, and told`() throws {
    let server = try LocalServer(options: ["--allow-host", "ws.example.com", "--console"])
    let program = try server.subscribe(["news"], "-L", joins: false)
    let greeting = try JSONParser.parse(try #require(try program.lines(2).first))
    let socketID = try #require(greeting["data"]?["socket_id"]?.text)
    let form = "socket_id=\(socketID)&channel_name=private-a"
    for field in ["Host: ws.example.com", "X-Forwarded-For: 192.0.2.1", "Via: 1.1 proxy"] {
      #expect(
        try status(server.port, "/pusher/auth", "--data", form, "-H", field) == "403", "\(field)")
      #expect(
        try status(server.port, "/faults", "--data", "drop", "-H", field) == "403", "\(field)")
    }
    #expect(try status(server.port, "/pusher/auth", "--data", form) == "200")
    #expect(try status(server.port, "/faults") == "200")
    let errors = try server.stop().errorText
    for words in [
      "warning: --allow-host ws.example.com: requests for this name or through a proxy ",
      "warning: refused a request for the authorisation endpoints that is not from this machine "
        + "(its Host is not local); --serve-auth would open it to everyone",
      "a request for /faults that is not from this machine (it has Via)\n",
    ] { #expect(errors.contains(words), "\(errors)") }
  }

  @Test func `a made-up origin writes nothing into a terminal, and is cut`() throws {
    let server = try LocalServer()
    let origin = "Origin: \u{9B}2J" + String(repeating: "x", count: 9000)
    #expect(try status(server.port, "/", "-H", origin) == "403")
    let errors = try server.stop().errorText
    #expect(!errors.contains("\u{9B}") && errors.utf8.count < 1000, "\(errors)")
  }

  @Test func `beyond this machine every name is taken, and pages are refused as ever`() throws {
    let file = TemporaryFolder.shared.file("port")
    let program = try PusherCLI.start(
      ["serve", "--listen", "0.0.0.0:0", "--port-file", file, "--serve-auth"],
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "mine"])
    let port = String(try program.port(in: file))
    for (field, path, expected) in [
      ("Host: pusher.internal", "/nothing", "404"),
      ("Origin: https://a.example", "/nothing", "403"),
      ("Accept: */*", "/faults", "200"), ("Host: pusher.internal", "/faults", "403"),
    ] { #expect(try status(port, path, "-H", field) == expected, "\(field)") }
    try program.end()
  }
}
