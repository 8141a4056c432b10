import Foundation
import Sessions
import TestSupport
import Testing

@Suite struct JSON5ParserTests {
  private func parse(_ text: String) throws(JSON5Fault) -> JSONValue {
    try JSON5Parser.parse(Array(text.utf8))
  }

  @Test func everyFormOfJSON5IsRead() throws {
    let text = """
      \u{feff}// A comment
      { /* another */ plain: 1, "quoted": 'single', 'single': "dou\\"ble",
        numbers: [+1, -2.5, .5, 5., 1e3, 0x1F, Infinity, -Infinity, 9223372036854775807],
        lines: 'one \\
      two', escapes: "\\u00e9\\x41\\n\\t\\0\\v\\'\\ud83d\\ude00", nothing: null, yes: true, no: false,
        größe_$1: {}, list: [1, 2,], }
      """
    try expectEqual(
      parse(text),
      .table([
        "plain": .integer(1), "quoted": .text("single"), "single": .text("dou\"ble"),
        "numbers": .list([
          .integer(1), .number(-2.5), .number(0.5), .number(5), .number(1000), .integer(31),
          .number(.infinity), .number(-.infinity), .integer(.max),
        ]),
        "lines": .text("one two"), "escapes": .text("éA\n\t\0\u{b}'😀"), "nothing": .null,
        "yes": .flag(true), "no": .flag(false), "größe_$1": .table([:]),
        "list": .list([.integer(1), .integer(2)]),
      ]))
  }

  /// Line and column of the first fault.
  @Test(arguments: [
    ("{\n a: 1,\n b: }", 3, 5, "a value is missing; found “}”"),
    ("{a:[1,2}", 1, 8, "“,” or “]” is missing; found “}”"),
    ("{é: 'x\\q', ü: 'x\\u12'}", 1, 17, "this escape needs 4 hexadecimal digits"),
    ("", 1, 1, "a value is missing; found the end of the text"),
    ("\r\n\r\n  {a: 1} x", 3, 10, "there is more text after the end"),
    ("{a: \"abc", 1, 5, "this text does not end: the closing quote is missing"),
    ("{a: 'a\nb'}", 1, 7, "this text does not end before the line does"),
    ("{\n  a: 1\n  b: 2}", 3, 3, "“,” or “}” is missing; found “b”"),
    ("{a 1}", 1, 4, "“:” is missing after the key “a”; found “1”"),
    ("{a: 1, 'a': 2}", 1, 8, "the key “a” is there twice"),
    ("[01]", 1, 2, "a number does not begin with 0 before other digits"),
    ("[1.2.3]", 1, 2, "this is no number"),
    ("[0x]", 1, 2, "this is no hexadecimal number up to 0x7FFFFFFFFFFFFFFF"),
    ("[1e]", 1, 2, "the exponent has no digits"),
    ("[tru]", 1, 2, "a value is missing; found “t”"),
    ("{a: 1 /* b", 1, 7, "this comment does not end"),
    ("['\\ud800']", 1, 3, "half a surrogate pair"),
    ("{\u{1}: 1}", 1, 2, "a key is missing; found the character 1"),
    ("[\n[1,\n2", 2, 1, "this does not end: “]” is missing"),
  ])
  func aFaultHasItsPlace(text: String, line: Int, column: Int, reason: String) throws {
    let fault = try #require(throws: JSON5Fault.self) { try parse(text) }
    expectTrue(fault.line == line && fault.column == column, "\(text): \(fault)")
    expectEqual(fault.reason, reason)
  }

  @Test func bytesThatAreNotUTF8HaveTheirPlace() throws {
    let fault = try #require(throws: JSON5Fault.self) {
      try JSON5Parser.parse(Array("{\n  a: 'é".utf8) + [0xFF] + Array("'}".utf8))
    }
    expectTrue(fault.line == 2 && fault.column == 8 && fault.reason == "the text is not UTF-8")
  }

  @Test func nestingIsLimited() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    #expect(throws: Never.self) { try parse(nested(JSON5Parser.mostLevels)) }
    for levels in [JSON5Parser.mostLevels + 1, 1_000_000] {
      let fault = try #require(throws: JSON5Fault.self) { try parse(nested(levels)) }
      expectEqual(fault.column, JSON5Parser.mostLevels + 1)
    }
  }

  /// Foundation reads the same values where both read a text. It accepts more: equal keys, for example.
  @Test func foundationReadsTheSame() throws {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    for text in [
      "{a:1}", "[1,2,]", "'x'", "{'a': [true, false, null, .5, 0x10, -3, 1e-3]}", "/**/ [] //x",
      "{\"a\": \"\\u00e9\\\\\"}", "{ $a_1: 9223372036854775807 }", "[[[[]]], {}]", "[-0.5, +7]",
    ] {
      try expectEqual(
        parse(text), decoder.decode(JSONValue.self, from: Data(text.utf8)), "\(text)")
    }
    for text in ["{a:1,,}", "[1 2]", "{a}", "[", "nul", "'a", "{a:1}}", "[,]", "/*"] {
      #expect(throws: JSON5Fault.self) { try parse(text) }
      #expect(throws: (any Error).self) {
        try decoder.decode(JSONValue.self, from: Data(text.utf8))
      }
    }
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    let value = JSONValue.table([
      "a": .list([.null, .flag(true), .integer(-5), .number(0.1), .number(1e300), .integer(.min)]),
      "b/ü": .text("\u{0}\u{1f}\"\\é😀\u{2028}"), "": .table([:]),
    ])
    for isPretty in [false, true] {
      try expectEqual(JSON5Parser.parse(value.bytes(isPretty: isPretty)), value)
    }
    expectEqual(
      JSONValue.list([.number(.nan), .number(.infinity)]).bytes(isPretty: false),
      Array("[null,null]".utf8))
  }
}
