import Control
import Graph
import PluginHost
import Sessions

/// The addresses of the plugins of a command: controls, parameters, presets and bypass, and the edits of their order.
/// Main thread.
final class ChainControls {
  private let chain: PluginChain
  private let world: World
  private let sampleRate: Double
  /// A plugin of the chain: its id, the preset that was loaded last, and the parameters that were set.
  private struct Plugin {
    let id: String
    var preset: String?
    var given: [String: Float] = [:]
  }
  private var plugins: [Plugin] = []
  /// A number that changes with the addresses.
  private(set) var layout = 0

  init(_ chain: PluginChain, _ chosen: ChosenPlugins, sampleRate: Double) {
    self.chain = chain
    self.sampleRate = sampleRate
    world = chosen.world
    for choice in chosen.choices { plugins.append(plugin(choice)) }
  }

  private func plugin(_ choice: PluginChoice) -> Plugin {
    let start = choice.uri.lastIndex { "/#:".contains($0) }.map { choice.uri.index(after: $0) }
    let name = String(choice.uri[(start ?? choice.uri.startIndex)...])
    let taken = Set(plugins.map(\.id))
    let id =
      taken.contains(name)
      ? (2...).lazy.map { "\(name)-\($0)" }.first { !taken.contains($0) } ?? name : name
    return Plugin(
      id: id, preset: choice.preset.map { self.name(ofPreset: $0, choice.uri) },
      given: choice.parameters)
  }

  /// All addresses of the chain.
  ///
  /// - Parameter marking: Marks a plugin that is added as isolated if it is to be; nil if plugins cannot be added,
  ///   removed and moved.
  func all(marking: ((PluginOption) -> PluginOption)? = nil) -> [CommandControl] {
    let (chain, rate) = (chain, sampleRate)
    var controls: [CommandControl] = [
      .flag(
        "bypass", "whether all plugins are bypassed", { chain.isBypassed },
        { try chain.setBypassed($0) }),
      .parameter(
        "delay", range: SessionShape.delays, unit: "ms", "the delay of the output",
        { .float(Float(Double(chain.delayFrames) / rate * 1000)) },
        { try chain.setDelay(frames: Int(($0.decimal / 1000 * rate).rounded())) }),
    ]
    if let marking {
      controls.append(
        .action("add", types: "s", "add a plugin at the end, given as for --plugin") {
          try self.add($0[0].text ?? "", marking)
        })
    }
    return controls
      + plugins.indices.flatMap { ofPlugin($0) + (marking == nil ? [] : edits(ofPlugin: $0)) }
  }

  private func ofPlugin(_ index: Int) -> [CommandControl] {
    let (chain, number, id) = (chain, index + 1, plugins[index].id)
    guard let plugin = chain.stages[index].first else { return [] }
    var controls: [CommandControl] = [
      .state("id/\(number)", types: "s", "the id of plugin \(number)") { .string(id) },
      .flag(
        "bypass/\(number)", "whether \(plugin.description.name) is bypassed",
        { chain.isBypassed(plugin: index) }, { try chain.setBypassed($0, plugin: index) }),
    ]
    if !plugin.description.presets.isEmpty {
      controls.append(
        .parameter(
          "preset/\(number)", types: "s", "the preset of \(plugin.description.name)",
          { .string(self.plugins[index].preset ?? "") },
          { try self.load($0.text ?? "", ofPlugin: index) }))
    }
    return controls
      + PluginValue.all(of: plugin, under: "plugins/\(number)", sampleRate: sampleRate).map {
        value in
        CommandControl(
          node: value.node,
          read: {
            let given = self.plugins[index].given[value.name].map { Double($0) }
            return value.present(in: chain.stages[index].first, given: given).map {
              .values([.float($0)])
            }
          },
          act: {
            let number = Float($0[0].number ?? 0)
            for plugin in chain.stages[index] { try value.set(number, in: plugin) }
            self.plugins[index].given[value.name] = number
          })
      }
  }

  private func edits(ofPlugin index: Int) -> [CommandControl] {
    let (number, count) = (index + 1, plugins.count)
    return [
      .action("remove/\(number)", "remove plugin \(number)") { _ in
        guard count > 1 else { throw Refusal("it is the only plugin: bypass it") }
        try self.telling { () throws(HostError) in try self.chain.remove(at: index) }
        self.plugins.remove(at: index)
        self.layout += 1
      },
      .parameter(
        "place/\(number)", types: "i", range: 1...Double(max(count, 1)),
        "the place of plugin \(number) in the chain",
        { .int(Int32(number)) },
        { place in
          let other = Int(place.number ?? 1) - 1
          try self.telling { () throws(HostError) in try self.chain.move(from: index, to: other) }
          self.plugins.insert(self.plugins.remove(at: index), at: other)
          self.layout += 1
        }),
    ]
  }

  private func add(_ text: String, _ marking: (PluginOption) -> PluginOption) throws {
    guard let option = PluginOption(argument: text).map(marking) else {
      throw Refusal("“\(text)” is no PLUGIN, PLUGIN#PRESET or PLUGIN:SYMBOL=VALUE")
    }
    try telling { () throws(HostError) in
      let choice = try option.choice(in: world)
      try chain.insert(choice, at: plugins.count)
      plugins.append(plugin(choice))
    }
    layout += 1
  }

  /// Loads a preset, which is named by its URI, by the part of that after a #, or by its label.
  private func load(_ name: String, ofPlugin index: Int) throws {
    let uri = chain.stages[index][0].description.uri
    try telling { () throws(HostError) in
      guard let preset = try PluginChoice("\(uri)#\(name)", values: [:], in: world).preset else {
        throw .unknownPreset(plugin: uri, preset: name)
      }
      try chain.load(preset: preset, ofPlugin: index)
      plugins[index].preset = self.name(ofPreset: preset, uri)
    }
    plugins[index].given = [:]
  }

  private func name(ofPreset uri: String, _ plugin: String) -> String {
    let presets = (try? world.description(of: plugin))?.presets ?? []
    return presets.first { $0.uri == uri }?.label ?? uri
  }

  /// Runs `body`, and puts its error into words with the names of plugins.
  private func telling(_ body: () throws(HostError) -> Void) throws {
    do throws(HostError) { try body() } catch { throw Refusal(world.words(for: error)) }
  }
}
