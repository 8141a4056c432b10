import Foundation

/// All results of a run.
struct Report: Codable {
  var machine = Machine()
  var versions: Versions
  var cycles: [CycleCost] = []
  var players: [PlayerCost] = []
  var renders: [RenderCost] = []
  var codecs: [CodecCost] = []
  var latencies: [Latency] = []
  var starvations: [Starvation] = []
  var graphs: [GraphCost] = []
  var chains: [ChainCost] = []
  var mixes: [MixCost] = []
  var queues: [QueueCost] = []
  var files: [FilesCost] = []
  var recordings: [RecordingCost] = []
  var threads: [ThreadCost] = []
  var engines: [EngineCost] = []
  var tails: [TailCost] = []
  var synths: [SynthCost] = []
  var rates: [RateCost] = []
  var idle: [IdleCost] = []

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(self)
  }

  var head: [String] {
    [
      "\(machine.processor), \(machine.cores) cores, Linux \(machine.kernel)",
      "jackd \(versions.jackd), sndfile-jackplay with \(versions.sndfileJackplay)"
        + (versions.isOptimised ? "" : "; a debug build: its numbers mean nothing"),
    ]
  }
}

/// A row of results, printed as soon as it is measured.
protocol Row: Codable {
  /// Returns the lines above the rows.
  static func head(_ effort: Effort) -> [String]
  /// Returns the lines of this row. `rows` are the rows that were measured before it.
  func lines(after rows: [Self]) -> [String]
  /// Returns the lines below all rows.
  static func tail(_ rows: [Self]) -> [String]
  /// Returns the plots of figures that grow with a number.
  static func plots(_ rows: [Self]) -> [Plot]
}

extension Row {
  static func tail(_ rows: [Self]) -> [String] { [] }
  static func plots(_ rows: [Self]) -> [Plot] { [] }
}

/// The median of several measurements, with the least and the greatest. Of more than twenty, these two are the
/// quartiles: among many short measurements there is always one that was interrupted.
struct Spread: Codable {
  var median: Double
  var least: Double
  var greatest: Double
  /// How far the medians of every other measurement are apart, as a part of the median: what two equal programs would differ
  /// by here. 0 for one measurement.
  var noise: Double

  /// Precondition: there is a value.
  init(_ values: [Double]) {
    let sorted = values.sorted()
    let leftOut = sorted.count > 20 ? sorted.count / 4 : 0
    median = cuejack_bench.median(values)
    least = sorted[leftOut]
    greatest = sorted[sorted.count - 1 - leftOut]
    let halves = (0...1).map { half in
      values.indices.filter { $0 % 2 == half }.map { values[$0] }
    }
    let isComparable = values.count > 1 && median != 0
    noise =
      isComparable
      ? abs(cuejack_bench.median(halves[0]) - cuejack_bench.median(halves[1])) / median : 0
  }

  /// The three, each divided by `divisor`, as in "45.1 (44.0-47.2)".
  func text(_ decimals: Int, over divisor: Double = 1) -> String {
    let range = [least, greatest].map { number($0 / divisor, decimals) }.joined(separator: "-")
    return "\(number(median / divisor, decimals)) (\(range))"
  }
}

/// Writes lines to standard output at once, also to a file or a pipe.
func show(_ lines: [String]) {
  FileHandle.standardOutput.write(Data(lines.map { "\($0)\n" }.joined().utf8))
}

/// Prints on standard error what is being measured.
func progress(_ text: String) {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
}

func number(_ value: Double, _ decimals: Int) -> String {
  String(format: "%.\(decimals)f", value)
}

/// Returns `text` padded to a column of `width` characters: `left` or `right` aligned.
func left(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}
/// Text at the right of a column; a space divides one that is too long from what stands before it.
func right(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(1, width - text.count)) + text
}
