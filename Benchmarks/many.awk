# Turns the results of all rounds, sorted by what, number and time, into one Markdown table. Each
# row shows the round with the median time. Fields: what, number, seconds, KiB.

function finish(   middle) {
  if (count == 0) return
  middle = int((count + 1) / 2)
  printf "| %-8s | %6d | %7.1f ms | %6.1f MB |\n", what, number, seconds[middle] * 1000,
    memory[middle] * 1024 / 1000000
  count = 0
}

BEGIN {
  print "| what     | number |       time | memory    |"
  print "| -------- | -----: | ---------: | --------: |"
}

$1 != what || $2 != number { finish(); what = $1; number = $2 }

{ count++; seconds[count] = $3; memory[count] = $4 }

END { finish() }
