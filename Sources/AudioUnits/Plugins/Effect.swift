import PluginHost
import RealTime
import System

/// An effect that programs know by its codes and parameters, and the plugin of ours that does it.
struct Effect: Sendable {
  let name: String
  /// URI of the plugin with one channel. A unit runs an instance of it for each channel.
  let uri: String
  /// Controls with the values that they always have.
  let fixed: [(symbol: String, value: Float)]
  /// True for an equaliser of several bands.
  let isBanded: Bool
  /// The control whose values are the presets, the first parameter; nil if there are none.
  let presetControl: String?
  private let make:
    @Sendable (_ plugin: PluginDescription, _ nyquist: Float, _ bands: Int)
      -> [ControlledParameter]

  static var mostBands: Int { 16 }

  func parameters(_ plugin: PluginDescription, sampleRate: Double, bands: Int)
    -> [ControlledParameter]
  { make(plugin, Float(sampleRate / 2), bands) }

  private static let equaliser = "urn:cuejack:plugins:parametric-eq-mono"
  // The plugin's numbers of filter types are those of kAUNBandEQFilterType_….
  private static let (peak, lowPass, highPass): (Float, Float, Float) = (0, 3, 4)
  private static let (bandPass, lowShelf, highShelf): (Float, Float, Float) = (5, 7, 8)

  /// A filter with the first band of the equaliser.
  private init(
    _ name: String, type: Float, _ parameters: @escaping @Sendable (Float) -> [ControlledParameter]
  ) {
    self.name = name
    uri = Self.equaliser
    fixed = [("type_1", type)]
    isBanded = false
    presetControl = nil
    make = { _, nyquist, _ in parameters(nyquist) }
  }

  private init(
    _ name: String, uri: String, isBanded: Bool = false, presetControl: String? = nil,
    _ make: @escaping @Sendable (PluginDescription, Float, Int) -> [ControlledParameter]
  ) {
    self.name = name
    self.uri = uri
    fixed = []
    self.isBanded = isBanded
    self.presetControl = presetControl
    self.make = make
  }

  private static func parameter(
    _ id: UInt32, _ name: String, _ meaning: UnitParameter.Meaning, _ range: ClosedRange<Float>,
    _ standard: Float, _ control: String, _ scale: ControlScale = .same, names: [String] = []
  ) -> ControlledParameter {
    ControlledParameter(
      parameter: UnitParameter(
        id: id, name: name, meaning: meaning, range: range, standard: standard, valueNames: names,
        isLogarithmic: meaning == .hertz), control: control, scale: scale)
  }

  private static func frequency(
    _ id: UInt32, _ name: String, from low: Float = 10, _ nyquist: Float, _ standard: Float,
    band: Int = 1
  ) -> ControlledParameter {
    parameter(id, name, .hertz, low...nyquist, min(standard, nyquist), "frequency_\(band)")
  }

  static let parametricEQ = Effect("ParametricEQ", type: peak) { nyquist in
    [
      frequency(0, "center frequency", from: 20, nyquist, 2000),
      parameter(1, "Q", .generic, 0.1...20, 1, "bandwidth_1", .quality),
      parameter(2, "gain", .decibels, -20...20, 0, "gain_1"),
    ]
  }

  /// The resonance of -20 to 40 dB is held within the plugin's 0.05 to 5 octaves.
  private static func resonant(_ name: String, type: Float, _ standard: Float) -> Effect {
    Effect(name, type: type) { nyquist in
      [
        frequency(0, "cutoff frequency", nyquist, standard),
        parameter(1, "resonance", .decibels, -20...40, 0, "bandwidth_1", .resonance),
      ]
    }
  }
  static let lowPassFilter = resonant("AULowpass", type: lowPass, 6900)
  static let highPassFilter = resonant("AUHipass", type: highPass, 6900)

  static let bandPassFilter = Effect("AUBandpass", type: bandPass) { nyquist in
    [
      frequency(0, "center frequency", from: 20, nyquist, 5000),
      parameter(1, "bandwidth", .cents, 100...6000, 600, "bandwidth_1", .cents),
    ]
  }
  static let lowShelfFilter = Effect("AULowShelfFilter", type: lowShelf) { nyquist in
    [
      frequency(0, "cutoff frequency", nyquist, 80),
      parameter(1, "gain", .decibels, -40...24, 0, "gain_1"),
    ]
  }
  static let highShelfFilter = Effect("AUHighShelfFilter", type: highShelf) { nyquist in
    [
      frequency(0, "cutoff frequency", nyquist, 10000),
      parameter(1, "gain", .decibels, -40...24, 0, "gain_1"),
    ]
  }

  static let nBandEQ = Effect("AUNBandEQ", uri: equaliser, isBanded: true) {
    plugin, nyquist, bands in
    let names = plugin.port("type_1")?.scalePoints.map(\.label) ?? []
    return [parameter(0, "global gain", .decibels, -96...24, 0, "gain")]
      + (1...bands).flatMap { band -> [ControlledParameter] in
        let id = UInt32(band - 1)
        // One octave apart, the last one at 16 kHz at most.
        let standard = min(16_000, 40 * Float(1 << min(band - 1, 9)))
        return [
          parameter(1000 + id, "bypass \(band)", .boolean, 0...1, 1, "bypass_\(band)"),
          parameter(
            2000 + id, "type \(band)", .indexed, 0...10, 0, "type_\(band)", names: names),
          frequency(
            3000 + id, "frequency \(band)", from: 20, nyquist, standard, band: band),
          parameter(4000 + id, "gain \(band)", .decibels, -96...24, 0, "gain_\(band)"),
          parameter(5000 + id, "bandwidth \(band)", .octaves, 0.05...5, 0.5, "bandwidth_\(band)"),
        ]
      }
  }

  static let iPodEQ = Effect(
    "AUiPodEQ", uri: "urn:cuejack:plugins:preset-eq-mono", presetControl: "preset"
  ) { plugin, _, _ in
    let names = plugin.port("preset")?.scalePoints.map(\.label) ?? []
    return [
      parameter(
        0, "preset", .indexed, 0...Float(max(1, names.count - 1)), 0, "preset", names: names)
    ]
  }

  /// Makes a unit. The plugins are those that were installed with the library; if there are none, those
  /// that any LV2 host finds.
  func makeUnit() throws(UnitError) -> LV2Unit {
    for world in [Self.installed, Self.everywhere] {
      if let plugin = try? world.description(of: uri) {
        return try LV2Unit(plugin, in: world, as: self)
      }
    }
    throw .unsupported(
      "\(name) needs the LV2 plugin <\(uri)>, which `make install` puts into lib/lv2 of its prefix")
  }

  private static let everywhere = World()
  private static let installed = World(path: "\(libraryFolder ?? "/usr/local/lib")/lv2")
}
