# Turns the results of all rounds into two Markdown tables with the median of each figure. Fields:
# row, threads, descriptors, KiB, seconds; of the row `decode`: row, nanoseconds of ours, of
# Foundation's.

function median(row, field,   list, i, j, held, count) {
  count = seen[row]
  for (i = 1; i <= count; i++) list[i] = value[row, field, i]
  for (i = 2; i <= count; i++) {
    held = list[i]
    for (j = i - 1; j > 0 && list[j] > held; j--) list[j + 1] = list[j]
    list[j + 1] = held
  }
  return list[int((count + 1) / 2)]
}

{
  if (!($1 in seen)) order[++rows] = $1
  seen[$1]++
  for (field = 2; field <= NF; field++) value[$1, field, seen[$1]] = $field + 0
}

END {
  print "| what                              | threads | descriptors | memory    |      time |"
  print "| --------------------------------- | ------: | ----------: | --------: | --------: |"
  for (i = 1; i <= rows; i++) {
    row = order[i]
    if (row == "decode") continue
    printf "| %-33s | %7d | %11d | %6.1f MB | %6.0f ms |\n", row, median(row, 2), median(row, 3),
      median(row, 4) * 1024 / 1000000, median(row, 5) * 1000
  }
  if ("decode" in seen) {
    printf "\nReading an event of 200 bytes as a type:\n\n"
    print "| reader                      | ns/event |"
    print "| --------------------------- | -------: |"
    printf "| `event.decode`              | %8d |\n", median("decode", 2)
    printf "| Foundation's JSONDecoder    | %8d |\n", median("decode", 3)
  }
}
