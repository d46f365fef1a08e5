# Turns the counted instructions of all passes into one Markdown table. A figure that differs between
# passes shows its lowest and highest value; ratios compare the averages. Fields: pass, row, side,
# instructions, number of events. `has_before` shows a second program.

# row KEY WHAT GOAL: adds a row.
function row(its_key, text, its_goal) {
  key[++rows] = its_key
  what[rows] = text
  goal[rows] = its_goal
}

BEGIN {
  row("json-200", "`subscribe`, 200 B", "1.0")
  row("json-1000", "`subscribe`, 1000 B, dense JSON", "2.0")
  row("text-1000", "`subscribe`, 1000 B, long text", "0.7")
  row("sse-200", "`sse`, 200 B", "1.5")
  row("turns-200", "eight shapes by turns, 200 B", "")
  row("fresh-200", "new names in each event, 200 B", "")
  row("summary-200", "`--summary`, 200 B", "")
  row("record-200", "`--record`, 200 B", "")
  row("raw-200", "`-o raw`, 200 B", "")
  row("where-200", "`--where`, 200 B", "")
  row("field-200", "`--field`, 200 B", "")
  row("format-200", "`-F`, 200 B", "")
}

{
  figure = $4 / $5
  if (!(($2, $3) in count) || figure < lowest[$2, $3]) lowest[$2, $3] = figure
  if (!(($2, $3) in count) || figure > highest[$2, $3]) highest[$2, $3] = figure
  sum[$2, $3] += figure
  count[$2, $3]++
}

function shown(key, side,   low, high) {
  if (!((key, side) in count)) return ""
  low = grouped(lowest[key, side])
  high = grouped(highest[key, side])
  return low == high ? low : low "–" high
}

function ratio(key, side) {
  if (!((key, side) in count) || !((key, "simdjson") in count)) return ""
  return sprintf("%.2f", sum[key, side] / count[key, side] / (sum[key, "simdjson"] / count[key, "simdjson"]))
}

# Returns the text with blanks before it. A sign of several bytes counts as one in every awk.
function right(text, width,   plain, fill) {
  plain = text
  gsub(/–/, "-", plain)
  for (fill = width - length(plain); fill > 0; fill--) text = " " text
  return text
}

function print_row(text, earlier, now, other, earlier_ratio, its_ratio, its_goal) {
  printf("| %-31s ", text)
  if (has_before) printf("| %s | %s ", right(earlier, 13), right(earlier_ratio, 7))
  printf("| %s | %s | %s | %s |\n", right(now, 13), right(other, 13), right(its_ratio, 5), right(its_goal, 4))
}

END {
  print_row("instructions per event", "before", "pusher-cli", "simdjson", "ratio", "ratio", "goal")
  printf("| ------------------------------- ")
  if (has_before) printf("| ------------: | ------: ")
  print "| ------------: | ------------: | ----: | ---: |"
  for (at = 1; at <= rows; at++)
    if ((key[at], "now") in count)
      print_row(what[at], shown(key[at], "before"), shown(key[at], "now"), shown(key[at], "simdjson"),
        ratio(key[at], "before"), ratio(key[at], "now"), goal[at])
}
