package import Hardware
import PluginHost

/// A component: a kind of audio unit, of the library or an LV2 plugin, that makes instances.
package struct UnitComponent: Sendable {
  /// Index in the list of components, which it keeps while the process runs.
  package let number: Int
  package let description: ComponentDescription
  /// The manufacturer and the name.
  package let name: String
  package let version: UInt32
  /// The unit of the library that it is; nil for a plugin.
  package let kind: UnitKind?
  /// The plugin that it is, with the bundles that it is from.
  let plugin: PluginDescription?
  private let world: World?
  /// The app's component that it is.
  private let foreign: ForeignComponent?

  init(_ kind: UnitKind, number: Int) {
    self.number = number
    self.kind = kind
    description = kind.description
    name = "Apple: \(kind.name)"
    version = 0x0001_0000
    plugin = nil
    world = nil
    foreign = nil
  }

  init(
    _ foreign: ForeignComponent, _ description: ComponentDescription, name: String, version: UInt32,
    number: Int
  ) {
    self.number = number
    self.description = description
    self.name = name
    self.version = version
    self.foreign = foreign
    kind = nil
    plugin = nil
    world = nil
  }

  init(
    _ plugin: PluginDescription, in world: World, _ description: ComponentDescription, number: Int
  ) {
    self.number = number
    self.description = description
    name = "\(plugin.author ?? "LV2"): \(plugin.name)"
    version = 0x0001_0000
    kind = nil
    foreign = nil
    self.plugin = plugin
    self.world = world
  }

  /// The manufacturer, and the name without it.
  package var names: (manufacturer: String, name: String) {
    guard let colon = name.firstIndex(of: ":") else { return ("", name) }
    return (String(name[..<colon]), String(name[colon...].drop { $0 == ":" || $0 == " " }))
  }

  /// True for a plugin that hears MIDI, and for the types that do: instruments, effects and processors of MIDI.
  package var hasMIDIInput: Bool {
    plugin.map { Self.hasMIDI($0.events(.input)) }
      ?? ["aumu", "aumf", "aumi"].map(ComponentDescription.code).contains(description.type)
  }

  /// True for a plugin that writes MIDI.
  package var hasMIDIOutput: Bool { plugin.map { Self.hasMIDI($0.events(.output)) } ?? false }

  static func hasMIDI(_ ports: [PluginPort]) -> Bool {
    ports.contains { port in port.eventTypes.contains { $0.hasSuffix("#MidiEvent") } }
  }

  /// True for the unit of a graph that asks all others for sound.
  package var drivesGraphs: Bool {
    kind?.drivesGraphs ?? (description.type == ComponentDescription.code("auou"))
  }

  /// Makes an audio unit.
  ///
  /// - Parameter device: Returns the default device, for output units.
  package func make(on device: () -> HardwareDevice) throws(UnitError) -> Unit {
    if let kind { return try kind.make(on: device) }
    if let foreign { return try ForeignUnit(name, description, foreign) }
    guard let plugin, let world else { preconditionFailure("a component is nothing") }
    return try LV2Unit(plugin, in: world)
  }
}
