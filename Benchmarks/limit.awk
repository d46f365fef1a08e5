# Turns the results of all rounds into one Markdown table. Ratios are medians of the rounds, with
# their lowest and highest value beside them; times are ranges. Fields: round, key, side, amount,
# number of events. The amount is seconds for `ns`, microseconds for `us`, KiB for `KiB` and bytes
# for `bytes`. `has_before` shows a second program.

# row WHAT KEY FORMULA AGAINST GOAL UNIT SIDES: AGAINST is the side to compare with, and SIDES are
# shown.
function row(text, its_key, its_formula, its_side, its_goal, its_unit, its_sides) {
  what[++rows] = text
  key[rows] = its_key
  formula[rows] = its_formula
  against[rows] = its_side
  goal[rows] = its_goal
  unit[rows] = its_unit
  sides[rows] = its_sides
}

BEGIN {
  row("`subscribe` ÷ cat, 200 B", "json-200", "ratio", "cat", "", "ns", "cat")
  row("`subscribe` ÷ cat, 1000 B, dense JSON", "json-1000", "ratio", "cat", "", "ns", "cat")
  row("`subscribe` ÷ cat, 1000 B, long text", "text-1000", "ratio", "cat", "", "ns", "cat")
  row("TLS ÷ cat, 200 B", "tls-200", "ratio", "cat", "1.1", "ns", "cat")
  row("TLS ÷ cat, 1000 B", "tls-1000", "ratio", "cat", "1.25", "ns", "cat")
  row("TLS, a record per event ÷ cat, 200 B", "records", "ratio", "cat", "1.25", "ns", "cat")
  row("permessage-deflate ÷ zlib alone", "deflate", "ratio", "zlib", "1.2", "ns", "zlib")
  row("`sse` ÷ cat, plain", "stream", "ratio", "cat", "2.0", "ns", "cat")
  row("`sse` ÷ cat, TLS", "stream-tls", "ratio", "cat", "2.0", "ns", "cat")
  row("`sse` ÷ `curl -N`, plain", "stream", "ratio", "curl", "0.3", "ns", "curl")
  row("`sse` ÷ `curl -N`, TLS", "stream-tls", "ratio", "curl", "0.3", "ns", "curl")
  row("delay ÷ C, 200 us apart, median", "delay-200-median", "ratio", "C", "1.1", "us", "C")
  row("delay ÷ C, 200 us apart, 99 of 100", "delay-200-99", "ratio", "C", "1.1", "us", "C")
  row("delay ÷ C, 2 ms apart, median", "delay-2000-median", "ratio", "C", "1.1", "us", "C")
  row("delay ÷ C, 2 ms apart, 99 of 100", "delay-2000-99", "ratio", "C", "1.1", "us", "C")
  row("start to first byte ÷ C", "start", "ratio", "C", "1.5", "us", "C")
  row("peak RSS, 10 million events, plain", "memory", "value", "", "8 MB", "KiB", "")
  row("peak RSS, 10 million events, TLS", "memory-tls", "value", "", "12 MB", "KiB", "")
  row("program, stripped", "size", "value", "", "6 MB", "bytes", "")
  row("rate of the library's handler ÷ program", "handler", "rate", "program", "0.85", "ns", "program")
  row("encrypted ÷ libsodium alone", "encrypted", "ratio", "libsodium", "1.3", "ns", "libsodium")
  row("`-F` ÷ plain printing", "format", "ratio", "plain", "1.3", "ns", "plain")
  row("`-t` ÷ plain printing", "timestamps", "ratio", "plain", "1.05", "ns", "plain")
  row("`-e` ÷ plain printing", "filter", "ratio", "plain", "1.05", "ns", "plain")
  row("10 000 channels ÷ one", "channels", "ratio", "one", "1.02", "ns", "one")
}

{
  taken[$2, $3, $1] = $4 / $5
  if ($1 > rounds) rounds = $1
}

