/// Returns the names that somebody who typed `word` may have meant, the nearest first, at most three.
func namesNear(_ word: String, in names: [String]) -> [String] {
  let typed = Array(word.lowercased())
  let most = max(1, typed.count / 3)
  let near = names.compactMap { name -> (name: String, distance: Int)? in
    let letters = Array(name.lowercased())
    // Somebody may have typed the beginning only.
    let isStart = typed.count > 1 && letters.starts(with: typed)
    let distance = isStart ? 1 : editDistance(typed, letters)
    return distance <= most ? (name, distance) : nil
  }
  return near.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(3).map(\.name)
}

/// Returns the number of insertions, removals, replacements and exchanges of neighbours that turn one
/// word into the other.
private func editDistance(_ a: [Character], _ b: [Character]) -> Int {
  var rows = [Array(0...b.count)]
  for i in 1..<max(1, a.count + 1) {
    var row = [i]
    for j in 1..<max(1, b.count + 1) {
      let isSame = a[i - 1] == b[j - 1]
      var least = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (isSame ? 0 : 1))
      if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
        least = min(least, rows[i - 2][j - 2] + 1)
      }
      row.append(least)
    }
    rows.append(row)
  }
  return rows[a.count][b.count]
}
