# Compares the table of instructions in docs/benchmarks.md, the first file, with one just counted, the
# second. Names each row that is more than 3 percent above the committed one, and then fails. Of two
# figures the higher one counts. `ours` is the compiler's version: the page's figures are of one
# compiler, on a processor with AVX2.

function text(field) {
  gsub(/^ +| +$/, "", field)
  return field
}

function figure(field) {
  sub(/.*–/, "", field)
  gsub(/ /, "", field)
  return field + 0
}

/^[-0-9]*, Debian 12, Swift .* \(x86-64 with AVX2\), valgrind/ {
  match($0, /Swift [0-9.]*/)
  if (substr($0, RSTART + 6, RLENGTH - 6) == ours) next
  printf("not compared: the figures of docs/benchmarks.md are of %s and AVX2\n", substr($0, RSTART, RLENGTH))
  exit
}

/^\| instructions per event /, $0 == "" {
  if (FNR == NR) committed[text($2)] = figure($3)
  else if (figure($3) > 1.03 * committed[text($2)]) {
    if (committed[text($2)]) printf("%s: %d, above the committed %d\n", text($2), figure($3), committed[text($2)])
    else if (figure($3)) printf("%s: docs/benchmarks.md has no figure\n", text($2))
    else next
    failed = 1
  }
}

END { exit failed }
