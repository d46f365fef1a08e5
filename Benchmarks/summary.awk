# Turns the results of the summary into one Markdown table with a range for each figure: the lowest and
# the highest value of the rounds. `kind` says what a file has:
#
# channels, sse, largest   reader, link, payload, events, seconds, CPU seconds, peak KiB, lines
# serve                    the fields of fan-out.awk
# starts                   microseconds of C and of pusher-cli
# instructions             pass, row, side, instructions, number of events

function note(row, side, value) {
  if (!((row, side) in lowest) || value < lowest[row, side]) lowest[row, side] = value
  if (!((row, side) in highest) || value > highest[row, side]) highest[row, side] = value
}

function side_of(reader) { return reader ~ /^pusher-cli/ ? "ours" : "other" }

kind == "channels" { note("subscribe " $2 " " $3, side_of($1), $6 / $4 * 1e9) }
kind == "channels" && $1 == "websockets" && $2 == "plain" && $3 == 200 { note("memory", "other", $7 * 1024 / 1e6) }
kind == "sse" { note("sse " $2 " " $3, side_of($1), $6 / $4 * 1e9) }
kind == "largest" { note("memory", "ours", $7 * 1024 / 1e6) }
kind == "starts" {
  note("start", "other", $1 * 1000)
  note("start", "ours", $2 * 1000)
}
kind == "instructions" { note($2, $3 == "now" ? "ours" : "other", $4 / $5) }

# A round measures a server without subscribers before the same server with them.
kind == "serve" && $3 == 0 { note("idle", side_of($1), ($7 - $6) / $2) }
kind == "serve" && $3 > 0 && $2 == 0 { alone[$1] = $5 / $3 }
kind == "serve" && $3 > 0 && $2 > 0 {
  each = ($5 / $3 - alone[$1]) / $2 * 1e9
  if ($1 == "websockets") note("serve pusher-cli", "other", each)
  if ($1 == "websockets") note("serve pusher-cli, lone", "other", each)
  if ($1 != "websockets") note("serve " $1, "ours", each)
}

function pair(low, high, form,   first, last) {
  first = form == "count" ? grouped(low) : sprintf(form, low)
  last = form == "count" ? grouped(high) : sprintf(form, high)
  return first == last ? first : first "–" last
}

# Returns the range of a side in a short unit.
function shown(row, side, unit,   low, high) {
  if (!((row, side) in lowest)) return unit == "" ? "no valgrind" : "none"
  low = lowest[row, side]
  high = highest[row, side]
  if (unit == "ns" && high >= 1e6) return pair(low / 1e6, high / 1e6, "%.1f") " ms"
  if (unit == "ns" && high >= 2e3) return pair(low / 1e3, high / 1e3, "%.1f") " us"
  if (unit == "ns") return pair(low, high, "count") " ns"
  if (unit == "") return pair(low, high, "count")
  return pair(low, high, "%.1f") " " unit
}

# Returns the text with blanks. A sign of several bytes counts as one in every awk.
function padded(text, width, is_right,   plain, fill) {
  plain = text
  gsub(/–/, "-", plain)
  for (fill = width - length(plain); fill > 0; fill--) text = is_right ? " " text : text " "
  return text
}

function print_row(what, ours, other) {
  printf("| %s | %s | %s |\n", padded(what, 32, 0), padded(ours, 14, 1), padded(other, 24, 0))
}

function show(what, row, unit, name) {
  print_row(what, shown(row, "ours", unit), name " " shown(row, "other", unit))
}

END {
  print_row("what", "pusher-cli", "next to it")
  print "| -------------------------------- | -------------: | ------------------------ |"
  show("CPU per event: 200 B", "subscribe plain 200", "ns", "websockets")
  show("CPU per event: 1000 B", "subscribe plain 1000", "ns", "websockets")
  show("CPU per event: 200 B, TLS", "subscribe TLS 200", "ns", "websockets")
  show("CPU per event: sse, 200 B", "sse plain 200", "ns", "curl")
  show("CPU per event: sse, 200 B, TLS", "sse TLS 200", "ns", "curl")
  show("instructions per event: 200 B", "json-200", "", "simdjson")
  show("instructions per event: 1000 B", "json-1000", "", "simdjson")
  show("peak memory of 10 million events", "memory", "MB", "websockets")
  show("start to first byte", "start", "ns", "C")
  show("serve: CPU per delivery, by tens", "serve pusher-cli", "ns", "websockets")
  show("serve: CPU per delivery, lone", "serve pusher-cli, lone", "ns", "websockets")
  show("serve: memory per connection", "idle", "KiB", "websockets")
}
