package import PusherCore
package import PusherServer

extension SnippetTarget {
  /// Libraries and tools with the snippets that connect an app to this server.
  ///
  /// All snippets use the channel and the event of the README, and end with a newline. The page of
  /// the console shows all of them, `serve --print-snippets` prints the first one.
  package var snippets: [(name: String, text: String)] {
    [
      ("pusher-js", pusherJS), ("Laravel Echo", laravelEcho), ("Laravel .env", laravelEnvironment),
      ("PHP", php), ("Python", python), ("Ruby", ruby), ("Swift", swift), ("curl", curl),
    ]
  }

  // MARK: Clients

  /// Options of pusher-js, which Laravel Echo passes on.
  fileprivate var options: String {
    """
      cluster: "mt1", // required, but not used
      wsHost: \(doubleQuoted(host)),
      wsPort: \(url.port),
      wssPort: \(url.port),
      forceTLS: \(url.isSecure),
      enabledTransports: ["ws", "wss"],
    """
  }

  package var pusherJS: String {
    let endpoint = doubleQuoted("\(place)/pusher/auth")
    let signing = """

        // serve signs for private channels; later, name your own endpoint.
        channelAuthorization: { endpoint: \(endpoint), transport: "ajax" },
      """
    return """
      // npm install pusher-js
      import Pusher from "pusher-js";

      const pusher = new Pusher(\(doubleQuoted(app.key)), {
      \(options)\(signsChannels ? signing : "")
      });
      pusher.subscribe("orders").bind("order.created", (data) => console.log(data));

      """
  }

  fileprivate var laravelEcho: String {
    """
    // npm install laravel-echo pusher-js
    import Echo from "laravel-echo";
    import Pusher from "pusher-js";

    window.Pusher = Pusher;
    window.Echo = new Echo({
      broadcaster: "pusher",
      key: \(doubleQuoted(app.key)),
    \(options)
    });
    // The dot keeps Echo from adding App\\Events to the name.
    window.Echo.channel("orders").listen(".order.created", (data) => console.log(data));

    """
  }

  /// The program of the README.
  fileprivate var swift: String {
    let arguments =
      "host: .host(\(doubleQuoted(url.host))), port: \(url.port), useTLS: \(url.isSecure)"
    return """
      import PusherCore

      let options = PusherClientOptions(\(arguments))
      let pusher = Pusher(key: \(doubleQuoted(app.key)), options: options)
      pusher.subscribe("orders").bind(eventName: "order.created") { event in
        print(event.data ?? "no data")
      }
      try await pusher.run()

      """
  }

  // MARK: Servers

  fileprivate var laravelEnvironment: String {
    (missingSecret.map { "# \($0)\n" } ?? "")
      + environment(secret: hasPublishedSecret ? app.secret : nil)
  }

  fileprivate var php: String {
    let secret = expression(
      quotedBy: singleQuoted, orFrom: "getenv('PUSHER_APP_SECRET')")
    let arguments = [singleQuoted(app.key), secret, singleQuoted(app.id)]
    return """
      <?php
      // composer require pusher/pusher-php-server
      require __DIR__ . '/vendor/autoload.php';

      $pusher = new Pusher\\Pusher(\(arguments.joined(separator: ", ")), [
          'host' => \(singleQuoted(host)),
          'port' => \(url.port),
          'scheme' => '\(scheme)',
          'useTLS' => \(url.isSecure),
      ]);
      $pusher->trigger('orders', 'order.created', ['id' => 1]);

      """
  }

