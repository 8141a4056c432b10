/// Returns the words that `word` may be a misspelling or a part of, the nearest ones first, at most three.
/// Case does not count.
func nearWords(to word: String, among words: some Sequence<String>) -> [String] {
  let wanted = Array(word.lowercased())
  guard !wanted.isEmpty else { return [] }
  let most = max(1, wanted.count / 3)
  var found: [(word: String, distance: Int)] = []
  for candidate in words where !found.contains(where: { $0.word == candidate }) {
    let letters = Array(candidate.lowercased())
    let distance = editDistance(wanted, letters, most: most)
    if distance <= most {
      found.append((candidate, distance))
    } else if wanted.count >= 3, candidate.lowercased().contains(word.lowercased()) {
      found.append((candidate, most + 1))
    }
  }
  return found.sorted { $0.distance < $1.distance }.prefix(3).map(\.word)
}

/// Returns the end of a message: a question for the words that `nearWords` finds, or a full stop.
func didYouMean(_ word: String, among words: some Sequence<String>) -> String {
  let near = nearWords(to: word, among: words).map { "“\($0)”" }
  return near.isEmpty ? "." : "; did you mean \(near.joined(separator: " or "))?"
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbour that turn `a`
/// into `b`; `most + 1` if it is larger than `most`.
func editDistance(_ a: [Character], _ b: [Character], most: Int) -> Int {
  if abs(a.count - b.count) > most { return most + 1 }
  var before: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
      row.append(least)
    }
    (before, last) = (last, row)
  }
  return min(last[b.count], most + 1)
}
