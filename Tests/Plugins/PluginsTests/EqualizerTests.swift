import CLilv
import Foundation
import TestSupport
import Testing

extension PluginsTests {
  @Suite struct EqualizerTests {
    static let rates = [44100.0, 48000, 96000, 192000]

    /// Each filter type at each sample rate, in one band while all others are flat.
    @Test(arguments: rates, Array(0...10))
    func everyTypeFollowsTheFormulas(rate: Double, type: Int) throws {
      let cases: [(frequency: Double, bandwidth: Double, gain: Double)] = [
        (1000, 1, 12), (150, 2.5, -20), (6000, 0.3, 7.5), (15000, 1.5, -6),
      ]
      for (i, (frequency, bandwidth, gain)) in cases.enumerated() {
        let band = 1 + 5 * i
        for name in i == 0 ? ["parametric-eq", "parametric-eq-mono"] : ["parametric-eq"] {
          let plugin = try Plugin(
            name, rate: rate,
            [
              "type_\(band)": Float(type), "frequency_\(band)": Float(frequency),
              "bandwidth_\(band)": Float(bandwidth), "gain_\(band)": Float(gain),
            ])
          // The value as the port holds it.
          let held = Double(Float(bandwidth))
          let filter = Biquad(
            type: type, frequency: frequency, bandwidth: held, gain: gain, rate: rate)
          let error = largestError(of: plugin) { filter.response(at: $0, rate: rate) }
          expectTrue(error < 0.01, "\(name) \(cases[i])")
        }
      }
    }

    /// At the edge, a peak has half its gain in decibels, and a band pass -3 dB.
    @Test(arguments: rates, [60, 1000, 15000] as [Double])
    func theLowerEdgeOfABandLiesHalfItsOctavesBelow(rate: Double, frequency: Double) throws {
      for (type, atEdge) in [(0, 6.0), (5, -3.0103), (6, -3.0103)] {
        let plugin = try Plugin(
          "parametric-eq", rate: rate,
          ["type_1": Float(type), "frequency_1": Float(frequency), "bandwidth_1": 2, "gain_1": 12])
        var sound = plugin.silence(1 << 16)
        for i in sound.indices { sound[i][0] = 1 }
        let impulse = plugin.run(sound)[0].map(Double.init)
        let level = decibels(of: impulse, at: frequency / 2, rate: rate)
        expectTrue(abs(level - atEdge) < 0.01, "type \(type)")
      }
    }

    @Test(arguments: rates) func sixteenBandsAndTheGainAddUp(rate: Double) throws {
      var settings: [String: Float] = ["gain": -3.5]
      var filters: [Biquad] = []
      for band in 1...16 {
        let type = [0, 7, 8, 9, 10][band % 5]
        let frequency = Float(60 * pow(1.4, Double(band)))
        let gain = Float(band % 3 == 0 ? -4 : 3)
        settings["type_\(band)"] = Float(type)
        settings["frequency_\(band)"] = frequency
        settings["gain_\(band)"] = gain
        settings["bypass_\(band)"] = band == 7 ? 1 : 0
        if band == 7 { continue }
        filters.append(
          Biquad(
            type: type, frequency: Double(frequency), bandwidth: 1, gain: Double(gain), rate: rate))
      }
      let plugin = try Plugin("parametric-eq", rate: rate, settings)
      let error = largestError(of: plugin) { frequency in
        filters.reduce(-3.5) { $0 + $1.response(at: frequency, rate: rate) }
      }
      expectTrue(error < 0.01)
    }

    /// The channels are independent.
    @Test(arguments: ["parametric-eq", "preset-eq", "dc-blocker"])
    func eachChannelIsFilteredAlone(name: String) throws {
      let settings = CommonTests.busy(name)
      let stereo = try Plugin(name, settings)
      let mono = try Plugin("\(name)-mono", settings)
      let sound = stereo.noise(5000)
      let found = stereo.run(sound)
      for i in 0..<2 {
        mono.activate()
        expectEqual(bits(mono.run([sound[i]])), bits([found[i]]))
      }
    }

    @Test(arguments: ["parametric-eq", "preset-eq"])
    func aFlatEqualizerChangesNothing(name: String) throws {
      let plugin = try Plugin(name)
      let sound = plugin.noise(5000)
      expectEqual(bits(plugin.run(sound)), bits(sound))
    }

    /// All controls of all bands jump over their full ranges every 37 frames. The output stays bounded,
    /// and 20 ms after the end nothing of it is left.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func changesAreStable(seed: UInt64) throws {
      let plugin = try Plugin("parametric-eq")
      let frames = 200_000
      let changes = plugin.randomChanges(every: 37, until: frames, seed: seed, toggles: false)
        .map { change in
          var change = change
          // Sixteen bands of 24 dB each are loud enough to hide instability.
          if change.symbol.hasPrefix("gain") { change.value = min(change.value, 3) }
          return change
        }
      let sound = plugin.noise(frames)
      let found = plugin.run(sound, changes: changes)
      // Seventeen gains of 3 dB, and sixteen resonances of up to 29 dB.
      expectTrue(found.allSatisfy { $0.allSatisfy { abs($0) < 1e6 } })
      for symbol in plugin.ranges.keys {
        if symbol.hasPrefix("bypass") { plugin[symbol] = 1 }
      }
      plugin["gain"] = 0
      let after = plugin.run(sound)
      for (samples, input) in zip(after, sound) { expectEqual(samples[960...], input[960...]) }
    }