# Returns the figure of a side in a round, in the displayed unit.
function figure(number, side, round,   scale) {
  scale = unit[number] == "ns" ? 1e9 : unit[number] == "KiB" ? 1024 / 1e6 : unit[number] == "bytes" ? 1 / 1e6 : 1
  if (!((key[number], side, round) in taken)) return ""
  return taken[key[number], side, round] * scale
}

# Returns the figure to compare with: the older program has some sides of its own.
function other(number, side, round,   its) {
  its = figure(number, side "-" against[number], round)
  return its == "" ? figure(number, against[number], round) : its
}

function ratio(number, side, round,   ours, its) {
  ours = figure(number, side, round)
  if (ours == "" || formula[number] == "value") return ours
  its = other(number, side, round)
  return formula[number] == "rate" ? its / ours : ours / its
}

# Collects the values of a side in all rounds; returns their number.
function collect(number, side, is_figure,   round, value, count) {
  for (round = 1; round <= rounds; round++) {
    value = is_figure ? figure(number, side, round) : ratio(number, side, round)
    if (value != "") values[++count] = value
  }
  return count
}

# Returns a value in the form of its row.
function formed(number, value) {
  return formula[number] == "value" ? sprintf("%.1f MB", value) : sprintf("%.2f", value)
}

# Returns the median of the rounds; an empty text if no round has a value.
function shown(number, side,   count) {
  count = collect(number, side, 0)
  return count ? formed(number, median(values, count)) : ""
}

# Returns the lowest and the highest value of the rounds: a side's figures, or its ratios.
function range(number, side, is_figure,   count, at, low, high) {
  count = collect(number, side, is_figure)
  if (!count) return ""
  low = high = values[1]
  for (at = 2; at <= count; at++) {
    if (values[at] < low) low = values[at]
    if (values[at] > high) high = values[at]
  }
  low = is_figure ? grouped(low) : formed(number, low)
  high = is_figure ? grouped(high) : formed(number, high)
  return low == high ? low : low "–" high
}

# Returns the times of all sides.
function parts(number,   words, count, place, text) {
  if (formula[number] == "value") return ""
  text = "ours " range(number, "now", 1)
  if (collect(number, "before", 1)) text = text ", before " range(number, "before", 1)
  count = split(sides[number], words, " ")
  for (place = 1; place <= count; place++) text = text ", " words[place] " " range(number, words[place], 1)
  return text " " unit[number]
}

# Returns the columns of a text: a sign of several bytes counts as one in every awk.
function columns_of(text) {
  gsub(/–|÷/, "-", text)
  return length(text)
}

function cell(number, column, text) {
  cells[number, column] = text
  if (columns_of(text) > width[column]) width[column] = columns_of(text)
}

function repeated(sign, count,   text) {
  while (count-- > 0) text = text sign
  return text
}

function is_left(column) { return column == 1 || column == columns }

function print_row(number,   column, fill) {
  for (column = 1; column <= columns; column++) {
    if (column == 2 && !has_before) continue
    fill = repeated(" ", width[column] - columns_of(cells[number, column]))
    printf("| %s ", is_left(column) ? cells[number, column] fill : fill cells[number, column])
  }
  print "|"
}

END {
  columns = split("what,before,now,lowest–highest,goal,times", heads, ",")
  for (column = 1; column <= columns; column++) cell(0, column, heads[column])
  for (number = 1; number <= rows; number++) {
    cell(number, 1, what[number])
    cell(number, 2, shown(number, "before"))
    cell(number, 3, shown(number, "now"))
    cell(number, 4, formula[number] == "value" ? "" : range(number, "now", 0))
    cell(number, 5, goal[number])
    cell(number, 6, parts(number))
  }
  print_row(0)
  for (column = 1; column <= columns; column++)
    if (column != 2 || has_before) printf("| %s%s ", repeated("-", width[column] - 1), is_left(column) ? "-" : ":")
  print "|"
  for (number = 1; number <= rows; number++) print_row(number)
}
