#if Redis
  import PusherCluster
  import PusherCore
  import PusherServer
  import TestSupport

  /// A Redis on the test's loop that gives scripted answers.
  ///
  /// It stores nothing: it answers like an empty Redis unless ``answer`` decides otherwise.
  final class ScriptedRedis {
    /// Overrides the answer to a command, by the number of earlier answers; `nil` for the usual
    /// answer.
    var answer: (_ number: Int, _ command: [String]) -> [UInt8]? = { _, _ in nil }
    private(set) var answers = 0
    private(set) var channels: [String] = []
    private let loop: EventLoop
    private var listener: Listener?
    private var connections: [Connection] = []
    private var scripts: [String: String] = [:]

    init(_ loop: EventLoop) throws {
      self.loop = loop
      listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) {
        [unowned self] descriptor, peer, _ in
        connections.append(Connection(self, loop, descriptor, peer))
      }
    }

    deinit {
      close()
    }

    func close() {
      listener?.close()
      listener = nil
      for connection in connections { connection.close() }
      connections = []
    }

    var settings: RedisSettings {
      RedisSettings(
        endpoints: [RedisEndpoint(host: "127.0.0.1", port: listener?.address.port ?? 0)])
    }

    func publish(_ payload: [UInt8], on channel: String) {
      for connection in connections where connection.channels.contains(channel) {
        connection.send(
          Array("*3\r\n$7\r\nmessage\r\n".utf8) + Self.bulk(Array(channel.utf8))
            + Self.bulk(payload))
      }
    }

    static func bulk(_ bytes: [UInt8]) -> [UInt8] {
      Array("$\(bytes.count)\r\n".utf8) + bytes + [0x0D, 0x0A]
    }

    fileprivate func take(_ command: [String], from connection: Connection) {
      let name = command.first?.uppercased() ?? ""
      defer { answers += 1 }
      let isSubscription = name == "SUBSCRIBE" || name == "UNSUBSCRIBE"
      if let told = answer(answers, command) { return connection.send(told) }
      guard isSubscription, command.count == 2 else {
        return connection.send(Array((usual(name, command) + "\r\n").utf8))
      }
      if name == "SUBSCRIBE" {
        connection.channels.insert(command[1])
        channels.append(command[1])
      }
      let kind = Array(name.lowercased().utf8)
      connection.send(
        Array("*3\r\n".utf8) + Self.bulk(kind) + Self.bulk(Array(command[1].utf8))
          + Array(":1\r\n".utf8))
    }

    /// Returns the answer without its last line end.
    private func usual(_ name: String, _ command: [String]) -> String {
      switch name {
      case "ROLE": return "*3\r\n$6\r\nmaster\r\n:0\r\n*0"
      case "INFO": return "$11\r\nrun_id:abcd"
      case "PING": return "+PONG"
      case "CLIENT": return command.count == 2 ? ":7" : "+OK"
      case "SMEMBERS", "HGETALL", "MGET": return "*0"
      case "SET": return "+OK"
      case "HSCAN": return "*2\r\n$1\r\n0\r\n*0"
      case "EVAL", "EVALSHA": return usualResult(of: command)
      case "PUBSUB": return "*2\r\n$1\r\nx\r\n:1"
      default: return ":1"
      }
    }

    private func usualResult(of command: [String]) -> String {
      guard command.count > 1 else { return ":0" }
      let script = RedisScript(command[1])
      let sha1 = command[0].uppercased() == "EVAL" ? script.sha1 : command[1]
      if sha1 == ClusterCall.script.sha1 { return usualResult(ofOperation: operation(command)) }
      return ":0"
    }

    private func operation(_ command: [String]) -> String {
      guard command.count > 2, let keys = Int(command[2]), command.indices.contains(3 + keys)
      else { return "" }
      return command[3 + keys]
    }

    private func usualResult(ofOperation operation: String) -> String {
      switch operation {
      case "begin", "beat": ":9000000000000"
      case "probe": "*0"
      case "join", "leave": "*3\r\n:0\r\n:0\r\n:0"
      default: ":0"
      }
    }

    fileprivate final class Connection: SocketStreamDelegate {
      private unowned let owner: ScriptedRedis
      private var stream: SocketStream?
      private let reader = RedisReader(of: "r")
      private let input = ByteBuffer()
      private let output = ByteBuffer()
      var channels: Set<String> = []

      init(
        _ owner: ScriptedRedis, _ loop: EventLoop, _ descriptor: Int32, _ peer: SocketAddress?
      ) {
        self.owner = owner
        stream = SocketStream.adopt(
          loop: loop, descriptor: descriptor, peer: peer, delegate: self)
      }

      func close() {
        stream?.close()
        stream = nil
      }

      func send(_ bytes: [UInt8]) {
        output.append(bytes)
        do throws(TransportError) {
          try stream?.write(from: output)
        } catch {
          close()
        }
      }

      func streamOpened(_ stream: SocketStream, at now: Instant) {}
      func streamWritable(_ stream: SocketStream, at now: Instant) {}
      func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
        close()
      }

      func streamReadable(_ stream: SocketStream, at now: Instant) {
        do {
          guard case .bytes = try stream.read(into: input, atMost: 65_536) else { return }
          while !input.isEmpty {
            let count = min(input.count, RedisReader.portion)
            reader.feed(input.view[0..<count])
            input.consume(count)
            while let reply = try reader.next() {
              guard case .array(let words) = reply else { continue }
              owner.take(
                words.map { String(decoding: $0.content ?? [], as: UTF8.self) }, from: self)
            }
          }
        } catch {
          close()
        }
      }
    }
  }
#endif