    /// A steady tone while each control of a band jumps. No step exceeds that of the tone at its
    /// maximum level.
    @Test(arguments: ["frequency_1", "gain_1", "bandwidth_1", "type_1", "bypass_1", "gain"])
    func changesDoNotClick(symbol: String) throws {
      let plugin = try Plugin("parametric-eq", ["gain_1": 6, "frequency_1": 400])
      let range = plugin.ranges[symbol]!
      let (low, high): (Float, Float) =
        symbol == "gain_1"
        ? (-6, 6) : symbol == "gain" ? (-96, 6) : (range.lowerBound, range.upperBound)
      let frames = 240_000
      let changes = (1..<100).map {
        Plugin.Change(frame: 2400 * $0, symbol: symbol, value: $0 % 2 == 0 ? low : high)
      }
      let found = plugin.run(plugin.sine(100, frames, amplitude: 0.25), changes: changes)
      let step = Float(2 * 2 * 0.25 * (2 * Double.pi * 100 / 48000 + 1 / 960.0))
      for samples in found {
        let largest = zip(samples.dropFirst(2000), samples.dropFirst(2001)).map { abs($1 - $0) }
          .max()!
        expectTrue(largest <= step)
      }
    }

    // MARK: Presets

    /// Returns the table in the source: the presets' names in order, and their gains.
    private static func table() throws -> [(name: String, gains: [Double])] {
      let source = text(
        of: repository.appendingPathComponent("Plugins/preset-eq.lv2/Presets.swift"))
      return source.matches(of: #/case \.(\w+): \[([^\]]*)\]/#).map { match in
        (
          String(match.output.1),
          match.output.2.split(separator: ",").map { Double($0.trimmingPrefix(" "))! }
        )
      }
    }

    @Test func everyPresetIsTheParametricEqualizersTenBands() throws {
      let table = try Self.table()
      expectTrue(table.count == 22 && table.allSatisfy { $0.gains.count == 10 })
      expectEqual(Set(table.map(\.gains)).count, 22)
      for (number, preset) in table.enumerated() {
        let one = try Plugin("preset-eq", ["preset": Float(number), "gain": -6])
        var settings: [String: Float] = ["gain": -6]
        for (i, gain) in preset.gains.enumerated() {
          settings["frequency_\(i + 1)"] = Float(31.25 * pow(2, Double(i)))
          settings["gain_\(i + 1)"] = Float(gain)
        }
        let other = try Plugin("parametric-eq", settings)
        let sound = one.noise(5000)
        expectEqual(bits(one.run(sound)), bits(other.run(sound)), "\(preset.name)")
      }
    }

    /// Returns the letters of a name in lower case.
    private static func plain(_ name: String) -> String {
      name.replacingOccurrences(of: "R&B", with: "rhythmAndBlues").lowercased().filter(\.isLetter)
    }

    /// Scale points and presets have the names and values of the table.
    @Test(arguments: ["preset-eq", "preset-eq-mono"])
    func presetsAreNamedInTheTurtle(name: String) throws {
      let table = try Self.table()
      let bundles = try Bundles.shared
      let plugin = try bundles.plugin(name)
      let symbol = lilv_new_string(bundles.world, "preset")
      defer { lilv_node_free(symbol) }
      let port = lilv_plugin_get_port_by_symbol(plugin, symbol)
      let points = lilv_port_get_scale_points(plugin, port)
      defer { lilv_scale_points_free(points) }
      var labels: [Int: String] = [:]
      var i = lilv_scale_points_begin(points)
      while !lilv_scale_points_is_end(points, i) {
        let point = lilv_scale_points_get(points, i)
        labels[Int(lilv_node_as_float(lilv_scale_point_get_value(point)))] = String(
          cString: lilv_node_as_string(lilv_scale_point_get_label(point)))
        i = lilv_scale_points_next(points, i)
      }
      let expected = table.map { Self.plain($0.name) }
      expectEqual(labels.keys.sorted().map { Self.plain(labels[$0]!) }, expected)
      let presets = try Preset.all(of: name)
      expectEqual(presets.count, 22)
      for preset in presets {
        expectEqual(labels[Int(preset.values["preset"]!)], preset.label)
      }
    }

