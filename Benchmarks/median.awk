# Returns the median of `count` values from index 1 on; of an even number, the lower of the two in
# the middle.
function median(values, count,   one, other, less) {
  for (one = 1; one <= count; one++) {
    less = 0
    for (other = 1; other <= count; other++)
      if (values[other] < values[one] || (values[other] == values[one] && other < one)) less++
    if (less == int((count - 1) / 2)) return values[one]
  }
}
