extension HelpPage {
  /// What people pipe the events into; each line has been run in a shell.
  static let recipesText = """
    Look at what a Laravel project sends, as a table:

      set -a; . ./.env; set +a
      pusher-cli subscribe -c private-orders -e 'order.*' |
        jq --unbuffered -r '[.event, .data.id, .data.total] | @tsv'

    React to an event with a script; </dev/null keeps it from eating the stream:

      pusher-cli subscribe -c private-deploys -e deploy.requested |
      while IFS= read -r line; do
        ref=$(printf '%s' "$line" | jq -r .data.ref)
        ./deploy.sh "$ref" </dev/null || echo "deploy of $ref failed" >&2
      done

    Start a build in a CI job once all is ready for its event, which may take five
    minutes (status 124 if none came, 7 if the build could not be started):

      event=$(pusher-cli subscribe -c "private-build-$RUN_ID" \\
        -e build.finished -n 1 --timeout 5m \\
        --on-ready './start-build.sh "$RUN_ID"') || exit
      printf '%s\\n' "$event" | jq -e '.data.status == "passed"'

    Who is there, who comes and goes:

      pusher-cli subscribe -t -L -c presence-lobby --user-id monitor |
        jq --unbuffered -r '[.received_at, .event, .data.user_id // ""] | @tsv'

    Record, and count what came:

      pusher-cli subscribe -t -c private-orders | tee -a orders.jsonl |
        jq --unbuffered -r .event

    Notice that a feed has gone quiet (status 124), or is out of reach (4):

      pusher-cli subscribe -c ticker --idle-timeout 2m >/dev/null; echo $?

    Try it all on one machine:

      echo '{"hello":"world"}' >greeting.json
      pusher-cli serve &
      pusher-cli subscribe --local my-channel -n 1 --on-ready \\
        'pusher-cli trigger --local -c my-channel -e greeting @greeting.json'

    """
}