    /// The presets set every band and match their names.
    @Test func theParametricEqualizerHasPresets() throws {
      let presets = try Preset.all(of: "parametric-eq")
      expectEqual(
        presets.map(\.label),
        [
          "Flat", "No hum at 50 Hz", "No hum at 60 Hz", "No rumble", "Telephone", "Voice",
        ])
      for preset in presets {
        expectEqual(preset.values.count, 81, "\(preset.label)")
        let plugin = try Plugin("parametric-eq", preset.values)
        var sound = plugin.silence(1 << 16)
        for i in sound.indices { sound[i][0] = 1 }
        let impulse = plugin.run(sound)[0].map(Double.init)
        func level(_ frequency: Double) -> Double {
          decibels(of: impulse, at: frequency, rate: 48000)
        }
        switch preset.label {
        case "Flat": expectEqual(level(100), 0)
        case "No hum at 50 Hz":
          expectTrue(level(50) < -40 && level(150) < -40 && abs(level(75)) < 1)
        case "No hum at 60 Hz":
          expectTrue(level(60) < -40 && level(180) < -40 && abs(level(90)) < 1)
        case "No rumble": expectTrue(level(10) < -30 && abs(level(100)) < 0.5)
        case "Telephone": expectTrue(level(100) < -30 && level(10000) < -30 && abs(level(1000)) < 1)
        default: expectTrue(level(20) < -15 && level(3000) > 1)
        }
      }
    }
  }

  @Suite struct DCBlockerTests {
    @Test(arguments: EqualizerTests.rates, [1, 10, 100] as [Float])
    func itIsAHighPassOfFirstOrder(rate: Double, cutoff: Float) throws {
      let plugin = try Plugin("dc-blocker", rate: rate, ["cutoff": cutoff])
      // `largestError` does not cover the long tail, and an impulse response adds up to 0. So measure
      // the steady state of a sine.
      let g = tan(.pi * Double(cutoff) / rate)
      for frequency in [30, 200, 5000] as [Double] {
        plugin.activate()
        let frames = Int(rate)
        let found = plugin.run(plugin.sine(frequency, frames, amplitude: 1))[0]
        // A whole number of periods at the end.
        let period = rate / frequency
        let periods = (rate / 4 / period).rounded(.down)
        let count = Int((periods * period).rounded())
        var (x, y) = (0.0, 0.0)
        for i in frames - count..<frames {
          let angle = 2 * Double.pi * frequency * Double(i) / rate
          x += Double(found[i]) * sin(angle)
          y += Double(found[i]) * cos(angle)
        }
        let level = 20 * log10((x * x + y * y).squareRoot() * 2 / Double(count))
        let t = tan(.pi * frequency / rate)
        let expected = 20 * log10(t / (t * t + g * g).squareRoot())
        expectTrue(abs(level - expected) < 0.01, "at \(frequency) Hz")
      }
    }

    @Test(arguments: EqualizerTests.rates) func aConstantIsTakenAway(rate: Double) throws {
      let plugin = try Plugin("dc-blocker", rate: rate)
      let found = plugin.run(
        plugin.sine(1000, Int(rate), amplitude: 0.1).map { $0.map { $0 + 0.5 } })
      let rest = found[0].suffix(Int(rate / 10))
      expectTrue(abs(rest.reduce(0) { $0 + Double($1) } / Double(rest.count)) < 1e-5)
    }
  }
}

/// A preset read by lilv.
struct Preset {
  var label: String
  var values: [String: Float] = [:]

  /// Returns the presets of a plugin, by name.
  static func all(of name: String) throws -> [Preset] {
    let bundles = try Bundles.shared
    let kind = lilv_new_uri(bundles.world, "\(pset)Preset")
    defer { lilv_node_free(kind) }
    let nodes = lilv_plugin_get_related(try bundles.plugin(name), kind)
    defer { lilv_nodes_free(nodes) }
    var presets: [Preset] = []
    var i = lilv_nodes_begin(nodes)
    while !lilv_nodes_is_end(nodes, i) {
      presets.append(try Preset(lilv_nodes_get(nodes, i), bundles.world))
      i = lilv_nodes_next(nodes, i)
    }
    return presets.sorted { $0.label < $1.label }
  }

  private init(_ node: OpaquePointer?, _ world: OpaquePointer) throws {
    guard lilv_world_load_resource(world, node) >= 0 else { throw SupportError("no such preset") }
    func find(_ subject: OpaquePointer?, _ predicate: String) -> UnsafeMutableRawPointer? {
      let uri = lilv_new_uri(world, predicate)
      defer { lilv_node_free(uri) }
      return lilv_world_find_nodes(world, subject, uri, nil)
    }
    func first(_ subject: OpaquePointer?, _ predicate: String) throws -> OpaquePointer {
      guard let nodes = find(subject, predicate) else { throw SupportError("no \(predicate)") }
      defer { lilv_nodes_free(nodes) }
      return lilv_node_duplicate(lilv_nodes_get_first(nodes))
    }
    let label = try first(node, "http://www.w3.org/2000/01/rdf-schema#label")
    defer { lilv_node_free(label) }
    self.label = String(cString: lilv_node_as_string(label))
    let ports = find(node, "\(lv2)port")
    defer { lilv_nodes_free(ports) }
    var i = lilv_nodes_begin(ports)
    while !lilv_nodes_is_end(ports, i) {
      let port = lilv_nodes_get(ports, i)
      let symbol = try first(port, "\(lv2)symbol")
      let value = try first(port, "\(pset)value")
      values[String(cString: lilv_node_as_string(symbol))] = lilv_node_as_float(value)
      lilv_node_free(symbol)
      lilv_node_free(value)
      i = lilv_nodes_next(ports, i)
    }
  }
}
