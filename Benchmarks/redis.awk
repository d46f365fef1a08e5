# Turns the results of servers with a Redis, and of one server without, into three Markdown tables:
# the costs of an event, the share of Redis, and the delay. Each figure is the median of the runs.
# Each comparison is the median of the pairs, because the runs of a round follow each other.
# `processors` is the machine's number.
#
# Fields of the first file: nodes (with "-pinned" if all but Redis run on one processor),
# subscribers, events, seconds, CPU seconds, KiB before, KiB after, CPU seconds of idle connections,
# of the busiest thread, of the load generator, of other work, of Redis, messages published, bytes
# in, bytes out.
#
# Fields of the second: nodes, server of the subscriber, pause, events, median and 99th percentile
# in microseconds.

BEGIN {
  words["one"] = "1"; words["one-redis"] = "1, Redis"; words["two-redis"] = "2, Redis"
  words["one-pinned"] = "1"; words["two-redis-pinned"] = "2, Redis"
  source["one"] = "one node"; source["two-redis same"] = "Redis, same node"; source["two-redis other"] = "Redis, other node"
}

function of(figure, row,   round, values) {
  for (round = 1; round <= rounds[row]; round++) values[round] = taken[figure, row, round]
  return median(values, rounds[row])
}

# Returns the median ratio of a row's figure to another row's, by runs that follow each other.
function times(figure, row, other,   round, values) {
  for (round = 1; round <= rounds[row]; round++) values[round] = taken[figure, row, round] / taken[figure, other, round]
  return median(values, rounds[row])
}

function next_round(row) {
  if (!(row in rounds)) order[++rows] = row
  return ++rounds[row]
}

FNR == NR {
  row = $1 FS $2
  round = next_round(row)
  taken["rate", row, round] = $2 * $3 / $4
  taken["event", row, round] = $5 / $3 * 1e9
  # The run without subscribers comes first.
  if ($2 > 0) taken["delivery", row, round] = (taken["event", row, round] - taken["event", $1 FS 0, round]) / $2
  taken["others", row, round] = $11 / $4 / processors * 100
  taken["redis", row, round] = $12 / $3 * 1e9
  taken["published", row, round] = $13 / $3
  taken["in", row, round] = $14 / $3
  taken["out", row, round] = $15 / $3
  costs = rows
  next
}

{
  row = ($1 == "one" ? $1 : $1 " " $2) FS $3
  round = next_round(row)
  taken["median", row, round] = $5
  taken["most", row, round] = $6
}

function print_costs(   format, place, row, parts, pinned, base) {
  format = "| %-8s | %10s | %11s | %12s | %12s | %15s | %14s | %10s |\n"
  printf(format, "nodes", "processors", "subscribers", "deliveries/s", "CPU ns/event",
    "CPU ns/delivery", "times one node", "other work")
  print "| -------- | ---------: | ----------: | -----------: | -----------: | --------------: | -------------: | ---------: |"
  for (place = 1; place <= costs; place++) {
    row = order[place]
    split(row, parts, FS)
    pinned = parts[1] ~ /-pinned$/
    base = (pinned ? "one-pinned" : "one") FS parts[2]
    printf(format, words[parts[1]], pinned ? 1 : processors, grouped(parts[2]), parts[2] > 0 ? grouped(of("rate", row)) : "",
      grouped(of("event", row)), parts[2] > 0 ? grouped(of("delivery", row)) : "",
      parts[2] > 0 ? sprintf("%.2f", times("delivery", row, base)) : "", sprintf("%.0f %%", of("others", row)))
  }
}

function print_carried(   format, place, row, parts) {
  format = "| %-8s | %11s | %18s | %14s | %14s | %15s |\n"
  print ""
  printf(format, "nodes", "subscribers", "Redis CPU ns/event", "messages/event", "bytes in/event", "bytes out/event")
  print "| -------- | ----------: | -----------------: | -------------: | -------------: | --------------: |"
  for (place = 1; place <= costs; place++) {
    row = order[place]
    split(row, parts, FS)
    if (parts[1] !~ /-redis$/) continue
    printf(format, words[parts[1]], grouped(parts[2]), grouped(of("redis", row)), sprintf("%.2f", of("published", row)),
      grouped(of("in", row)), grouped(of("out", row)))
  }
}

function print_delays(   format, place, row, parts, base) {
  format = "| %-17s | %7s | %9s | %9s | %18s | %18s |\n"
  print ""
  printf(format, "subscriber", "pause", "median", "99 of 100", "times: the median", "times: 99 of 100")
  print "| ----------------- | ------: | --------: | --------: | -----------------: | -----------------: |"
  for (place = costs + 1; place <= rows; place++) {
    row = order[place]
    split(row, parts, FS)
    base = "one" FS parts[2]
    printf(format, source[parts[1]], sprintf("%.1f ms", parts[2] / 1000), grouped(of("median", row)) " us",
      grouped(of("most", row)) " us", sprintf("%.2f", times("median", row, base)), sprintf("%.2f", times("most", row, base)))
  }
}

END {
  print_costs()
  print_carried()
  print_delays()
}
