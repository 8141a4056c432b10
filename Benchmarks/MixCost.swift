import CBench
import Foundation
import Graph
import PluginHost
import TestSupport

/// Cost of a realistic chain of plugins in a host: medians of several runs.
struct MixCost: Row {
  /// Time between the stamps before and after the chain in the same cycle, and JACK's CPU load in
  /// percent of a cycle.
  struct Load: Codable {
    var microseconds: Spread
    var load: Double
  }
  var mix: String
  var host: String
  var runs: Int
  var noise: Load?
  /// Measured some seconds after noise.
  var silence: Load?
  /// Measured with a signal of denormals.
  var denormals: Load?
  /// Number of xruns.
  var xruns: Int
  /// The reason why there are no numbers; nil if there are.
  var missing: String?

  private struct Mix {
    var name: String
    var plugins: [ChainPlugin]
    var channels: Int
    var isMix = false
    /// Hosts that cannot load one of the plugins, with the reason.
    var refusals: [PluginHost: String] = [:]
    /// Debian packages that contain the plugins.
    var packages: String
  }

  /// Four active bands in one equaliser and sixteen in the other; their defaults change nothing.
  private static let mixes: [Mix] = {
    let equalizer = ChainPlugin(
      uri: "http://gareus.org/oss/lv2/fil4#stereo",
      values: ["HighPass": 1, "gain1": 3, "gain2": -3, "gain3": 3, "gain4": -3])
    var bands: [String: Float] = [:]
    for band in 0..<16 {
      (bands["ft_\(band)"], bands["g_\(band)"]) = (1, band % 2 == 0 ? 1.25 : 0.8)
    }
    let large = ChainPlugin(
      uri: "http://lsp-plug.in/plugins/lv2/para_equalizer_x16_stereo",
      values: bands)
    let room = ChainPlugin(uri: "http://drobilla.net/plugins/mda/Ambience")
    let compressor = ChainPlugin(uri: "http://calf.sourceforge.net/plugins/Compressor")
    let bus = ChainPlugin(
      uri: "http://plugin.org.uk/swh-plugins/triplePara",
      values: ["gain_1": 3, "gain_2": -3, "gain_3": 3])
    let packages = "x42-plugins lsp-plugins-lv2 mda-lv2 calf-plugins"
    return [
      Mix(
        name: "fil4, x16, Ambience, Compressor", plugins: [equalizer, large, room, compressor],
        channels: 2, refusals: [.ecasound: "does not load fil4"], packages: packages),
      Mix(
        name: "x16, Ambience, Compressor", plugins: [large, room, compressor], channels: 2,
        packages: packages),
      Mix(
        name: "8 equalisers side by side", plugins: Array(repeating: bus, count: 8), channels: 1,
        isMix: true, refusals: [.floor: "mixes nothing", .jalv: "mixes nothing"],
        packages: "swh-lv2"),
    ]
  }()

  static func all(_ effort: Effort, found: (MixCost) -> Void) throws {
    let jack = try JackDaemon(rate: 48000, period: ChainCost.period, isRealtime: true)
    defer { jack.stop() }
    let world = World()
    try withTemporaryFolder { folder in
      for mix in mixes.suffix(effort.mixes) {
        let row: PluginRow
        do throws(HostError) {
          row = try PluginRow(
            mix.name, mix.plugins, channels: mix.channels, isMix: mix.isMix, in: world)
        } catch {
          for host in PluginHost.allCases {
            found(MixCost(mix, host, missing: "\(error): Debian packages \(mix.packages)"))
          }
          continue
        }
        try measure(mix, row, on: jack, in: folder, effort).forEach(found)
      }
    }
  }

  private init(_ mix: Mix, _ host: PluginHost, missing: String?) {
    self.mix = mix.name
    self.host = host.rawValue
    self.missing = missing
    runs = 0
    xruns = 0
  }

  private static func measure(
    _ mix: Mix, _ row: PluginRow, on jack: JackDaemon, in folder: URL, _ effort: Effort
  ) throws -> [MixCost] {
    let stopwatch = try Stopwatch(on: jack, channels: row.channels)
    var costs = PluginHost.allCases.map { host in
      MixCost(mix, host, missing: host.isThere ? mix.refusals[host] : host.absence)
    }
    var found: [[[Timing]]] = costs.map { _ in [] }
    for run in 1...effort.mixRuns {
      progress("plugins: \(mix.name), run \(run) of \(effort.mixRuns)")
      for (i, host) in PluginHost.allCases.enumerated() where costs[i].missing == nil {
        let hosted = try HostedRow(host, row, on: jack, stopwatch, in: folder)
        found[i].append(
          try withExtendedLifetime(hosted) {
            try [CUE_NOISE, CUE_SILENCE, CUE_DENORMALS].map { sound in
              stopwatch.play(sound)
              if sound == CUE_SILENCE { usleep(UInt32(1_000_000 * effort.silentSeconds)) }
              let timing = try stopwatch.measure(cycles: effort.chainCycles)
              costs[i].xruns += timing.xruns
              return timing
            }
          })
      }
    }
    for i in costs.indices where !found[i].isEmpty {
      func middle(_ sound: Int) -> Load {
        Load(
          microseconds: Spread(found[i].map { $0[sound].microseconds }),
          load: median(found[i].map { $0[sound].load }))
      }
      costs[i].runs = found[i].count
      (costs[i].noise, costs[i].silence, costs[i].denormals) = (middle(0), middle(1), middle(2))
    }
    return costs
  }
}

extension MixCost {
  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Plugins one after another, or side by side, cycles of \(ChainCost.period) frames at 48 kHz: from before the first"
        + " to behind the last, and JACK's load (medians of \(effort.mixRuns), least and greatest)",
      "",
      left("", 45) + right("noise", 27) + right("silence after it", 35) + right("denormals", 35),
      left("plugins", 35) + left("host", 10)
        + String(repeating: right("in a cycle", 27) + right("load", 8), count: 3)
        + right("xruns", 7),
    ]
  }

  func lines(after rows: [MixCost]) -> [String] {
    let head = left(mix, 35) + left(host, 10)
    guard let noise, let silence, let denormals else { return [head + "    " + (missing ?? "")] }
    let loads = [noise, silence, denormals].map {
      right("\($0.microseconds.text(1)) µs", 27) + right("\(number($0.load, 1)) %", 8)
    }
    return [head + loads.joined() + right("\(xruns)", 7)]
  }
}
