/// Usage and examples of the commands that ask and sign.
extension HelpPage {
  static func inspectingFrame(of command: Command) -> [String] {
    switch command {
    case .users:
      [
        "Usage: pusher-cli users [OPTION...] CHANNEL",
        "Prints each member of a presence channel as one JSON line.",
        "",
        "  pusher-cli users --local presence-lobby | jq -r .id",
      ]
    case .terminate:
      [
        "Usage: pusher-cli terminate [OPTION...] USER",
        "Ends all connections on which this user has signed in.",
        "",
        "  pusher-cli terminate --local 42",
      ]
    default:
      [
        "Usage: pusher-cli channels [OPTION...] [NAME]",
        "Prints each occupied channel as one JSON line, or the one",
        "that is named.",
        "",
        "  pusher-cli channels --local | jq -r .channel",
        "  pusher-cli channels --local --prefix presence- --info user_count",
        "  pusher-cli channels --local presence-lobby --info user_count",
      ]
    }
  }

  static let completionFrame = [
    "Usage: pusher-cli completion bash|zsh|fish",
    "Prints a script that lets the shell complete commands, options and values;",
    "'make install' puts the three where shells look for them.",
    "",
    "  pusher-cli completion bash | sudo tee /etc/bash_completion.d/pusher-cli",
  ]

  static let webhookFrame = [
    "Usage: pusher-cli webhook listen [OPTION...]",
    "Receives webhooks at any path, checks their signatures and prints each of their",
    "events as one JSON line.",
    "",
    "  pusher-cli webhook listen --local | jq -r .event",
    "  pusher-cli webhook listen --listen 0.0.0.0:8080 -n 1 -W 30s",
  ]

  static func signingFrame(of command: Command) -> [String] {
    switch command {
    case .auth:
      [
        "Usage: pusher-cli auth [OPTION...] --socket-id ID CHANNEL",
        "       pusher-cli auth [OPTION...] --socket-id ID --user-id ID",
        "Prints the JSON that an authorisation endpoint answers for a channel, or for",
        "a user who signs in.",
        "",
        "  pusher-cli auth --local --socket-id 1234.1234 private-orders",
        "  pusher-cli auth --local --socket-id 1234.1234 --user-id 7 presence-lobby",
        "  pusher-cli auth --local --socket-id 1234.1234 --user-id 7",
      ]
    default:
      [
        "Usage: pusher-cli \(command.rawValue) [OPTION...] channel NAME --socket-id ID",
        "       pusher-cli \(command.rawValue) [OPTION...] user --socket-id ID --user-id ID",
        "       pusher-cli \(command.rawValue) [OPTION...] request METHOD PATH [--data BODY]",
        "       pusher-cli \(command.rawValue) [OPTION...] webhook --data BODY",
        command == .sign
          ? "Prints the signature and the text that is signed, as one JSON line."
          : "Compares a signature, status 3 when it is wrong, and prints the text that",
      ] + (command == .sign ? [] : ["is signed, as one JSON line."]) + [
        "",
        command == .sign
          ? "  pusher-cli sign --local channel private-orders --socket-id 1234.1234"
          : "  pusher-cli verify --local webhook --data @body --signature c190aa",
        command == .sign
          ? "  pusher-cli sign --local request POST /apps/1/events --data @event.json"
          : "  pusher-cli verify --local request GET /apps/1/channels?auth_key=local",
      ]
    }
  }

  static let serveFrame = [
    "Usage: pusher-cli serve [OPTION...]",
    "Runs a server for development and tests: the Pusher protocol and its HTTP API.",
    "App id is 1, key and secret are 'local' unless given.",
    "",
    "  pusher-cli serve",
    "  pusher-cli serve --listen 127.0.0.1:0 --port-file port",
    "  pusher-cli serve --key demo --app-id 1 --secret-file secret",
    "  pusher-cli serve --webhook http://localhost:8000/hook --log-events",
  ]
}
