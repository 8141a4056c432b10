import Foundation
import TestSupport

/// A comparison of two builds of the bench, which measure by turns.
struct BuildComparison {
  /// The medians that runs of the builds found for one figure.
  struct Figure {
    var name: String
    var before: [Double]
    var after: [Double]

    /// The figure after the change, as a multiple of that before it.
    var ratio: Double { median(after) / median(before) }

    /// The greatest difference between runs of one build, as a part of the figure.
    var noise: Double {
      [before, after].map { ($0.max()! - $0.min()!) / median($0) }.max()!
    }

    /// True if all runs of one build lie on one side of all runs of the other, farther apart than runs of one build.
    var isBeyondNoise: Bool {
      (before.max()! < after.min()! || after.max()! < before.min()!) && abs(ratio - 1) > noise
    }

    var line: String {
      left(name, 64) + right(number(median(before), 1), 12) + right(number(median(after), 1), 12)
        + right(number(ratio, 2), 8) + right("\(number(noise * 100, 0)) %", 8)
        + "  \(isBeyondNoise ? ratio > 1 ? "slower" : "faster" : "-")"
    }
  }

  /// The parts that show most for their time.
  static let parts: [Bench.Part] = [.cycles, .renders, .graph, .engines]
  private static let rounds = 3

  private(set) var figures: [Figure] = []

  /// Measures by turns with the bench `before` and with this one.
  ///
  /// - Parameter arguments: What each of them measures.
  init(with before: String, _ arguments: [String]) throws {
    var found: [String: Figure] = [:]
    var order: [String] = []
    for round in 1...Self.rounds {
      for (isAfter, program) in [(false, before), (true, "/proc/self/exe")] {
        progress("round \(round) of \(Self.rounds), \(isAfter ? "this build" : before)")
        for (name, value) in try Self.measure(program, arguments) {
          if found[name] == nil { order.append(name) }
          var figure = found[name] ?? Figure(name: name, before: [], after: [])
          if isAfter { figure.after.append(value) } else { figure.before.append(value) }
          found[name] = figure
        }
      }
    }
    figures = order.compactMap { found[$0] }.filter { figure in
      [figure.before, figure.after].allSatisfy { $0.count == Self.rounds && $0.min()! > 0 }
    }
  }

  /// Returns the medians that a bench finds, with the names of their parts, rows and figures.
  private static func measure(
    _ program: String, _ arguments: [String]
  ) throws -> [(name: String, value: Double)] {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("results.json")
      let result = try TestSupport.run(
        program, arguments + ["--json", file.path], timeout: 300)
      guard result.status == 0 else { throw SupportError("\(program): \(result.errors)") }
      let report = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
      let parts = (report as? [String: Any] ?? [:]).sorted { $0.key < $1.key }
      return parts.flatMap { part, rows in
        (rows as? [[String: Any]] ?? []).enumerated().flatMap { index, row in
          let words = row.sorted { $0.key < $1.key }.compactMap { key, value in
            value as? String ?? (Self.sizes.contains(key) ? "\(value)" : nil)
          }
          return Self.medians(in: row).map { name, value in
            ("\(part) \(index + 1) (\(words.joined(separator: " "))) \(name)", value)
          }
        }
      }
    }
  }

  /// Names of numbers that tell rows apart.
  private static let sizes: Set = ["channels", "period", "count", "players"]

  /// Returns the spreads in a row by their names.
  private static func medians(in row: [String: Any], _ prefix: String = "") -> [(String, Double)] {
    row.sorted { $0.key < $1.key }.flatMap { key, value -> [(String, Double)] in
      guard let object = value as? [String: Any] else { return [] }
      if let median = object["median"] as? Double { return [(prefix + key, median)] }
      return medians(in: object, "\(prefix)\(key).")
    }
  }

  var lines: [String] {
    let different = figures.filter(\.isBeyondNoise)
    return [
      left("", 64) + right("before", 12) + right("after", 12) + right("ratio", 8)
        + right("noise", 8)
    ] + figures.map(\.line) + [
      "",
      different.isEmpty
        ? "\(figures.count) figures, none beyond its noise"
        : "\(figures.count) figures, \(different.count) beyond their noise:",
    ] + different.map(\.line)
  }
}
