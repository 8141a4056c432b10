import CBench
import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import Server
import TestSupport

/// Cost of a chain of equal plugins in a host, from before the first to after the last: medians of
/// several runs.
struct ChainCost: Row {
  /// Name of a host on a server, or of one driven by hand.
  var host: String
  /// Plugins in the chain.
  var count: Int
  var runs: Int
  /// Time between the stamps before and after the chain in the same cycle. It includes more than
  /// the plugins.
  var microseconds: Spread?
  /// Time that each plugin adds to a chain of one; nil for a chain of one.
  var each: Double?
  /// Part of that time in excess of the floor's.
  var beyondFloor: Double?
  /// Number of xruns.
  var xruns: Int
  /// The reason why there are no numbers; nil if there are.
  var missing: String?

  static let uri = "http://lv2plug.in/plugins/eg-amp"
  /// Period of the server in frames, at 48 kHz.
  static let period = 128

  /// A host, with the function that measures it once with a chain.
  private struct Subject {
    var name: String
    var floor: String
    var mostPlugins = Int.max
    var measure: (PluginRow) throws -> (microseconds: Double, xruns: Int)
  }

  static func all(_ effort: Effort, found: (ChainCost) -> Void) throws {
    let jack = try JackDaemon(rate: 48000, period: period, isRealtime: true)
    defer { jack.stop() }
    try withTemporaryFolder { folder in
      let stopwatch = try Stopwatch(on: jack, channels: 1)
      var subjects = PluginHost.allCases.filter(\.isThere).map { host in
        Subject(name: host.rawValue, floor: "floor", mostPlugins: host.mostPlugins) { row in
          let hosted = try HostedRow(host, row, on: jack, stopwatch, in: folder)
          return try withExtendedLifetime(hosted) {
            let timing = try stopwatch.measure(cycles: effort.chainCycles)
            return (timing.microseconds, timing.xruns)
          }
        }
      }
      let world = World()
      func byHand(_ row: PluginRow, _ runs: (HandDrivenRow) -> (Int) -> Void) throws -> (
        Double, Int
      ) {
        let cycles = max(2, effort.chainCycles / row.plugins.count)
        let driven = try HandDrivenRow(row, in: world, period: period)
        runs(driven)(cycles)
        let times = (0..<effort.rounds).map { _ in
          CycleCost.nanoseconds(of: cycles, runs(driven)) / 1000
        }
        return (median(times), 0)
      }
      subjects.append(
        Subject(name: "floor, by hand", floor: "floor, by hand") {
          try byHand($0, HandDrivenRow.runFloor)
        })
      subjects.append(
        Subject(name: "Cuejack, by hand", floor: "floor, by hand") {
          try byHand($0, HandDrivenRow.runGraph)
        })
      subjects.append(
        Subject(name: "units, by hand", floor: "floor, by hand") {
          try byHand($0, HandDrivenRow.runUnits)
        })
      let absent = PluginHost.allCases.filter { !$0.isThere }.map {
        ChainCost(host: $0.rawValue, count: 0, runs: 0, xruns: 0, missing: $0.absence)
      }
      try (measure(subjects, in: world, effort) + absent).forEach(found)
    }
  }

  private static func measure(_ subjects: [Subject], in world: World, _ effort: Effort) throws
    -> [ChainCost]
  {
    var times: [String: [Int: [Double]]] = [:]
    var xruns: [String: [Int: Int]] = [:]
    for run in 1...effort.chainRuns {
      for count in effort.chainCounts {
        progress("chains: run \(run) of \(effort.chainRuns), \(count) plugins")
        let row = try PluginRow(
          "\(count) eg-amp", Array(repeating: ChainPlugin(uri: uri), count: count), channels: 1,
          in: world)
        for subject in subjects where count <= subject.mostPlugins {
          let found = try subject.measure(row)
          times[subject.name, default: [:]][count, default: []].append(found.microseconds)
          xruns[subject.name, default: [:]][count, default: 0] += found.xruns
        }
      }
    }
    /// Computed run by run, so that a temporary slowdown affects both values.
    func slope(_ name: String, _ count: Int) -> Double? {
      guard let first = effort.chainCounts.first, count > first,
        let ones = times[name]?[first], let these = times[name]?[count]
      else { return nil }
      return median(zip(these, ones).map { ($0 - $1) / Double(count - first) })
    }
    return subjects.flatMap { subject in
      effort.chainCounts.compactMap { count in
        guard let found = times[subject.name]?[count] else { return nil }
        let each = slope(subject.name, count)
        let floor = subject.name == subject.floor ? nil : slope(subject.floor, count)
        return ChainCost(
          host: subject.name, count: count, runs: found.count, microseconds: Spread(found),
          each: each, beyondFloor: each.flatMap { each in floor.map { each - $0 } },
          xruns: xruns[subject.name]?[count] ?? 0)
      }
    }
  }
}

