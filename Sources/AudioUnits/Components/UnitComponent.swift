package import Hardware
package import PluginHost
import Synchronization

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
  private let plugin: PluginDescription?
  private let world: World?
  /// The app's component that it is.
  private let foreign: ForeignComponent?

  fileprivate init(_ kind: UnitKind, number: Int) {
    self.number = number
    self.kind = kind
    description = kind.description
    name = "Apple: \(kind.name)"
    version = 0x0001_0000
    plugin = nil
    world = nil
    foreign = nil
  }

  fileprivate init(
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

  fileprivate init(
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

  /// True for an instrument, and a plugin that hears MIDI.
  package var hasMIDIInput: Bool {
    plugin.map { Self.hasMIDI($0.events(.input)) }
      ?? (description.type == ComponentDescription.code("aumu"))
  }

  /// True for a plugin that writes MIDI.
  package var hasMIDIOutput: Bool { plugin.map { Self.hasMIDI($0.events(.output)) } ?? false }

  private static func hasMIDI(_ ports: [PluginPort]) -> Bool {
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

/// The components that there are. Any thread that is not real time.
///
/// LV2 plugins are looked for when a search can mean one for the first time: reading their bundles takes
/// longer than all else.
package final class ComponentList: Sendable {
  package static let shared = ComponentList { World() }

  private struct State {
    var components: [UnitComponent]
    var hasPlugins = false
  }
  private let state: Mutex<State>
  private let makeWorld: @Sendable () -> World

  /// - Parameter makeWorld: Returns the plugins that are installed.
  package init(_ makeWorld: @escaping @Sendable () -> World) {
    self.makeWorld = makeWorld
    let own = UnitKind.allCases.enumerated().map { UnitComponent($1, number: $0) }
    state = Mutex(State(components: own))
  }

  /// Adds a component of the app.
  package func register(
    _ foreign: ForeignComponent, _ description: ComponentDescription, name: String, version: UInt32
  ) -> UnitComponent {
    state.withLock { state in
      let component = UnitComponent(
        foreign, description, name: name, version: version, number: state.components.count)
      state.components.append(component)
      return component
    }
  }

  /// Returns the component with a number; nil if there is none.
  package func component(_ number: Int) -> UnitComponent? {
    state.withLock { $0.components.indices.contains(number) ? $0.components[number] : nil }
  }

  /// Returns all components that a description means, in order.
  package func all(matching wanted: ComponentDescription) -> [UnitComponent] {
    if Self.canBePlugin(wanted) { findPlugins() }
    return state.withLock { $0.components.filter { wanted.matches($0.description) } }
  }

  /// Returns the first component after a number that a description means; nil if there are no more.
  package func next(after number: Int?, matching wanted: ComponentDescription) -> UnitComponent? {
    func find() -> UnitComponent? {
      state.withLock { state in
        state.components.first { $0.number > number ?? -1 && wanted.matches($0.description) }
      }
    }
    if let found = find() { return found }
    guard Self.canBePlugin(wanted) else { return nil }
    findPlugins()
    return find()
  }

  private static func canBePlugin(_ wanted: ComponentDescription) -> Bool {
    PluginIdentity.types.contains {
      wanted.matches(
        ComponentDescription(
          type: $0, subtype: wanted.subtype, manufacturer: PluginIdentity.manufacturer))
    }
  }

  /// Adds the installed plugins to the list, once.
  private func findPlugins() {
    if state.withLock({ $0.hasPlugins }) { return }
    let world = makeWorld()
    var taken: Set<ComponentDescription> = []
    let found = world.uris.compactMap { uri -> (ComponentDescription, PluginDescription)? in
      guard let plugin = try? world.description(of: uri), plugin.problems.isEmpty else {
        return nil
      }
      var attempt = 0
      while true {
        let identity = PluginIdentity.description(of: plugin, attempt: attempt)
        if taken.insert(identity).inserted { return (identity, plugin) }
        attempt += 1
      }
    }
    state.withLock { state in
      // Another thread may have added them meanwhile.
      if state.hasPlugins { return }
      state.hasPlugins = true
      for (identity, plugin) in found {
        state.components.append(
          UnitComponent(plugin, in: world, identity, number: state.components.count))
      }
    }
  }
}
