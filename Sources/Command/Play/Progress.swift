/// One file's entry in the progress display.
struct Progress {
  var name: String
  /// Position in seconds; negative before the start.
  var position: Double
  /// Playing time in seconds; nil if it is endless.
  var duration: Double?
  /// Recent peak sample of each channel; 1 is full scale.
  var peaks: [Float]
}

extension [Progress] {
  /// Returns the display: one line per file, at most `columns` wide, and at most as many lines as
  /// fit into `rows`.
  func lines(columns: Int, rows: Int) -> [String] {
    // The last column stays empty, because some terminals wrap there.
    let width = columns - 1
    let most = Swift.max(1, rows - 1)
    if count > most, most > 1 {
      let rest = fitted("and \(count - most + 1) more", to: Swift.min(width, 20))
      return Array(prefix(most - 1)).lines(columns: columns, rows: rows) + [rest]
    }
    let shown = prefix(most)
    let longest = shown.map { Command.columns(of: $0.name) }.max() ?? 0
    let style =
      Style.allCases.first {
        $0.barWidth(for: shown, longestName: longest, width: width) >= Style.smallestBar
      } ?? .time
    let bar = Swift.min(60, style.barWidth(for: shown, longestName: longest, width: width))
    return shown.map { progress in
      let line = style.line(progress, nameWidth: style.nameWidth(longest, width), barWidth: bar)
      return Command.columns(of: line) > width ? fitted(line, to: Swift.max(0, width)) : line
    }
  }
}

/// How much of a file's progress a line shows, from most to least.
private enum Style: CaseIterable {
  /// Name, bar, time and a level meter per channel.
  case meters
  /// Levels as numbers instead of meters.
  case levels
  /// Only the loudest channel's level.
  case loudest
  /// Without the name.
  case bar
  /// Only the time and the loudest channel's level.
  case time

  static let smallestBar = 8

  /// Returns the columns for the name.
  func nameWidth(_ longest: Int, _ width: Int) -> Int {
    switch self {
    case .meters, .levels, .loudest: min(longest, max(8, width / 5))
    case .bar, .time: 0
    }
  }

  private func tail(_ progress: Progress) -> String {
    let levels = Levels(peaks: progress.peaks)
    let words =
      switch self {
      case .meters: levels.meters
      case .levels: levels.numbers
      case .loudest, .bar, .time: levels.loudest
      }
    let duration = progress.duration.map(clock) ?? "-:--"
    let position = clock(progress.position)
    // Leaves room for a minus sign, so that nothing moves when it disappears.
    let space = String(repeating: " ", count: max(0, duration.count + 1 - position.count))
    return "\(space)\(position)/\(duration) \(words)"
  }

  /// Returns the columns left for the bar in every line.
  func barWidth(for all: ArraySlice<Progress>, longestName longest: Int, width: Int) -> Int {
    let name = nameWidth(longest, width)
    let longestTail = all.map { columns(of: tail($0)) }.max() ?? 0
    // The bar's brackets and the spaces around it.
    return width - (name > 0 ? name + 1 : 0) - 3 - longestTail
  }

  func line(_ progress: Progress, nameWidth name: Int, barWidth: Int) -> String {
    if case .time = self { return tail(progress) }
    let duration = progress.duration ?? 0
    let part = duration > 0 ? progress.position / duration : 0
    let filled = gauge(part, width: barWidth, with: "#")
    return (name > 0 ? fitted(progress.name, to: name) + " " : "") + "[\(filled)] \(tail(progress))"
  }
}
