import PluginHost
import RealTime
import System

/// An effect that programs know by its codes and parameters, and the plugin that does it.
struct Effect: Sendable {
  let name: String
  /// URI of the plugin. If it has one channel, a unit runs an instance of it for each channel.
  let uri: String
  /// The Debian package that brings the plugin; nil for one of ours.
  var package: String?
  /// Controls with the values that they always have.
  var fixed: [(symbol: String, value: Float)] = []
  /// True for an equaliser of several bands.
  var isBanded = false
  /// The control whose values are the presets, the first parameter; nil if there is none.
  var presetControl: String?
  /// The presets, unless a control has them, and the parameters that they leave as they are.
  var presets: (list: [EffectPreset], spared: Set<UInt32>) = ([], [])
  /// Returns the seconds in which the output falls by `tailDecibels` after the input has ended, from the
  /// values of parameters; nil if it ends with the input.
  var tail: (@Sendable (_ value: (UInt32) -> Double) -> Double)?
  private let make:
    @Sendable (_ plugin: PluginDescription, _ nyquist: Float, _ bands: Int)
      -> [ControlledParameter]

  static var mostBands: Int { 16 }
  /// How far a tail falls until it counts as silence.
  static var tailDecibels: Double { 100 }

  init(
    _ name: String, uri: String,
    _ make:
      @escaping @Sendable (_ plugin: PluginDescription, _ nyquist: Float, _ bands: Int)
      -> [ControlledParameter]
  ) {
    self.name = name
    self.uri = uri
    self.make = make
  }

  func parameters(_ plugin: PluginDescription, sampleRate: Double, bands: Int)
    -> [ControlledParameter]
  { make(plugin, Float(sampleRate / 2), bands) }

  /// Makes a unit. Our plugins are those that were installed with the library; if there are none, those
  /// that any LV2 host finds.
  func makeUnit() throws(UnitError) -> LV2Unit {
    for world in [Self.installed, Self.everywhere] {
      if let plugin = try? world.description(of: uri) {
        return try LV2Unit(plugin, in: world, as: self)
      }
    }
    let source =
      package.map { "the Debian package \($0) brings" }
      ?? "`make install` puts into lib/lv2 of its prefix"
    throw .unsupported("\(name) needs the LV2 plugin <\(uri)>, which \(source)")
  }

  private static let everywhere = World()
  private static let installed = World(path: "\(libraryFolder ?? "/usr/local/lib")/lv2")
}