  fileprivate var python: String {
    let secret = expression(
      quotedBy: doubleQuoted, orFrom: #"os.environ["PUSHER_APP_SECRET"]"#)
    let isNumber = app.id.utf8.allSatisfy { $0 &- 0x30 < 10 }
    let hint =
      isNumber ? "" : "# The library takes app ids of digits only: see --app-id of serve.\n"
    return """
      # pip install pusher
      \(hint)\(hasPublishedSecret ? "" : "import os\n")import pusher

      client = pusher.Pusher(
          app_id=\(doubleQuoted(app.id)),
          key=\(doubleQuoted(app.key)),
          secret=\(secret),
          host=\(doubleQuoted(host)),
          port=\(url.port),
          ssl=\(url.isSecure ? "True" : "False"),
      )
      client.trigger("orders", "order.created", {"id": 1})

      """
  }

  fileprivate var ruby: String {
    let secret = expression(
      quotedBy: singleQuoted, orFrom: #"ENV.fetch("PUSHER_APP_SECRET")"#)
    return """
      # gem install pusher
      require "pusher"

      client = Pusher::Client.new(
        app_id: \(singleQuoted(app.id)),
        key: \(singleQuoted(app.key)),
        secret: \(secret),
        host: \(singleQuoted(host)),
        port: \(url.port),
        scheme: "\(scheme)"
      )
      client.trigger("orders", "order.created", { id: 1 })

      """
  }

  /// Lets the program sign, because the arguments of other tools would show the secret in ps(1).
  fileprivate var curl: String {
    let local = hasPublishedSecret ? "--local " : ""
    let key = "--key=" + Self.shellWord(app.key)
    let path = Self.shellWord("/apps/\(app.id)/events")
    return """
      # needs curl and jq\(missingSecret.map { "; \($0)" } ?? "")
      body='{"name":"order.created","channel":"orders","data":"{\\"id\\":1}"}'
      target=$(pusher-cli sign \(local)\(key) request POST \(path) --data "$body" | jq -r .target)
      curl -sS -H 'Content-Type: application/json' -d "$body" \(Self.shellWord(place))"$target"

      """
  }
}

/// The app and the address to which a snippet leads.
package struct SnippetTarget: Sendable {
  package let app: Application
  /// Address of the server, without a path.
  package let url: HTTPURL
  /// True if the server signs subscriptions to private channels.
  package let signsChannels: Bool

  package init(_ app: Application, at url: HTTPURL, signsChannels: Bool) {
    (self.app, self.url, self.signsChannels) = (app, url, signsChannels)
  }

  /// Secret of `serve` without options; no other secret is part of a snippet.
  private static let publishedSecret = "local"

  var hasPublishedSecret: Bool { app.secret.isSame(as: Self.publishedSecret) }

  /// Says which secret a reader has to fill in; `nil` if the snippets have it.
  package var missingSecret: String? {
    guard !hasPublishedSecret else { return nil }
    return "PUSHER_APP_SECRET is the secret of app '\(app.id)': serve has it from --secret-file, "
      + "--apps, --env-file or its environment"
  }

  var scheme: String { url.isSecure ? "https" : "http" }
  /// IPv6 with brackets, as most libraries join it with the port.
  var host: String { HTTPURL.bracketed(url.host) }
  var place: String { "\(scheme)://\(host):\(url.port)" }

  // MARK: Texts of the languages

  /// A string of JavaScript, Python or Swift, for visible ASCII.
  func doubleQuoted(_ text: String) -> String { JSONWriter.text(.string(text)) }

  /// A string of PHP or Ruby that replaces nothing in the text.
  func singleQuoted(_ text: String) -> String {
    "'" + text.escaping("\\'") + "'"
  }

  /// A word for a POSIX shell.
  package static func shellWord(_ text: String) -> String {
    "'" + text.pieces(separatedBy: "'").joined(separator: #"'\''"#) + "'"
  }

  /// The published secret, or the expression that reads another secret from the environment.
  func expression(quotedBy quoted: (String) -> String, orFrom variable: String) -> String {
    hasPublishedSecret ? quoted(app.secret) : variable
  }

  // MARK: A .env file

  /// Lines of a `.env` file that point an application at this server, with Laravel's names.
  ///
  /// - Parameter secret: `nil` to leave it to the reader.
  package func environment(secret: String?) -> String {
    variables(secret: secret).map { "\($0.name)=\(Self.quoted($0.value))\n" }.joined()
  }

  private func variables(secret: String?) -> [(name: String, value: String)] {
    [
      ("BROADCAST_CONNECTION", "pusher"), ("PUSHER_APP_ID", app.id), ("PUSHER_APP_KEY", app.key),
      ("PUSHER_APP_SECRET", secret ?? ""), ("PUSHER_HOST", url.host),
      ("PUSHER_PORT", String(url.port)), ("PUSHER_SCHEME", scheme), ("PUSHER_APP_CLUSTER", "mt1"),
    ]
  }

  /// Variables of a program that uses this server: those of the `.env` file, and the same app under
  /// the names of Reverb, of soketi, and of libraries that read `PUSHER_URL`.
  package var variables: [(name: String, value: String)] {
    let pusher = variables(secret: app.secret)
    let reverb = pusher.compactMap { name, value in
      name.begins(with: "PUSHER_") && name != "PUSHER_APP_CLUSTER"
        ? (name: "REVERB_\(name.dropFirst("PUSHER_".count))", value: value) : nil
    }
    let credentials = "\(PercentEncoding.encode(app.key)):\(PercentEncoding.encode(app.secret))"
    let url = "\(scheme)://\(credentials)@\(host):\(self.url.port)/apps/\(app.id)"
    return pusher + reverb + [
      ("SOKETI_DEFAULT_APP_ID", app.id), ("SOKETI_DEFAULT_APP_KEY", app.key),
      ("SOKETI_DEFAULT_APP_SECRET", app.secret), ("PUSHER_URL", url),
    ]
  }

  /// Quotes a value for shells and for readers of `.env` files.
  private static func quoted(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy { byte in
      byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "-._:/@%+,".utf8.contains(byte)
    }
    return isPlain ? value : "\"" + value.escaping("\\\"$`") + "\""
  }
}
