package import PluginHost
import Synchronization
import System

/// The components that there are. Any thread that is not real time.
///
/// LV2 plugins are looked for when a search can mean one, because reading their bundles takes longer than all else, and
/// again when bundles have come or gone since. A component keeps its number: one whose bundle has gone is found no more,
/// and makes instances while its files are there.
package final class ComponentList: Sendable {
  package static let shared = ComponentList { World() }

  private struct State {
    var components: [UnitComponent]
    /// Numbers of plugins whose bundles have gone.
    var gone: Set<Int> = []
    /// The latest search: what was installed, and the bundles. Nil before the first.
    var search: (world: World, bundles: [String])?

    func found(_ wanted: ComponentDescription) -> some Sequence<UnitComponent> {
      components.lazy.filter {
        wanted.matches($0.description) && !gone.contains($0.number)
      }
    }

    /// Takes over what a search has found.
    mutating func take(_ plugins: [PluginDescription], of world: World) {
      var numbers: [String: Int] = [:]
      var taken: Set<ComponentDescription> = []
      for component in components {
        guard let plugin = component.plugin else { continue }
        numbers[plugin.uri] = component.number
        taken.insert(component.description)
      }
      gone = Set(numbers.values)
      for plugin in plugins {
        if let number = numbers[plugin.uri] {
          gone.remove(number)
          components[number] = UnitComponent(
            plugin, in: world, components[number].description, number: number)
          continue
        }
        var attempt = 0
        var identity: ComponentDescription
        repeat {
          identity = PluginIdentity.description(of: plugin, attempt: attempt)
          attempt += 1
        } while !taken.insert(identity).inserted
        components.append(UnitComponent(plugin, in: world, identity, number: components.count))
      }
    }
  }
  private let state: Mutex<State>
  /// Held while bundles are read. Lock it before `state`.
  private let search = Mutex<Void>(())
  private let makeWorld: @Sendable () -> World
  private let observer = Hook<@Sendable () -> Void>()

  /// - Parameter makeWorld: Returns the plugins that are installed.
  package init(_ makeWorld: @escaping @Sendable () -> World) {
    self.makeWorld = makeWorld
    let own = UnitKind.allCases.enumerated().map { UnitComponent($1, number: $0) }
    state = Mutex(State(components: own))
  }

  /// Sets the function that is told when plugins have come or gone since the first search.
  package func whenChanged(_ body: @escaping @Sendable () -> Void) { observer.set(body) }

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
    return state.withLock { Array($0.found(wanted)) }
  }

  /// Returns the first component after a number that a description means; nil if there are no more.
  package func next(after number: Int?, matching wanted: ComponentDescription) -> UnitComponent? {
    func find() -> UnitComponent? {
      state.withLock { state in state.found(wanted).first { $0.number > number ?? -1 } }
    }
    // A plugin that was found earlier may have gone.
    if let found = find(), number != nil || found.plugin == nil { return found }
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

  /// Brings the plugins of the list up to date with the bundles that are installed.
  package func findPlugins() {
    let hasChanged = search.withLock { _ in
      let before = state.withLock { $0.search }
      if let before, before.bundles == BundleFolders(before.world.path).bundles { return false }
      let world = makeWorld()
      let bundles = BundleFolders(world.path).bundles
      let plugins = world.uris.compactMap { uri -> PluginDescription? in
        guard let plugin = try? world.description(of: uri), plugin.problems.isEmpty else {
          return nil
        }
        return plugin
      }
      state.withLock { state in
        state.take(plugins, of: world)
        state.search = (world, bundles)
      }
      return before != nil
    }
    if hasChanged { observer.function?() }
  }
}
