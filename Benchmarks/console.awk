# Turns the results of `serve` without a console, with an unused console and with one reader into a
# Markdown table. Each figure is the median of the runs, each ratio the median of the rounds. Fields
# as for fan-out.awk, with the console's state in place of the server.

function of(figure, state,   round, values) {
  for (round = 1; round <= rounds[state]; round++) values[round] = taken[figure, state, round]
  return median(values, rounds[state])
}

# Returns the median ratio of a state's figure to the figure without a console, round by round.
function times(figure, state,   round, values) {
  for (round = 1; round <= rounds[state]; round++)
    values[round] = taken[figure, state, round] / taken[figure, "none", round]
  return median(values, rounds[state])
}

{
  if (!($1 in rounds)) order[++rows] = $1
  round = ++rounds[$1]
  taken["events", $1, round] = $3 / $4
  taken["cpu", $1, round] = $5 / ($2 * $3)
}

END {
  format = "| %-7s | %8s | %15s | %12s |\n"
  printf(format, "console", "events/s", "CPU ns/delivery", "times none")
  print "| ------- | -------: | --------------: | -----------: |"
  for (row = 1; row <= rows; row++)
    printf(format, order[row], grouped(of("events", order[row])), grouped(of("cpu", order[row]) * 1e9),
      sprintf("%.2f", times("cpu", order[row])))
}
