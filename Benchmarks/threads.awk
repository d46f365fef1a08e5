# Turns the results of `serve` on one thread and on several, a pair of runs after the other, into a Markdown table and a few
# words for each comparison: of each figure the median of the runs, of each comparison the median of the pairs. `processors`
# is how many the machine has. Fields as for fan-out.awk, the number of threads in place of the server.

function of(figure, threads,   round, values) {
  for (round = 1; round <= rounds[threads]; round++) values[round] = taken[figure, threads, round]
  return median(values, rounds[threads])
}

# How many times the figure of one thread that of so many is, of the pairs in which other work had no more of the machine
# than `most`; `pairs` is how many they are.
function times(figure, threads, most,   round, values) {
  pairs = 0
  for (round = 1; round <= rounds[threads]; round++)
    if (taken["others", threads, round] <= most && taken["others", 1, round] <= most)
      values[++pairs] = taken[figure, threads, round] / taken[figure, 1, round]
  return pairs ? median(values, pairs) : 0
}

function least(one, other) { return one < other ? one : other }

{
  threads = $1
  if (!(threads in rounds)) order[++rows] = threads
  round = ++rounds[threads]
  deliveries = $2 * $3
  taken["rate", threads, round] = deliveries / $4
  taken["server", threads, round] = $5 / deliveries
  taken["busiest", threads, round] = $9 / deliveries
  taken["generator", threads, round] = $10 / deliveries
  taken["others", threads, round] = $11 / $4 / processors
  # A thread uses one processor at most, server and load generator together all of them.
  taken["reach", threads, round] = 1 / taken["busiest", threads, round]
  alone = least(taken["reach", threads, round], 1 / taken["generator", threads, round])
  taken["allowed", threads, round] = least(alone, processors * deliveries / ($5 + $10))
}

END {
  format = "| %7s | %12s | %22s | %14s | %25s | %17s | %10s |\n"
  printf(format, "threads", "deliveries/s", "server CPU ns/delivery", "busiest thread", "generator CPU ns/delivery",
    "most deliveries/s", "other work")
  print "| ------: | -----------: | ---------------------: | -------------: | ------------------------: | ----------------: | ---------: |"
  for (row = 1; row <= rows; row++) {
    threads = order[row]
    printf(format, threads, grouped(of("rate", threads)), grouped(of("server", threads) * 1e9),
      grouped(of("busiest", threads) * 1e9), grouped(of("generator", threads) * 1e9), grouped(of("allowed", threads)),
      sprintf("%.0f %%", of("others", threads) * 100))
  }
  for (row = 1; row <= rows; row++) {
    threads = order[row]
    if (threads == 1) continue
    printf("\n%d threads and one, pair by pair:\n\n", threads)
    printf("- deliveries/s: %.2f times, of %d pairs\n", times("rate", threads, processors), pairs)
    quiet = times("rate", threads, 0.05)
    if (pairs) printf("- the same where other work had at most 5 %% of the machine: %.2f times, of %d pairs\n", quiet, pairs)
    printf("- what %d processors allow without other work: %.2f times\n", processors, times("allowed", threads, processors))
    printf("- CPU time a delivery: %.2f times\n", times("server", threads, processors))
    printf("- what the busiest thread's CPU time allows on processors enough: %.2f times\n", times("reach", threads, processors))
  }
}
