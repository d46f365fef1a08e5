internal import PusherCore
internal import PusherServer

extension ConsoleCall {
  /// The snippets for an app; `url` is the address at which the page found this server.
  func snippets() throws(HTTPAnswer) -> HTTPAnswer {
    let hub = try askedHub()
    let url: HTTPURL
    do throws(HTTPError) {
      url = try HTTPURL(parsing: target?["url"] ?? "")
    } catch { throw .failure(400, "url is not the address of this server: \(error)") }
    let place = SnippetTarget(hub.application, at: url, signsChannels: host.signsChannels)
    let list = Snippet.allCases.map { snippet -> JSONValue in
      ["name": .string(snippet.rawValue), "text": .string(snippet.text(for: place))]
    }
    return .json(
      .object(present: [
        "snippets": .array(list), "missing_secret": place.missingSecret.map { .string($0) },
      ]))
  }
}
