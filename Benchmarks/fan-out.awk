# Turns the results of all rounds into three Markdown tables: of fan-out, of idle connections, and
# of one subscriber besides such connections. Each row shows the round with the median CPU time.
# `base` names the server to compare with. Fields: server, subscribers, events, seconds, CPU
# seconds, KiB before, KiB after, CPU seconds of idle connections, of the busiest thread, of the
# load generator, of other work, idle connections.

function middle(row,   round, other, less) {
  for (round = 1; round <= rounds[row]; round++) {
    less = 0
    for (other = 1; other <= rounds[row]; other++)
      if (cpu[row, other] < cpu[row, round] || (cpu[row, other] == cpu[row, round] && other < round)) less++
    if (less == int((rounds[row] - 1) / 2)) return round
  }
}

{
  key = $1 FS $2 FS ($3 > 0) FS $12
  if (!(key in index_of)) {
    index_of[key] = ++rows
    server[rows] = $1; subscribers[rows] = $2; events[rows] = $3; idle[rows] = $12
  }
  row = index_of[key]
  round = ++rounds[row]
  seconds[row, round] = $4; cpu[row, round] = $5; before[row, round] = $6; after[row, round] = $7
  connecting[row, round] = $8
}

END {
  for (row = 1; row <= rows; row++) {
    round = middle(row)
    if (events[row] == 0) continue
    if (idle[row] > 0) { each[row] = cpu[row, round] / events[row]; continue }
    each[row] = cpu[row, round] / events[row]
    if (subscribers[row] == 0) alone[server[row]] = each[row]
    rate[row] = events[row] * subscribers[row] / seconds[row, round]
    if (server[row] == base) base_rate[subscribers[row]] = rate[row]
  }
  format = "| %-16s | %11s | %9s | %12s | %17s | %16s | %16s |\n"
  printf(format, "server", "subscribers", "events", "deliveries/s", "CPU ns/event", "CPU ns/delivery", "times " base)
  print "| ---------------- | ----------: | --------: | -----------: | ----------------: | ---------------: | ---------------: |"
  for (row = 1; row <= rows; row++) {
    if (events[row] == 0 || idle[row] > 0) continue
    count = subscribers[row]
    printf(format, server[row], grouped(count), grouped(events[row]), count ? grouped(rate[row]) : "",
      grouped(each[row] * 1e9), count ? grouped((each[row] - alone[server[row]]) / count * 1e9) : "",
      count ? sprintf("%.1f", rate[row] / base_rate[count]) : "")
  }
  print "\n| server           | idle connections | resident | of it each |"
  print "| ---------------- | ---------------: | -------: | ---------: |"
  for (row = 1; row <= rows; row++) {
    if (events[row] > 0) continue
    round = middle(row)
    printf("| %-16s | %16s | %5.1f MB | %6.1f KiB |\n", server[row], grouped(subscribers[row]),
      after[row, round] * 1024 / 1e6, (after[row, round] - before[row, round]) / subscribers[row])
  }
  print "\n| server           | idle beside it | CPU ns/event | CPU s of connecting | of it each |"
  print "| ---------------- | -------------: | -----------: | ------------------: | ---------: |"
  for (row = 1; row <= rows; row++) {
    if (idle[row] == 0) continue
    round = middle(row)
    printf("| %-16s | %14s | %12s | %19.2f | %10s |\n", server[row], grouped(idle[row]), grouped(each[row] * 1e9),
      connecting[row, round],
      idle[row] < 1000 ? "" : sprintf("%.1f KiB", (after[row, round] - before[row, round]) / idle[row]))
  }
}
