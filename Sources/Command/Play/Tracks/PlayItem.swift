import ArgumentParser
import Glibc
import System

/// A file, folder or playlist of `cuejack play`, with options of its own behind an @:
/// `take.wav@gain=-6dB,start=1:30`.
struct PlayItem: Sendable {
  let path: String
  var options = ItemOptions()

  init(path: String) { self.path = path }

  /// Parses an argument. What stands behind an @ is a part of the name if there is such a file, or if it
  /// does not look like an option.
  init(parsing text: String) throws {
    guard unsafe access(text.systemName, F_OK) != 0, let mark = text.lastIndex(of: "@") else {
      self.init(path: text)
      return
    }
    let words = text[mark...].dropFirst()
    guard words.firstMatch(of: #/^[a-z-]+=/#) != nil else {
      self.init(path: text)
      return
    }
    self.init(path: String(text[..<mark]))
    for word in words.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else {
        throw ValidationError("“\(word)” is no option of a file, such as gain=-6dB")
      }
      try options.set(String(sides[0]), to: String(sides[1]))
    }
  }
}
