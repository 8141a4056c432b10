import Foundation

/// What the progress display says of one file.
struct Progress {
  var name: String
  /// Seconds that were played; negative while it waits for its start.
  var position: Double
  /// Seconds that there are to play; nil if it has no end.
  var duration: Double?
  /// Each channel's highest sample of late; 1 is full scale.
  var peaks: [Float]
}

extension [Progress] {
  /// The display: a line for each file, none wider than `columns`, none more than fit into `rows`.
  func lines(columns: Int, rows: Int) -> [String] {
    // The last column stays free: some terminals wrap on it.
    let width = columns - 1
    let most = Swift.max(1, rows - 1)
    if count > most, most > 1 {
      let rest = fitted("and \(count - most + 1) more", to: Swift.min(width, 20))
      return Array(prefix(most - 1)).lines(columns: columns, rows: rows) + [rest]
    }
    let shown = prefix(most)
    let longest = shown.map { cuejack.columns(of: $0.name) }.max() ?? 0
    let style =
      Style.allCases.first {
        $0.barWidth(for: shown, longestName: longest, width: width) >= Style.smallestBar
      } ?? .time
    let bar = Swift.min(60, style.barWidth(for: shown, longestName: longest, width: width))
    return shown.map { progress in
      let line = style.line(progress, nameWidth: style.nameWidth(longest, width), barWidth: bar)
      return cuejack.columns(of: line) > width ? fitted(line, to: Swift.max(0, width)) : line
    }
  }
}

/// How much of a file's progress a line has room for, from all to the least.
private enum Style: CaseIterable {
  /// Name, bar, time and a meter for each channel.
  case meters
  /// Levels as numbers only.
  case levels
  /// The loudest channel's level only.
  case loudest
  /// Without a name.
  case bar
  /// The time and the loudest channel's level.
  case time

  static let smallestBar = 8

  /// The columns for the name.
  func nameWidth(_ longest: Int, _ width: Int) -> Int {
    switch self {
    case .meters, .levels, .loudest: min(longest, max(8, width / 5))
    case .bar, .time: 0
    }
  }

  private func tail(_ progress: Progress) -> String {
    let levels = progress.peaks.map(decibels)
    let words: [String] =
      switch self {
      case .meters: levels.map { "\(meter($0)) \(text($0))" }
      case .levels: levels.map(text)
      case .loudest, .bar, .time: [text(levels.max() ?? silence)]
      }
    let duration = progress.duration.map(clock) ?? "-:--"
    let position = clock(progress.position)
    // Room for a minus, so that nothing moves when it goes.
    let space = String(repeating: " ", count: max(0, duration.count + 1 - position.count))
    return "\(space)\(position)/\(duration) \(words.joined(separator: " ")) dB"
  }

  /// The columns that are left for every line's bar.
  func barWidth(for all: ArraySlice<Progress>, longestName longest: Int, width: Int) -> Int {
    let name = nameWidth(longest, width)
    let longestTail = all.map { columns(of: tail($0)) }.max() ?? 0
    // The bar's ends and the spaces round it.
    return width - (name > 0 ? name + 1 : 0) - 3 - longestTail
  }

  func line(_ progress: Progress, nameWidth name: Int, barWidth: Int) -> String {
    if case .time = self { return tail(progress) }
    let duration = progress.duration ?? 0
    let part = duration > 0 ? progress.position / duration : 0
    let bar = filled(part, width: barWidth, with: "#")
    return (name > 0 ? fitted(progress.name, to: name) + " " : "") + "[\(bar)] \(tail(progress))"
  }

  // MARK: Pieces

  private func filled(_ part: Double, width: Int, with character: Character) -> String {
    let count = Int((min(max(part, 0), 1) * Double(width)).rounded())
    return String(repeating: character, count: count)
      + String(repeating: "-", count: width - count)
  }

  /// The level that is shown as silence, in dB.
  private var silence: Float { -100 }

  private func decibels(_ peak: Float) -> Float {
    peak > 0 ? max(silence, 20 * log10(peak)) : silence
  }

  /// Six characters for 60 dB.
  private func meter(_ level: Float) -> String {
    "|" + filled(Double(level / 60 + 1), width: 6, with: "=") + "|"
  }

  private func text(_ level: Float) -> String {
    // Without a minus before a zero.
    level <= silence ? " -inf" : String(format: "%5.1f", (level * 10).rounded() / 10 + 0)
  }

  /// Minutes and seconds; what lies before the start has a minus.
  private func clock(_ seconds: Double) -> String {
    let whole = Int(abs(seconds.rounded(.down)))
    let sign = seconds < 0 ? "-" : ""
    return whole < 3600
      ? String(format: "%@%d:%02d", sign, whole / 60, whole % 60)
      : String(format: "%@%d:%02d:%02d", sign, whole / 3600, whole / 60 % 60, whole % 60)
  }
}
