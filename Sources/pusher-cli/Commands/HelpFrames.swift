extension HelpPage {
  static let frames: [Command: String] = [
    .subscribe: """
    Usage: pusher-cli subscribe [OPTION...] [CHANNEL...]
    Prints each event as one JSON line until you stop it.

      pusher-cli subscribe --env-file .env '*'      # every event of your app
      pusher-cli subscribe --key KEY --cluster eu news | jq --unbuffered .data
      pusher-cli subscribe --key KEY --secret-file secret -c private-orders
      pusher-cli subscribe --local -c build -e build.finished -n 1 -W 5m
    """,
    .sse: """
    Usage: pusher-cli sse [OPTION...] URL
    Prints each event of an event stream as one JSON line, and reconnects.

      pusher-cli sse https://example.com/stream | jq --unbuffered .data
      pusher-cli sse -H @token -e 'build.*' -n 1 -W 5m https://example.com/ci
      pusher-cli sse --state-file last -t https://example.com/log
    """,
    .trigger: """
    Usage: pusher-cli trigger [OPTION...] -c CHANNEL -e EVENT [DATA]
           pusher-cli trigger [OPTION...] -
    Sends one event through the HTTP API. With -, sends each JSON line of standard
    input, in the form that subscribe prints, so you can replay a recording. Client
    events (Laravel's whispers) need a client: use 'pusher-cli subscribe --stdin'.

      pusher-cli trigger --local -c news -e published '{"id":1}'
      date | pusher-cli trigger --local -c news -e tick @-
      pusher-cli trigger --key KEY --app-id ID --secret-file secret \\
                 --cluster eu -c private-orders -e order.created @order.json
      pusher-cli trigger --local --rate 50 - <recording.jsonl
    """,
    .channels: """
    Usage: pusher-cli channels [OPTION...] [NAME]
    Prints each occupied channel as one JSON line, or only the named channel.

      pusher-cli channels --local | jq -r .channel
      pusher-cli channels --local --prefix presence- --info user_count
      pusher-cli channels --local presence-lobby --info user_count
    """,
    .users: """
    Usage: pusher-cli users [OPTION...] CHANNEL
    Prints each member of a presence channel as one JSON line.

      pusher-cli users --local presence-lobby | jq -r .id
    """,
    .terminate: """
    Usage: pusher-cli terminate [OPTION...] USER
    Closes all connections on which this user has signed in.

      pusher-cli terminate --local 42
    """,
    .auth: """
    Usage: pusher-cli auth [OPTION...] --socket-id ID CHANNEL
           pusher-cli auth [OPTION...] --socket-id ID --user-id ID
    Prints the JSON answer of an authorisation endpoint for a channel, or for the
    sign-in of a user.

      pusher-cli auth --local --socket-id 1234.1234 private-orders
      pusher-cli auth --local --socket-id 1234.1234 --user-id 7 presence-lobby
      pusher-cli auth --local --socket-id 1234.1234 --user-id 7
    """,
    .sign: """
    Usage: pusher-cli sign [OPTION...] channel NAME --socket-id ID
           pusher-cli sign [OPTION...] user --socket-id ID --user-id ID
           pusher-cli sign [OPTION...] request METHOD PATH [--data BODY]
           pusher-cli sign [OPTION...] webhook --data BODY
    Prints the signature and the signed text as one JSON line.

      pusher-cli sign --local channel private-orders --socket-id 1234.1234
      pusher-cli sign --local request POST /apps/1/events --data @event.json
    """,
    .verify: """
    Usage: pusher-cli verify [OPTION...] channel NAME --socket-id ID
           pusher-cli verify [OPTION...] user --socket-id ID --user-id ID
           pusher-cli verify [OPTION...] request METHOD PATH [--data BODY]
           pusher-cli verify [OPTION...] webhook --data BODY
    Compares a signature, and prints the signed text as one JSON line. The status
    is 3 if the signature is wrong.

      pusher-cli verify --local webhook --data @body --signature c190aa
      pusher-cli verify --local request GET /apps/1/channels?auth_key=local
    """,
    .webhook: """
    Usage: pusher-cli webhook listen [OPTION...]
           pusher-cli webhook send [OPTION...] --to URL
    'listen' receives webhooks, checks their signatures, and prints each event as
    one JSON line. 'send' watches the channels of a server without webhooks, such
    as Reverb, and sends them. It misses a channel that comes and goes between two
    looks. It joins presence channels as a user that others see and no webhook has.

      pusher-cli webhook listen --local | jq -r .event
      pusher-cli webhook send --env-file .env --to http://localhost:8000/hook
    """,
    .serve: """
    Usage: pusher-cli serve [OPTION...]
    Runs a server for development and tests, with the Pusher protocol and its HTTP
    API. By default, the app id is 1, and key and secret are 'local'.

      pusher-cli serve
      pusher-cli serve --port 8085
      pusher-cli serve --listen 127.0.0.1:0 --port-file port
      pusher-cli serve --key demo --app-id 1 --secret-file secret
      pusher-cli serve --webhook http://localhost:8000/hook --log-events
    """,
    .check: """
    Usage: pusher-cli check [OPTION...] [CHANNEL...]
    Tests each stage of a subscription: settings, name service, connection, TLS,
    upgrade, greeting, ping, each channel, HTTP API. A failed stage shows what was
    expected, what came, who is at fault and what to try. With --publish, an event
    goes through the HTTP API to each channel and back, or to a channel of its own.

      pusher-cli check --env-file .env private-orders.1
      pusher-cli check --env-file .env --publish
      pusher-cli check --local
    """,
    .bench: """
    Usage: pusher-cli bench [OPTION...] [fanout|client|presence|connect|storm]
    Loads a server with subscribers and numbered events, and prints what was lost,
    doubled or late. 'fanout' sends through the HTTP API, 'client' sends client
    events, and 'presence' lets members join and leave. 'connect' only opens
    sockets, and 'storm' loses all of them at once.

      pusher-cli bench --local
      pusher-cli bench --env-file .env --subscribers 1000 --time 60s
      pusher-cli bench --local -o json --fail 'lost>0' --fail 'p99>200ms'
      pusher-cli bench connect --local --subscribers 5000
    """,
    .config: """
    Usage: pusher-cli config [COMMAND] [OPTION...]
           pusher-cli config path
           pusher-cli config profiles
    Prints every setting of COMMAND (default: subscribe) and its source. You may add
    the options of COMMAND. With -o json, each setting is a JSON line. Secrets are
    left out. 'path' prints the path of the configuration file, and 'profiles' the
    names of its profiles.

      pusher-cli config --env-file .env
      pusher-cli config trigger --profile shop -o json | jq -r .source
    """,
    .completion: """
    Usage: pusher-cli completion bash|zsh|fish
    Prints a script that lets the shell complete commands, options and values.
    'make install' installs the scripts for all three shells. To install one by
    hand, put one of these lines in ~/.bashrc or ~/.zshrc:

      source <(pusher-cli completion bash)
      source <(pusher-cli completion zsh)

    For fish, or for all users:

      pusher-cli completion fish >~/.config/fish/completions/pusher-cli.fish
      pusher-cli completion bash | sudo tee /etc/bash_completion.d/pusher-cli
      pusher-cli completion zsh >/usr/local/share/zsh/site-functions/_pusher-cli
    """,
  ]
}
