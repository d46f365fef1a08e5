internal import PusherCore
internal import PusherServer

extension ConsoleCall {
  /// Sends an event as an API call does, without a signature.
  mutating func trigger() throws(HTTPAnswer) -> CallProgress {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let event = try event(order, hub.application)
    var call = APICall(
      path: ["events"], target: RequestTarget.none, body: event, hub: hub,
      dialect: host.applications.dialect, at: now
    ) { (call) throws(HTTPAnswer) in try call.event() }
    call.isWorded = false
    let progress = call.proceed(at: now)
    return sent(call, progress)
  }

  private func event(_ order: JSONValue, _ app: Application) throws(HTTPAnswer) -> [UInt8] {
    var event = TriggerRequest(
      name: try text("event", in: order), channels: [try text("channel", in: order)],
      data: try text("data", in: order))
    let excluded = order["socket_id"]?.text ?? ""
    event.socketID = excluded.isEmpty ? nil : excluded
    if host.applications.dialect.naming.kind(of: event.channels[0]) == .encrypted {
      guard let key = app.masterKey else {
        throw .failure(400, "app '\(app.id)' has no key for encrypted channels")
      }
      do throws(TriggerError) {
        event = try event.encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
      } catch { throw .failure(400, "\(error)") }
    }
    let body = JSONValue.object(present: [
      "name": .string(event.name), "channel": .string(event.channels[0]),
      "data": .string(event.data), "socket_id": event.socketID.map { .string($0) },
    ])
    return Array(JSONWriter.text(body).utf8)
  }

  func disconnect() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let socketID = try text("socket_id", in: order)
    guard host.disconnect(socketID, ofApp: hub.application.id) else {
      throw .failure(404, "socket \(socketID) is not connected to this server")
    }
    return .done
  }

  func terminate() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let user = try text("user_id", in: order)
    guard hub.terminateConnections(userID: user, at: now) else { throw .unavailableToConsole }
    return .done
  }

  // MARK: Faults

  /// The staged faults, and how often each may still happen.
  var stagedFaults: HTTPAnswer {
    let remainders = host.faults.remainders
    let left = remainders.map { remainder -> JSONValue in
      .object(present: [
        "times": remainder.times.map { .integer($0) },
        "connections": remainder.connections.map { .integer($0) },
      ])
    }
    return .json([
      "faults": .array(remainders.map { .string($0.fault.description) }), "left": .array(left),
    ])
  }

  /// Adds one fault, or lifts all.
  func stageFaults() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    if order["clear"] == true {
      host.faults.removeAll()
      return stagedFaults
    }
    let text = try text("add", in: order)
    guard host.faults.faults.count < FaultControl.limit else {
      throw .failure(400, "a server has at most \(FaultControl.limit) faults; remove them first")
    }
    do throws(StagedFaultError) {
      host.faults.add([try StagedFault(parsing: text)])
    } catch {
      throw .failure(400, error.description)
    }
    host.stageGreetings()
    return stagedFaults
  }

  // MARK: Webhooks

  func sendWebhook() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let body = try text("body", in: order)
    let name = (try? JSONParser.parse(body))?["events"]?.elements?.first?["name"]?.text
    guard host.sendWebhook(name ?? "webhook", Array(body.utf8), ofApp: hub.application.id) else {
      throw .failure(400, "app '\(hub.application.id)' has no webhook receivers")
    }
    return .done
  }
}
