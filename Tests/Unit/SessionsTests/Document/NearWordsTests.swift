import Sessions
import TestSupport
import Testing

@Suite struct NearWordsTests {
  @Test(arguments: [
    ("mian", ["main", "mail"], ["main"]), ("GIAN", ["gain"], ["gain"]),
    ("drums", ["drum", "drums2", "bass"], ["drum", "drums2"]),
    ("rend", ["render", "play"], ["render"]),
    ("re", ["record", "core", "render"], ["record", "render"]),
    ("cor", ["record", "play"], ["record"]), ("fy", ["fx", "play"], ["fx"]),
    ("abcdef", ["abcxyz"], []), ("abcdef", ["abcdxy"], ["abcdxy"]),
    ("a", ["b", "ab"], []), ("", ["a", ""], []),
    ("ab", ["ab1", "ab2", "ab3", "ab4"], ["ab1", "ab2", "ab3"]),
  ])
  func theNearestWordsAreFound(word: String, words: [String], near: [String]) {
    expectEqual(NearWords.find(word, in: words), near)
  }

  @Test func aLongWordIsNotCompared() {
    let word = String(repeating: "a", count: 65)
    expectTrue(NearWords.find(word, in: [word + "a"]).isEmpty)
  }

  @Test func theQuestionNamesAll() {
    expectEqual(NearWords.question(["a", "b"]), "; did you mean “a” or “b”?")
    expectEqual(NearWords.question("x", in: ["abc"], otherwise: "."), ".")
  }
}
