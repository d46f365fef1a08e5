/// Texts that are valid, and texts that are invalid by RFC 8259.
package enum JSONSamples {
  package static let valid = [
    // Section 3: literals.
    "true", "false", "null", " null\n", "\t true \r\n",
    // Section 6: numbers.
    "0", "-0", "1", "-1", "10", "1234567890", "0.0", "-0.5", "1.10", "1e5", "1E5", "1e+5", "1e-05",
    "0e0", "0.1e-10", "1e400", "-1e-400", "9223372036854775807", "9223372036854775808",
    "18446744073709551616", "3.141592653589793238462643383279502884197169399375105820974944592307",
    // Section 7: strings.
    #""""#, #""a""#, #""/""#, #""\/""#, #""\"""#, #""\\""#, #""\b\f\n\r\t""#, #""\u0000""#,
    #""\u00e9""#, #""\u00E9""#, #""\uABCD\uabcd""#, #""\ud83d\ude00""#, #""\ud800""#, #""\udc00""#,
    #""\ud800\u0041""#, #""\ud800\ud800\udc00""#, "\"\u{7F}\"", "\"\u{80}\u{9F}\"", "\"é中😀\"",
    "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"01234567\"", "\"0123456\\n\"",
    "\"0123456789abcdef\"",
    // Sections 4 and 5: objects and arrays.
    "[]", "[ ]", "{}", "{ }", "[1]", "[1,2]", "[ 1 , 2 ]", "[[]]", "[{}]", #"{"a":1}"#,
    #"{ "a" : 1 , "b" : [ ] }"#, #"{"":""}"#, #"{"a":1,"a":2}"#, #"{"a":{"a":{"a":null}}}"#,
    "[\n\t1,\r\n2\n]", #"{"\u0061":1}"#, "[true,false,null]", "[[[[[]]]],{},[{}]]",
  ]

  package static let invalid = [
    "", " ", "\n",
    // Literals.
    "tru", "truE", "True", "nul", "nulll", "fals", "falsey", "NaN", "Infinity", "-Infinity",
    "undefined", "true false", "nulltrue",
    // Numbers.
    "-", "+1", ".5", "5.", "1.e5", "1e", "1e+", "1e-", "1.5e", "01", "-01", "00", "0x10", "1_000",
    "1 2", "--1", "-+1", "1.2.3", "1e5.5", "0.e1", "-a", "- 1", "1e 5", "٣", "1,", "012345678",
    // Strings.
    "\"", "\"a", "a\"", "'a'", #""\""#, #""\x41""#, #""\a""#, #""\u""#, #""\u12""#, #""\u123""#,
    #""\u12g4""#, #""\u 123""#, #""\U0041""#, "\"\n\"", "\"\t\"", "\"\0\"", "\"\u{1F}\"",
    "\"a\"b", "\"\\", "\"\\u12", "\"a\" \"b\"", "\"\\\u{E9}\"", #""\0""#, "\\u0022a\\u0022",
    // Arrays and objects.
    "[", "]", "{", "}", "[}", "{]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1:2]",
    "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1,,\"b\":2}", "{\"a\" 1}",
    "{a:1}", "{'a':1}", "{1:1}", "{\"a\":1 \"b\":2}", "{\"a\"::1}", "{\"a\":1:2}", "{\"a\",1}",
    "[]]", "{}}", "[][]", "{}{}", "[1]2", "{null:1}", "{[]:1}", "[\"a\"", "{\"a\":1", "{\"a",
    // Invalid white space, comments, byte order marks.
    "\u{A0}1", "\u{0B}1", "\u{0C}1", "1\u{0C}", "/*a*/1", "1//a", "#1", "\u{FEFF}1", "[\u{A0}]",
    "\0", "1\0", "[1\0]", "{\0}", "true\0", "\u{2028}1",
  ]

  /// Returns nested arrays, or objects, of this depth around `inner`.
  package static func nested(
    _ depth: Int, objects: Bool = false, around inner: String = ""
  ) -> String {
    let opening = String(repeating: objects ? #"{"a":"# : "[", count: depth)
    let isEmptyObject = objects && inner.isEmpty
    return opening.dropLast(isEmptyObject ? 4 : 0) + inner
      + String(repeating: objects ? "}" : "]", count: depth)
  }
}
