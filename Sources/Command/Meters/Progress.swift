import Analysis

/// One file's entry in the progress display.
struct Progress {
  var name: String
  /// Position in seconds; negative before the start.
  var position: Double
  /// Playing time in seconds; nil if it is endless.
  var duration: Double?
  var levels: Levels
  /// Forms of the text of a second line, the longest first; empty for no such line.
  var details: [String] = []
}

extension [Progress] {
  /// Returns the display: a line for each file, and one for its loudness if there is room. None is wider
  /// than `columns`, and at most as many as fit into `rows`.
  func lines(columns: Int, rows: Int, isColored: Bool) -> [String] {
    // The last column stays empty, because some terminals wrap there.
    let width = columns - 1
    let most = Swift.max(1, rows - 1)
    if count > most, most > 1 {
      let rest = fitted("and \(count - most + 1) more", to: Swift.min(width, 20))
      return Array(prefix(most - 1)).lines(columns: columns, rows: rows, isColored: isColored)
        + [rest]
    }
    let shown = prefix(most)
    let longest = shown.map { Command.columns(of: $0.name) }.max() ?? 0
    let style =
      Style.allCases.first {
        $0.barWidth(for: shown, longestName: longest, width: width) >= Style.smallestBar
      } ?? .time
    // The meters grow before the bar does.
    let meter =
      style == .meters
      ? (Levels.leastWidth...Style.largestMeter).last {
        style.barWidth(for: shown, longestName: longest, width: width, meterWidth: $0)
          >= Style.usualBar
      } ?? Levels.leastWidth : Levels.leastWidth
    let bar = style.barWidth(for: shown, longestName: longest, width: width, meterWidth: meter)
    let hasDetails = 2 * shown.count <= most
    return shown.flatMap { progress in
      func line(isColored: Bool) -> String {
        style.line(
          progress, nameWidth: style.nameWidth(longest, width), barWidth: bar, meterWidth: meter,
          isColored: isColored)
      }
      let plain = line(isColored: false)
      let details = progress.details.first { Command.columns(of: $0) + 2 <= width }
      return [
        Command.columns(of: plain) > width
          ? fitted(plain, to: Swift.max(0, width)) : isColored ? line(isColored: true) : plain
      ] + (hasDetails ? details.map { ["  \($0)"] } ?? [] : [])
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
  /// Width that the bar keeps while meters grow, and that they grow to.
  static let usualBar = 24
  static let largestMeter = 40

  /// Returns the columns for the name.
  func nameWidth(_ longest: Int, _ width: Int) -> Int {
    switch self {
    case .meters, .levels, .loudest: min(longest, max(8, width / 5))
    case .bar, .time: 0
    }
  }

  private func tail(_ progress: Progress, meterWidth: Int, isColored: Bool = false) -> String {
    let words =
      switch self {
      case .meters: progress.levels.meters(width: meterWidth, isColored: isColored)
      case .levels: progress.levels.numbers
      case .loudest, .bar, .time: progress.levels.loudest
      }
    let duration = progress.duration.map(clock) ?? "-:--"
    let position = clock(progress.position)
    // Leaves room for a minus sign, so that nothing moves when it disappears.
    let space = String(repeating: " ", count: max(0, duration.count + 1 - position.count))
    return "\(space)\(position)/\(duration) \(words)"
  }

  /// Returns the columns left for the bar in every line.
  func barWidth(
    for all: ArraySlice<Progress>, longestName longest: Int, width: Int,
    meterWidth: Int = Levels.leastWidth
  ) -> Int {
    let name = nameWidth(longest, width)
    let longestTail = all.map { columns(of: tail($0, meterWidth: meterWidth)) }.max() ?? 0
    // The bar's brackets and the spaces around it.
    return width - (name > 0 ? name + 1 : 0) - 3 - longestTail
  }

  func line(
    _ progress: Progress, nameWidth name: Int, barWidth: Int, meterWidth: Int, isColored: Bool
  ) -> String {
    let tail = tail(progress, meterWidth: meterWidth, isColored: isColored)
    if case .time = self { return tail }
    let duration = progress.duration ?? 0
    let part = duration > 0 ? progress.position / duration : 0
    let filled = gauge(part, width: barWidth, with: "#")
    return (name > 0 ? fitted(progress.name, to: name) + " " : "") + "[\(filled)] \(tail)"
  }
}
