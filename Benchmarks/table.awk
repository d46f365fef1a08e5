# Turns the results of all rounds into one Markdown table with aligned columns. Each row shows the
# round with the median time. `base` names the reader to compare with. Fields: reader, link,
# payload, events, seconds, CPU seconds, peak KiB, lines.

function cell(row, column, text) {
  cells[row, column] = text
  if (length(text) > width[column]) width[column] = length(text)
}

function repeated(sign, count,   text) {
  while (count-- > 0) text = text sign
  return text
}

function median(row,   round, other, faster, best) {
  best = 1
  for (round = 1; round <= rounds[row]; round++) {
    faster = 0
    for (other = 1; other <= rounds[row]; other++)
      if (seconds[row, other] < seconds[row, round] ||
          (seconds[row, other] == seconds[row, round] && other < round)) faster++
    if (faster == int((rounds[row] - 1) / 2)) best = round
  }
  return best
}

{
  key = $1 FS $2 FS $3 FS $4
  if (!(key in index_of)) {
    index_of[key] = ++rows
    reader[rows] = $1; link[rows] = $2; size[rows] = $3; events[rows] = $4
  }
  row = index_of[key]
  round = ++rounds[row]
  seconds[row, round] = $5; cpu[row, round] = $6; memory[row, round] = $7
}

END {
  columns = split("reader,link,payload,events,events/s,CPU ns/event,peak RSS,times " base, heads, ",")
  for (column = 1; column <= columns; column++) cell(0, column, heads[column])
  for (row = 1; row <= rows; row++) {
    middle[row] = median(row)
    rate[row] = events[row] / seconds[row, middle[row]]
    if (reader[row] == base) base_rate[link[row], size[row]] = rate[row]
  }
  for (row = 1; row <= rows; row++) {
    cell(row, 1, reader[row])
    cell(row, 2, link[row])
    cell(row, 3, size[row] " B")
    cell(row, 4, grouped(events[row]))
    cell(row, 5, grouped(rate[row]))
    cell(row, 6, grouped(cpu[row, middle[row]] / events[row] * 1e9))
    cell(row, 7, sprintf("%.1f MB", memory[row, middle[row]] * 1024 / 1e6))
    cell(row, 8, sprintf("%.1f", rate[row] / base_rate[link[row], size[row]]))
  }
  for (row = 0; row <= rows; row++) {
    for (column = 1; column <= columns; column++) {
      text = cells[row, column]
      fill = repeated(" ", width[column] - length(text))
      printf("| %s ", column < 3 ? text fill : fill text)
    }
    print "|"
    if (row > 0) continue
    for (column = 1; column <= columns; column++)
      printf("| %s%s ", repeated("-", width[column] - 1), column < 3 ? "-" : ":")
    print "|"
  }
}
