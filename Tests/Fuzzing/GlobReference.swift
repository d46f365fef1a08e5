/// Matches a pattern by trying every split of the name; `nil` for a pattern with sets, backslashes
/// or more stars than that allows.
func globReference(_ pattern: String, _ name: String) -> Bool? {
  let (pattern, name) = (Array(pattern.unicodeScalars), Array(name.unicodeScalars))
  guard pattern.allSatisfy({ $0 != "[" && $0 != "\\" }), pattern.count(where: { $0 == "*" }) < 4
  else { return nil }
  return fits(pattern[...], name[...])
}

private func fits(_ pattern: ArraySlice<Unicode.Scalar>, _ name: ArraySlice<Unicode.Scalar>) -> Bool
{
  guard let first = pattern.first else { return name.isEmpty }
  if first == "*" {
    return (name.startIndex...name.endIndex).contains { fits(pattern.dropFirst(), name[$0...]) }
  }
  guard let character = name.first, first == "?" || first == character else { return false }
  return fits(pattern.dropFirst(), name.dropFirst())
}
