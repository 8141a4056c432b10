/// A search for the known words that an unknown one was probably meant to be.
package enum NearWords {
  /// Returns the words that `word` resembles, the nearest first, at most three. Case does not count.
  ///
  /// It resembles the words at a distance of one edit, or of a third of its letters if that is more; those that
  /// begin with it, if it has at least two letters; and those that contain it, if it has at least three. A single
  /// letter resembles itself only.
  package static func find(_ word: String, in words: some Sequence<String>) -> [String] {
    // A long word is no slip of the keyboard, and comparing it takes long.
    guard word.utf8.count <= 64 else { return [] }
    let wanted = word.lowercased()
    let letters = Array(wanted)
    let most = max(1, letters.count / 3)
    var found: [(word: String, distance: Int)] = []
    for candidate in words where !found.contains(where: { $0.word == candidate }) {
      let known = candidate.lowercased()
      let distance = Self.distance(letters, Array(known), most: most)
      let isBegun = letters.count > 1 && known.hasPrefix(wanted)
      if distance <= most, distance < letters.count {
        found.append((candidate, distance))
      } else if isBegun || letters.count > 2 && known.contains(wanted) {
        found.append((candidate, most + 1))
      }
    }
    return found.sorted { $0.distance < $1.distance }.prefix(3).map(\.word)
  }

  /// Returns the end of a message about an unknown word: the question whether one of the words was meant that it
  /// resembles, or `otherwise` if it resembles none.
  package static func question(
    _ word: String, in words: some Sequence<String>, otherwise: String = ""
  ) -> String {
    question(find(word, in: words), otherwise: otherwise)
  }

  /// Returns the question whether one of `near` was meant, or `otherwise` if there are none.
  package static func question(_ near: [String], otherwise: String = "") -> String {
    if near.isEmpty { return otherwise }
    return "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
  }

  /// Returns `words` in the order of their distances from `word`.
  package static func sorted(_ words: [String], by word: String) -> [String] {
    let wanted = Array(word.lowercased())
    return words.map { ($0, distance(wanted, Array($0.lowercased()), most: .max - 1)) }
      .sorted { $0.1 < $1.1 }.map(\.0)
  }

  /// Returns the number of letters to insert, remove, replace or swap with their neighbour that turn `a`
  /// into `b`; `most + 1` if it is larger than `most`.
  private static func distance(_ a: [Character], _ b: [Character], most: Int) -> Int {
    if abs(a.count - b.count) > most { return most + 1 }
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          least = min(least, before[j - 1] + 1)
        }
        row.append(least)
      }
      (before, last) = (last, row)
    }
    return min(last[b.count], most + 1)
  }
}

extension NearWords {
  /// Returns the question whether a key was meant that `word` resembles, or for which it is a synonym; `otherwise`
  /// if there is none.
  static func question(_ word: String, in fields: [FieldShape], otherwise: String = "") -> String {
    let meant = fields.filter { $0.synonyms.contains(word.lowercased()) }.map(\.key)
    return question(meant.isEmpty ? find(word, in: fields.map(\.key)) : meant, otherwise: otherwise)
  }
}
