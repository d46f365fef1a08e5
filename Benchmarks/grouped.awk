# 1234567 as 1 234 567.
function grouped(number,   text, out) {
  text = sprintf("%.0f", number)
  out = ""
  while (length(text) > 3) {
    out = " " substr(text, length(text) - 2) out
    text = substr(text, 1, length(text) - 3)
  }
  return text out
}