/// A mono chain in a graph and in the floor, both driven by hand with the same noise.
private final class HandDrivenRow {
  private let graph: Graph
  private let floor: Floor
  private let units: UnitChain
  private let period: Int
  private var frame: Int64 = 0
  private let input, output, floorOutput: UnsafeMutablePointer<Float>

  init(_ row: PluginRow, in world: World, period: Int) throws {
    self.period = period
    (input, output, floorOutput) = (
      .allocate(capacity: period), .allocate(capacity: period), .allocate(capacity: period)
    )
    for i in 0..<period { input[i] = Float.random(in: -0.25...0.25) }
    output.initialize(repeating: 0, count: period)
    floorOutput.initialize(repeating: 0, count: period)
    floor = try Floor(row.plugins, channels: 1, frames: period)
    units = try UnitChain(row.plugins, in: world, period: period, input: input)
    let chain = try PluginChain(
      row.plugins.map { PluginChoice(uri: $0.uri, values: $0.values) }, in: world, channels: 1,
      sampleRate: 48000, isOffline: false)
    graph = chain.graph
    let inputs = try graph.addInputs(named: "inputs", audio: ["in_1"])
    try graph.connect(inputs, to: chain.entrance)
    for port in graph.wantedPorts {
      port.give(
        ClientPort(
          cue_port(
            port: nil, memory: port.direction == .input ? input : output, connections: nil)))
    }
    graph.begin()
    cue_rt_flush_denormals()
    runGraph(1)
    runFloor(1)
    guard memcmp(output, floorOutput, 4 * period) == 0 else {
      throw SupportError("\(row.name): the graph and the floor do not agree")
    }
    runUnits(1)
    guard memcmp(output, floorOutput, 4 * period) == 0 else {
      throw SupportError("\(row.name): the units and the floor do not agree")
    }
  }

  deinit {
    input.deallocate()
    output.deallocate()
    floorOutput.deallocate()
  }

  func runGraph(_ cycles: Int) {
    for _ in 0..<cycles {
      _ = graph.cycle.pointee.cycle(frames: period, at: frame)
      frame += Int64(period)
    }
  }

  func runUnits(_ cycles: Int) { units.run(cycles, frames: period, output: output) }

  func runFloor(_ cycles: Int) {
    var (input, output) = (Optional(input), Optional(floorOutput))
    for _ in 0..<cycles { cue_floor_run(floor.chain, &input, &output, UInt32(period)) }
  }
}

extension ChainCost {
  static func plots(_ rows: [ChainCost]) -> [Plot] {
    var hosts: [String] = []
    for row in rows where !hosts.contains(row.host) { hosts.append(row.host) }
    return [
      Plot(
        name: "chains", title: "A chain of eg-amps in cycles of \(period) frames", x: "plugins",
        y: "microseconds",
        hosts.map { host in
          Plot.Curve(host, rows.filter { $0.host == host }) { row in
            row.microseconds.map { (Double(row.count), $0.median) }
          }
        })
    ]
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Rows of LV2's eg-amp, cycles of \(period) frames of noise at 48 kHz, from before the first"
        + " plugin to behind the last, in the same cycle",
      "(medians of \(effort.chainRuns), least and greatest; the floor is a plain loop in C; jalv has a client for"
        + " each plugin, and jackd room for 64; units are audio units,",
      "each of which asks the one before it)",
      "",
      "host               plugins" + right("in a cycle", 31)
        + "        each    beyond floor   xruns",
    ]
  }

  func lines(after rows: [ChainCost]) -> [String] {
    guard let microseconds else { return [left(host, 19) + (missing ?? "")] }
    return [
      left(host, 19) + right("\(count)", 7)
        + right("\(microseconds.text(2)) µs", 31)
        + right(each.map { "\(number($0, 3)) µs" } ?? "-", 12)
        + right(beyondFloor.map { "\(number($0, 3)) µs" } ?? "-", 16)
        + right("\(xruns)", 8)
    ]
  }
}
